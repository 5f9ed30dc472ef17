"""Wait for broken infrastructure instead of failing files: the one retry loop of the worker.

A job at hand keeps its message under its heartbeat and tries again; meanwhile the gate is closed
and nothing new is received, so no message burns a receive.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

import structlog

from jobs.errors import StorageUnavailable, WebUnavailable
from jobs.worker.errors import (
    DiskTrouble,
    ImportUnknown,
    Interrupted,
    LeaveMessage,
    ReportRefused,
    ReportUnauthorized,
)
from jobs.worker.gate import Gate
from jobs.worker.metrics import note_failure

#: The gate stays closed for this many probe periods after the last failed try.
_CLOSED_PERIODS = 3

T = TypeVar("T")

log = structlog.get_logger(__name__)


class Patience:
    """Retry calls to S3, the web and the disk until they work, the process stops or time is up."""

    def __init__(
        self,
        gate: Gate,
        stop: threading.Event,
        *,
        probe_seconds: float,
        deadline_seconds: float,
        unknown_import_seconds: float,
        touch: Callable[[], None],
    ) -> None:
        self._gate = gate
        self._stop = stop
        self._probe_seconds = probe_seconds
        self._deadline_seconds = deadline_seconds
        self._unknown_import_seconds = unknown_import_seconds
        self._touch = touch

    def storage(self, call: Callable[[], T]) -> T:
        """Make a call to S3 that may wait for S3 or the disk."""
        return self._until_it_works("storage", (StorageUnavailable, DiskTrouble), call)

    def web(self, call: Callable[[], T]) -> T:
        """Send a report; waits for the web, and a little for an import it does not know yet.

        Raises LeaveMessage when it stays unknown or the report is refused.
        """
        deadline = time.monotonic() + self._unknown_import_seconds
        while True:
            try:
                return self._until_it_works("web", (WebUnavailable,), call)
            except ImportUnknown as error:
                if time.monotonic() >= deadline:
                    note_failure("import_unknown")
                    log.error("import_unknown")
                    raise LeaveMessage("the web does not know the import") from error
                self._wait(min(1.0, self._probe_seconds))
            except ReportRefused as error:
                note_failure("report_refused")
                log.critical("report_refused", reason=str(error))
                self._gate.close("report", self._probe_seconds * _CLOSED_PERIODS)
                raise LeaveMessage("the web refused the report") from error

    def _until_it_works(
        self, trouble: str, errors: tuple[type[Exception], ...], call: Callable[[], T]
    ) -> T:
        deadline = time.monotonic() + self._deadline_seconds
        attempt = 0
        while True:
            try:
                result = call()
            except errors as error:
                attempt += 1
                self._note(trouble, attempt, error)
                if time.monotonic() >= deadline:
                    raise LeaveMessage(f"{trouble} stayed unavailable") from error
                self._wait(self._probe_seconds)
            else:
                self._gate.open(trouble)
                return result

    def _note(self, trouble: str, attempt: int, error: Exception) -> None:
        self._gate.close(trouble, self._probe_seconds * _CLOSED_PERIODS)
        if attempt == 1:
            note_failure(str(getattr(error, "code", trouble)))
        write = log.critical if isinstance(error, ReportUnauthorized) else log.warning
        write(
            f"{trouble}_unavailable",
            attempt=attempt,
            error_code=getattr(error, "code", None),
            reason=str(error),
        )

    def _wait(self, seconds: float) -> None:
        self._touch()
        if self._stop.wait(seconds):
            raise Interrupted("the worker stops")
