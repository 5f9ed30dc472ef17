"""What every process counts, and how each room declares its own: one prefix, base units.

A label's values are a short closed list: never an import, a subject, a file name. Declaring a
metric opens nothing. Where PROMETHEUS_MULTIPROC_DIR is set (several web processes on one machine)
the library keeps the values in files there, and any one process can tell the sum of all.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

REGISTRY = CollectorRegistry()

#: Seconds of a call to S3 or of one HTTP request.
CALL_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
#: Seconds that a person waits for an import.
IMPORT_SECONDS = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14400)

TYPES = ("page_import", "code2des")
#: Errors that are answers of S3 and no trouble, by their code.
_STORAGE_ANSWERS = {"source_missing": "missing", "already_stored": "exists"}

_REASON = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,47}")


def counter(name: str, text: str, labels: Mapping[str, Sequence[str]] | None = None) -> Counter:
    """Declare a counter; with all label values named, each series starts at 0 at once."""
    names = dict(labels or {})
    made = Counter(name, text, tuple(names), registry=REGISTRY)
    if names and all(names.values()):
        for values in product(*names.values()):
            made.labels(*values)
    return made


def gauge(name: str, text: str, *labels: str) -> Gauge:
    """Declare a gauge: scheduler and worker only, which are one process each."""
    return Gauge(name, text, labels, registry=REGISTRY)


def histogram(name: str, text: str, buckets: Sequence[float], *labels: str) -> Histogram:
    """Declare a histogram."""
    return Histogram(name, text, labels, buckets=buckets, registry=REGISTRY)


STORAGE_OPERATIONS = counter(
    "import_storage_operations_total",
    "Calls to S3 by their end.",
    {"op": (), "outcome": ()},
)
STORAGE_FAILURES = counter(
    "import_storage_failures_total",
    "Calls to S3 that failed, by S3's or the client's own word.",
    {"op": (), "reason": ()},
)
STORAGE_SECONDS = histogram(
    "import_storage_duration_seconds", "Time of one call to S3.", CALL_SECONDS, "op"
)
TERMINAL = counter(
    "import_terminal_total",
    "Imports that ended, by state and, of failures, the code.",
    {"state": (), "reason": ()},
)
COMPLETION_SECONDS = histogram(
    "import_completion_seconds",
    "Time from acceptance to the end of an import.",
    IMPORT_SECONDS,
    "kind",
    "outcome",
)


def reason(text: str) -> str:
    """Return the leading word of an error text, or `other`: a label must not grow without end."""
    found = _REASON.match(text)
    return found.group().rstrip(".") if found else "other"


@contextmanager
def storage_call(operation: str) -> Iterator[None]:
    """Count and time the call to S3 in the block, by the code of the error that it raises."""
    outcome = "ok"
    began = time.perf_counter()
    try:
        yield
    except Exception as error:
        outcome = _STORAGE_ANSWERS.get(str(getattr(error, "code", "")), "failed")
        raise
    finally:
        STORAGE_SECONDS.labels(operation).observe(time.perf_counter() - began)
        STORAGE_OPERATIONS.labels(operation, outcome).inc()


def secure_room(directory: Path) -> None:
    """Give this process's files there their room on the disk now; a full one later is no matter.

    Writing to a mapped file for which the disk has no room would end the process.
    """
    for path in directory.glob(f"*_{os.getpid()}.db"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


def shared_registry(directory: Path) -> CollectorRegistry:
    """Return a registry that tells the sums of all processes that keep their values there."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(directory))  # type: ignore[no-untyped-call]  # theirs
    return registry
