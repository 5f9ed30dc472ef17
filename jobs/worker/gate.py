"""The gate: while S3 or the web is in trouble, the worker receives nothing new.

The jobs at hand wait and try again under their heartbeat; each try keeps the gate closed a little
longer, the first success opens it. A gate that nobody closes again opens by itself, so a job that
ended otherwise cannot leave the worker shut.
"""

from __future__ import annotations

import threading
import time

import structlog

from jobs.worker.metrics import GATE_CLOSED

log = structlog.get_logger(__name__)


class Gate:
    """Closed for some seconds per kind of trouble; shared by all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed_until: dict[str, float] = {}

    def close(self, trouble: str, seconds: float) -> None:
        """Receive nothing for `seconds` because of `trouble`."""
        with self._lock:
            fresh = trouble not in self._closed_until
            self._closed_until[trouble] = time.monotonic() + seconds
        GATE_CLOSED.labels(trouble).set(1)
        if fresh:
            log.warning("gate_closed", trouble=trouble)

    def open(self, trouble: str) -> None:
        """Say that what was in `trouble` works."""
        with self._lock:
            was_closed = self._closed_until.pop(trouble, None) is not None
        GATE_CLOSED.labels(trouble).set(0)
        if was_closed:
            log.info("gate_opened", trouble=trouble)

    def is_open(self) -> bool:
        """Whether messages may be received."""
        now = time.monotonic()
        with self._lock:
            return all(until <= now for until in self._closed_until.values())
