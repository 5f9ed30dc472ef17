"""Soak: the whole product at 70 % of its capacity for half an hour; does anything grow?

Watched are the resident memory of every process and the connections of PostgreSQL, ten times a
minute. Flat means: the median of the last fifth is near that of the second fifth.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psycopg2

from benchmarks.installation import children_of, client, memory_bytes, stack
from benchmarks.latency import burst, send, wait_for
from benchmarks.measure import Bar, Options, Row
from local.stack import Stack

LOAD_SHARE = 0.7
_SAMPLE_SECONDS = 6.0
_MIB = 1 << 20
_WATCHED = ("web", "scheduler", "worker")


def run(options: Options) -> list[Row]:
    """Soak for `options.seconds`."""
    with stack() as product, client(product) as web:
        burst(product, web, 50)
        rate = burst(product, web, 150) * LOAD_SHARE
        samples: list[dict[str, float]] = []
        over = threading.Event()
        ids: list[str] = []
        with ThreadPoolExecutor(1) as aside:
            watching = aside.submit(_watch, product, samples, over)
            try:
                _load(web, rate, options.seconds, ids)
                wait_for(product, ids)
            finally:
                over.set()
            watching.result()
    _keep(options.out / "soak-samples.json", samples)
    return _rows(samples, len(ids), options.seconds, rate)


def _load(web: httpx.Client, rate: float, seconds: float, ids: list[str]) -> None:
    """Send `rate` files a second; `ids` takes those of their imports."""
    start = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        for number in range(int(rate * seconds)):
            time.sleep(max(0.0, start + number / rate - time.monotonic()))
            if time.monotonic() > start + seconds:
                break
            pool.submit(lambda: ids.append(send(web)))


def _rows(samples: list[dict[str, float]], files: int, seconds: float, rate: float) -> list[Row]:
    fifth = max(1, len(samples) // 5)
    rows = []
    for name in samples[0]:
        early = [sample[name] for sample in samples[fifth : 2 * fifth]]
        late = [sample[name] for sample in samples[-fifth:]]
        rows.append(
            Row(
                what=f"{name}, last fifth of {seconds / 60:.0f} minutes",
                unit="" if name == "connections" else "MiB",
                ours=[statistics.median(late)],
                limit=[statistics.median(early)],
                limit_name="second fifth",
                bars=[Bar(of="limit", at_most=1.1)],
                note=f"{files:,} files at {rate:.1f} a second" if not rows else "",
            )
        )
    return rows


def _watch(product: Stack, samples: list[dict[str, float]], over: threading.Event) -> None:
    with psycopg2.connect(product.database_url) as connection, connection.cursor() as cursor:
        connection.autocommit = True
        while not over.wait(_SAMPLE_SECONDS):
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE backend_type = %s", _CLIENT)
            (connections,) = cursor.fetchone() or (0,)
            samples.append(
                {f"{name}, resident memory": _family(product.pid(name)) for name in _WATCHED}
                | {"connections": float(connections)}
            )


_CLIENT = ("client backend",)


def _family(pid: int | None) -> float:
    """Return the MiB of a process and its long-lived children."""
    if pid is None:
        return 0.0
    total = memory_bytes(pid)
    for child in children_of(pid):
        try:
            total += memory_bytes(child)
        except (OSError, LookupError):  # a parser that has ended meanwhile
            continue
    return total / _MIB


def _keep(path: Path, samples: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps(samples, indent=0) + "\n", encoding="utf-8")
