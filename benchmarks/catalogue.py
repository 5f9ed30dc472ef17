"""The benchmarks by name, in the order of `all`."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks import (
    batches,
    database,
    dispatch,
    fairness,
    ingest,
    latency,
    scores,
    soak,
    upload,
    worker,
)
from benchmarks.measure import Options, Row

BENCHMARKS: dict[str, Callable[[Options], list[Row]]] = {
    "upload": upload.run,
    "dispatch": dispatch.run,
    "dispatch-large": dispatch.run_large,
    "latency": latency.run,
    "fairness": fairness.run,
    "worker": worker.run,
    "database": database.run,
    "batches": batches.run,
    "ingest": ingest.run,
    "page_import": scores.page_import,
    "code2des": scores.code2des,
    "soak": soak.run,
}

#: What `all --quick` leaves out; what it runs is made smaller where its own file says so.
SLOW = ("dispatch-large", "batches", "soak")
