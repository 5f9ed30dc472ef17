"""How a process without a public port tells that it lives: scheduler and worker.

By HTTP (jobs.listener), by a file that is touched every few seconds, and to systemd's watchdog.
All three fall silent when the process says that it does no work.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import structlog
from prometheus_client import ProcessCollector

from jobs.listener import Listener
from jobs.metrics import REGISTRY

BEAT_SECONDS = 5.0

log = structlog.get_logger(__name__)


class HowToTell(Protocol):
    """What `MetricsSettings` says; named here so that this file stands on no settings."""

    @property
    def metrics_host(self) -> str: ...

    @property
    def heartbeat_file(self) -> Path | None: ...

    @property
    def notify_socket(self) -> str: ...


class Health:
    """Tells from start() to stop(). `trouble` says why no work is done, or None."""

    def __init__(self, settings: HowToTell, port: int, trouble: Callable[[], str | None]) -> None:
        with suppress(ValueError):  # another one in this process has registered it
            ProcessCollector(registry=REGISTRY)
        self._listener = Listener(settings.metrics_host, port, REGISTRY, trouble)
        self._trouble = trouble
        self._file = settings.heartbeat_file
        self._notify = settings.notify_socket
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)

    def start(self) -> None:
        """Begin; the first beat is at once."""
        self._listener.start()
        self._thread.start()

    def stop(self) -> None:
        """End, started or not, and remove the file: who is gone is not alive."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
        self._listener.stop()
        if self._file is not None:
            with suppress(OSError):
                self._file.unlink(missing_ok=True)

    def _run(self) -> None:
        self._tell(b"READY=1")
        silent = False
        while True:
            trouble = self._trouble()
            if trouble is None:
                self._beat()
            elif not silent:
                log.error("heartbeat_withheld", reason=trouble)
            silent = trouble is not None
            if self._stopped.wait(BEAT_SECONDS):
                return

    def _beat(self) -> None:
        if self._file is not None:
            try:
                self._file.touch(mode=0o644)
            except OSError as error:
                log.warning("heartbeat_not_written", reason=error.strerror)
        self._tell(b"WATCHDOG=1")

    def _tell(self, state: bytes) -> None:
        """Send one state to systemd, where it is the parent: see sd_notify(3)."""
        if not self._notify:
            return
        address = self._notify.replace("@", "\0", 1) if self._notify[0] == "@" else self._notify
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.sendto(state, address)
