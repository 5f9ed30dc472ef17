"""The benchmarks by name, in the order of `all`."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks import dispatch
from benchmarks.measure import Options, Row

BENCHMARKS: dict[str, Callable[[Options], list[Row]]] = {
    "dispatch": dispatch.run,
    "dispatch-large": dispatch.run_large,
}

#: What `all --quick` runs.
QUICK = ["dispatch"]
