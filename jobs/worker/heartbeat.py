"""Keep a held message invisible to others: one thread per message, from receive to end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import structlog

from jobs.errors import QueueUnavailable

log = structlog.get_logger(__name__)


class Heartbeat:
    """Call `extend` every `period_seconds`, until stopped or `deadline_seconds` are over.

    After `stop()` returns no call is under way and none will follow.
    """

    def __init__(
        self,
        extend: Callable[[], None],
        *,
        period_seconds: float,
        deadline_seconds: float,
        import_id: str,
    ) -> None:
        self._extend = extend
        self._period_seconds = period_seconds
        self._deadline = time.monotonic() + deadline_seconds
        self._import_id = import_id
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Begin; the first call comes after one period."""
        self._thread.start()

    def stop(self) -> None:
        """End and wait for a call under way. Repeatable."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._period_seconds):
            if time.monotonic() >= self._deadline:
                log.error("job_deadline_passed", import_id=self._import_id)
                return
            try:
                self._extend()
            except QueueUnavailable as error:
                log.warning(
                    "visibility_not_extended", import_id=self._import_id, reason=error.reason
                )
