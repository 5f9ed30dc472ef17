"""Parse one file in a child process that can harm nothing: the worker's end of the sandbox.

One warm helper serves all threads; it is started again when it dies. What the helper and its
children say is data, bounded and never trusted further than a verdict on their own file.
"""

from __future__ import annotations

import json
import math
import os
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import structlog

from jobs.worker import child as child_module
from jobs.worker.errors import Interrupted, SandboxLost
from jobs.worker.verdicts import Ending, ParseFailure, judge
from jobs.worker.walls import Limits
from jobs.worker.warm import WarmHelper

_START_SECONDS = 60
_POLL_SECONDS = 0.2
_KILL_SECONDS = 5
_DATAGRAM_BYTES = 64 * 1024
_COMPLAINT_BYTES = 4000
#: A trace may quote the file; what is logged stays short.
_LOGGED_CHARACTERS = 500

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class ParseJob:
    """One file to parse; `directory` is private to the job and takes the output."""

    type: str
    source: Path
    directory: Path
    file_name: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SelfTest:
    """What the sandbox can do on this machine."""

    parser_version: str
    walls: tuple[str, ...]
    unreadable: tuple[str, ...]


class Sandbox:
    """Parse files for several threads. `parsers` names the module with parse() and preload()."""

    def __init__(
        self,
        types: Sequence[str],
        limits: Limits,
        *,
        wall_seconds: float,
        parsers: str = "jobs.parsing",
    ) -> None:
        self._command = [sys.executable, "-s", "-m", "jobs.worker.helper", parsers, *types]
        self._limits = limits
        self._wall_seconds = wall_seconds
        self._lock = threading.Lock()
        self._helper: WarmHelper | None = None
        self._closed = False
        self._walls: tuple[str, ...] = ()

    def self_test(self, secret: Path) -> SelfTest:
        """Start the helper and try its walls; `secret` is a file a parser must not open."""
        with _Child(self._live_helper(), self._limits) as child:
            readable = [child_module.__file__]
            request = {"self_test": str(secret), "readable": readable}
            child.start(request, secret.with_name("lines"))
            ending = child.wait(_START_SECONDS, lambda: False, lambda *_: None)
        tested = ending.verdict
        if tested is None:
            raise SandboxLost(f"the sandbox's self-test failed: {ending.complaint[-200:]!r}")
        self._walls = tuple(tested["walls"])
        hello = self._live_helper().hello
        outer = ("namespaces",) if hello["without_network"] else ()
        unreadable = tuple(tested["unreadable"])
        return SelfTest(hello["parser_version"], (*self._walls, *outer), unreadable)

    def parse(
        self,
        job: ParseJob,
        *,
        on_progress: Callable[[int, int | None], None],
        should_stop: Callable[[], bool],
    ) -> Path | ParseFailure:
        """Return the file of result lines, or why there is none.

        Kills the child and raises Interrupted when `should_stop` says so. Raises SandboxLost when
        the helper died, DiskTrouble when the machine could not write.
        """
        output = job.directory / "lines"
        output.unlink(missing_ok=True)
        request = {**self._request(job), "deed": "parse", "type": job.type}
        with _Child(self._live_helper(), self._limits) as child:
            child.start(request, output)
            ending = child.wait(self._wall_seconds, should_stop, on_progress)
        failure = judge(ending, self._limits)
        _log_ending("parser_ended", ending, failure)
        return failure or output

    def draw(
        self,
        job: ParseJob,
        *,
        first: int,
        seconds: float,
        on_progress: Callable[[int, int | None], None],
        should_stop: Callable[[], bool],
    ) -> tuple[Path, ParseFailure | None]:
        """Return the file of the pictures made of pages `first` and on, and why they ended early.

        What the file holds is good to its last whole record, however the child ended. Raises as
        `parse` does.
        """
        output = job.directory / "pictures"
        output.unlink(missing_ok=True)
        limits = replace(self._limits, cpu_seconds=math.ceil(seconds))
        request = {**self._request(job), "deed": "draw", "first": first}
        with _Child(self._live_helper(), limits) as child:
            child.start(request, output)
            ending = child.wait(seconds, should_stop, on_progress)
        failure = judge(ending, limits)
        _log_ending("drawing_ended", ending, failure)
        return output, failure

    def can_draw(self, detected_type: object) -> bool:
        """Whether pages of this type have pictures."""
        return detected_type in self._live_helper().hello["drawn"]

    def _request(self, job: ParseJob) -> dict[str, Any]:
        return {
            "path": str(job.source),
            "file_name": job.file_name,
            "options": dict(job.options),
            "readable": [str(job.source)],
            "walls": self._walls,
        }

    def close(self) -> None:
        """End the helper and with it every child. Repeatable."""
        with self._lock:
            self._closed = True
            if self._helper is not None:
                self._helper.end()

    def _live_helper(self) -> WarmHelper:
        with self._lock:
            if self._closed:
                raise Interrupted("the sandbox is closed")
            if self._helper is None or not self._helper.alive():
                if self._helper is not None:
                    log.warning("sandbox_helper_lost", exit=self._helper.process.poll())
                    self._helper.end()
                self._helper = WarmHelper(self._command)
            return self._helper


class _Child:
    """One child of the helper, from request to ending."""

    def __init__(self, helper: WarmHelper, limits: Limits) -> None:
        self._helper = helper
        self._limits = limits
        self._open = ExitStack()
        self._buffer = b""
        self.verdict: dict[str, Any] | None = None

    def __enter__(self) -> _Child:
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


def _log_ending(event: str, ending: Ending, failure: ParseFailure | None) -> None:
    log.info(
        event,
        exit=ending.exit,
        cpu_seconds=round(ending.cpu_seconds, 3),
        peak_bytes=ending.peak_bytes,
        complaint=ending.complaint[-_LOGGED_CHARACTERS:] or None,
        error_code=failure.code if failure else None,
    )


def _create(path: Path, stack: ExitStack) -> int:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    stack.callback(os.close, descriptor)
    return descriptor


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _COMPLAINT_BYTES, 0))
        return file.read(_COMPLAINT_BYTES).decode("utf-8", errors="replace")
