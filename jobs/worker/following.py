"""Follow one child of the warm helper from its request to its end.

What a child says is data: bounded, and never trusted further than a verdict on its own file.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jobs.worker.errors import Interrupted, SandboxLost
from jobs.worker.verdicts import Ending
from jobs.worker.walls import Limits
from jobs.worker.warm import WarmHelper

_POLL_SECONDS = 0.2
_KILL_SECONDS = 5
_DATAGRAM_BYTES = 64 * 1024
_COMPLAINT_BYTES = 4000


class Child:
    """One child of the helper, from request to ending."""

    def __init__(self, helper: WarmHelper, limits: Limits) -> None:
        self._helper = helper
        self._limits = limits
        self._open = ExitStack()
        self._buffer = b""
        self.verdict: dict[str, Any] | None = None

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def start(self, request: Mapping[str, Any], output: Path) -> None:
        """Hand the request, an output file and a pipe to the helper."""
        self._complaints = output.with_name("stderr")
        self._socket, job = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._open.enter_context(self._socket)
        self._pipe, pipe = os.pipe()
        self._open.callback(os.close, self._pipe)
        os.set_blocking(self._pipe, False)
        with ExitStack() as theirs:
            theirs.enter_context(job)
            theirs.callback(os.close, pipe)
            descriptors = [job.fileno(), _create(output, theirs), pipe]
            descriptors.append(_create(self._complaints, theirs))
            self._helper.request({**request, "limits": asdict(self._limits)}, descriptors)

    def wait(
        self,
        wall_seconds: float,
        should_stop: Callable[[], bool],
        on_progress: Callable[[int, int | None], None],
    ) -> Ending:
        """Follow the child to its end, which comes by itself, by the clock or by a stop."""
        deadline = time.monotonic() + wall_seconds
        killed_at: float | None = None
        stopped = False
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            selector.register(self._pipe, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select(_POLL_SECONDS)}
                if self._pipe in ready and not self._read_pipe(on_progress):
                    selector.unregister(self._pipe)
                if self._socket in ready:
                    while self._read_pipe(on_progress):
                        pass
                    break
                now = time.monotonic()
                stopped = stopped or should_stop()
                if killed_at is None and (stopped or now >= deadline):
                    killed_at = now
                    self._socket.shutdown(socket.SHUT_WR)
                elif killed_at is not None and now >= killed_at + _KILL_SECONDS:
                    self._helper.process.kill()
        if stopped:
            raise Interrupted("the parser was stopped")
        return self._ending(out_of_time=killed_at is not None)

    def _read_pipe(self, on_progress: Callable[[int, int | None], None]) -> bool:
        """Take what the pipe holds; False when it holds nothing now or is closed."""
        try:
            data = os.read(self._pipe, _DATAGRAM_BYTES)
        except BlockingIOError:
            return False
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        if len(self._buffer) > _DATAGRAM_BYTES:
            self._buffer = b""
        for line in lines:
            self._take(line, on_progress)
        return bool(data)

    def _take(self, line: bytes, on_progress: Callable[[int, int | None], None]) -> None:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(value, dict):
            return
        if "verdict" in value:
            self.verdict = value
        match value.get("progress"):
            case [int() as done, int() | None as total]:
                on_progress(done, total)

    def _ending(self, *, out_of_time: bool) -> Ending:
        try:
            answer = json.loads(self._socket.recv(_DATAGRAM_BYTES))
        except (OSError, ValueError) as error:
            raise SandboxLost("the parsing helper died with its child") from error
        complaint = _tail(self._complaints)
        return Ending(**answer, verdict=self.verdict, complaint=complaint, out_of_time=out_of_time)


def _create(path: Path, stack: ExitStack) -> int:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    stack.callback(os.close, descriptor)
    return descriptor


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _COMPLAINT_BYTES, 0))
        return file.read(_COMPLAINT_BYTES).decode("utf-8", errors="replace")
