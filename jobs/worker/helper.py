"""The warm helper of a worker: holds the parsers in memory and forks one child per file.

Run as `python -m jobs.worker.helper PARSERS TYPE…` by the sandbox, with an empty environment and
the control socket as standard input. It is single-threaded, so that forking is safe, has no
network, no keys and no secrets, and ends with all its children when the worker's end closes.

A request is one datagram: JSON with three descriptors and the job's own socket. That socket gets
one answer, `{"exit": …}`; when its other end shuts down or closes, the child is killed.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import ModuleType

from jobs.worker import child, walls

MAX_REQUEST_BYTES = 256 * 1024
_DESCRIPTORS = 4


class Helper:
    """The loop: requests in, children out."""

    def __init__(self, control: socket.socket, parsers: ModuleType) -> None:
        self._control = control
        self._parsers = parsers
        self._children: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._woken, wake = socket.socketpair()
        self._woken.setblocking(False)
        wake.setblocking(False)
        self._wake = wake
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        self._selector.register(control, selectors.EVENT_READ, 0)
        self._selector.register(self._woken, selectors.EVENT_READ, 0)

    def serve(self) -> None:
        """Serve until the control socket closes; then kill every child."""
        running = True
        while running:
            for key, _ in self._selector.select():
                if key.fileobj is self._control:
                    running = self._take_request()
                elif key.fileobj is self._woken:
                    self._drain_wake()
                else:
                    self._kill(key.data)
            self._reap()
        for pid in self._children:
            self._kill(pid)

    def _take_request(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self._control, MAX_REQUEST_BYTES, _DESCRIPTORS)
        if not data:
            return False
        request = json.loads(data)
        job, *rest = descriptors
        pid = os.fork()
        if pid == 0:
            child.run(request, self._parsers, rest)
        for descriptor in rest:
            os.close(descriptor)
        self._children[pid] = socket.socket(fileno=job)
        self._selector.register(self._children[pid], selectors.EVENT_READ, pid)
        return True

    def _drain_wake(self) -> None:
        with suppress(BlockingIOError):
            while self._woken.recv(4096):
                pass

    def _kill(self, pid: int) -> None:
        """Kill a child and what it may have started; its number is ours until it is reaped."""
        with suppress(KeyError):
            self._selector.unregister(self._children[pid])
        for kill in (os.killpg, os.kill):
            with suppress(ProcessLookupError, PermissionError):
                kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        for pid in list(self._children):
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            if os.waitid(os.P_PID, pid, options) is None:
                continue
            self._kill(pid)
            _, status, usage = os.wait4(pid, 0)
            answer = {
                "exit": os.waitstatus_to_exitcode(status),
                "cpu_seconds": usage.ru_utime + usage.ru_stime,
                "peak_bytes": usage.ru_maxrss * 1024,
            }
            with self._children.pop(pid) as job, suppress(OSError):
                job.send(json.dumps(answer).encode())


def main(arguments: Sequence[str]) -> None:
    """Load the parsers, leave the network, say hello, serve."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # A platform that signals every process must not look like a crash of the parser.
        signal.signal(number, signal.SIG_IGN)
    without_network = walls.leave_network()
    control = socket.socket(fileno=0)
    name, *types = arguments
    parsers = importlib.import_module(name)
    for type_name in types:
        parsers.preload(type_name)
    walls.hide_from_children()
    gc.collect()
    gc.freeze()
    hello = {
        "parser_version": parsers.PARSER_VERSION,
        "drawn": sorted(parsers.DRAWN),
        "machine": parsers.machine() if "page_import" in types else {},
        "without_network": without_network,
    }
    control.send(json.dumps(hello).encode())
    Helper(control, parsers).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
