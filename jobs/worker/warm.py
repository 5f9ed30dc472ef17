"""The worker's end of the warm helper: the process and the socket to it."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import structlog

from jobs.worker.errors import SandboxLost

ROOT = Path(__file__).resolve().parents[2]

#: The helper's whole environment: hash seeds must not make results differ.
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
_START_SECONDS = 60
_KILL_SECONDS = 5
_DATAGRAM_BYTES = 64 * 1024

log = structlog.get_logger(__name__)


class WarmHelper:
    """One helper process. Starting it waits until its parsers are loaded. Raises SandboxLost."""

    def __init__(self, command: list[str]) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                command,
                stdin=theirs.fileno(),
                env=_ENVIRONMENT,
                cwd=ROOT,
                start_new_session=True,
            )
        self._control.settimeout(_START_SECONDS)
        try:
            hello = self._control.recv(_DATAGRAM_BYTES)
        except OSError as error:
            self.end()
            raise SandboxLost("the parsing helper did not start in time") from error
        if not hello:
            self.end()
            raise SandboxLost("the parsing helper ended while starting")
        self.hello: dict[str, Any] = json.loads(hello)
        log.info("helper_started", helper_pid=self.process.pid)

    def alive(self) -> bool:
        """Whether the process runs."""
        return self.process.poll() is None

    def request(self, value: Mapping[str, Any], descriptors: list[int]) -> None:
        """Send one request. Raises SandboxLost."""
        try:
            socket.send_fds(self._control, [json.dumps(value).encode()], descriptors)
        except OSError as error:
            raise SandboxLost("the parsing helper does not listen") from error

    def end(self) -> None:
        """Close the socket, which ends the helper and its children; kill it if it hangs."""
        self._control.close()
        try:
            self.process.wait(_KILL_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
