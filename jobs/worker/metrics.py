"""What a worker counts besides its calls to S3; see jobs.metrics."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from jobs.metrics import IMPORT_SECONDS, TYPES, counter, gauge, histogram
from jobs.parsing.errors import CODES

#: Every class of failure; a parser that has gone over to its file could invent others.
CLASSES = CODES | {
    *("output_limit", "parse_crashed", "source_missing", "source_corrupt", "password_unreadable"),
    *("storage_unavailable", "disk_trouble", "sandbox_lost", "web_unavailable"),
    *("report_unauthorized", "report_refused", "import_unknown"),
    *("message_invalid", "message_undecodable", "unexpected"),
}

QUEUE_WAIT = histogram(
    "import_queue_wait_seconds",
    "From the send of a message to its first receive.",
    (0.05, 0.1, 0.25, 0.5, *IMPORT_SECONDS),
    "kind",
)
PROCESSING_SECONDS = histogram(
    "import_processing_seconds",
    "Time of one delivery, from the first report to the last.",
    (0.05, 0.1, 0.25, 0.5, *IMPORT_SECONDS),
    "kind",
)
DELIVERIES = counter(
    "import_worker_deliveries_total",
    "Deliveries worked on, by their end: done is acknowledged, left comes again.",
    {"kind": TYPES, "outcome": ("done", "left")},
)
FAILURES = counter(
    "import_worker_failures_total",
    "What went wrong: the code of a bad file, or the machinery in trouble.",
    {"class": ()},
)
KILLED = counter(
    "import_parser_killed_total",
    "Parsers that ended at a limit or crashed.",
    {"limit": ("time", "memory", "output", "crash")},
)
HELD = gauge("import_worker_held_messages", "Messages this worker holds.", "queue")
GATE_CLOSED = gauge(
    "import_worker_gate_closed", "1 while nothing is received because of this trouble.", "trouble"
)
TEMP_FREE = gauge("import_worker_temp_free_bytes", "Room left where files are parsed.")
TEMP_SIZE = gauge("import_worker_temp_size_bytes", "Size of the disk where files are parsed.")

_LIMITS = {
    "parse_timeout": "time",
    "parse_memory": "memory",
    "output_limit": "output",
    "parse_crashed": "crash",
}


def note_failure(code: str) -> None:
    """Count one failure by its class."""
    FAILURES.labels(code if code in CLASSES else "other").inc()
    if code in _LIMITS:
        KILLED.labels(_LIMITS[code]).inc()


def counted(work: Callable[[Mapping[str, Any], int], None], kind: str) -> Callable[..., None]:
    """Wrap the work of one queue: its time, and whether it was done or left."""

    def run(message: Mapping[str, Any], receive_count: int) -> None:
        began, outcome = time.monotonic(), "left"
        try:
            work(message, receive_count)
            outcome = "done"
        finally:
            DELIVERIES.labels(kind, outcome).inc()
            PROCESSING_SECONDS.labels(kind).observe(time.monotonic() - began)

    return run


def note_receive(kind: str, receive_count: int, sent_at: float | None) -> None:
    """Note how long a message waited, at its first receive; both clocks are real ones."""
    if receive_count == 1 and sent_at is not None:
        QUEUE_WAIT.labels(kind).observe(max(0.0, time.time() - sent_at))
