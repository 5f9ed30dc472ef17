"""Claim, status, items page and sweep on a small, a large and a very large database.

Every figure is taken on an empty database and on the filled one in turns, on the same server.
Then the same with a snapshot held open, which no vacuum may clean behind, while rows come and go.
The plans of every statement are kept as text.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg2

from benchmarks.installation import migrated, point_at, postgres
from benchmarks.measure import Bar, Options, Row
from benchmarks.rows import BIG_BATCH, BIG_SUBJECT, add_big_batch, fill
from local.postgres import PostgresServer
from models import batches, database, outbox, verdicts
from models.cursors import encode_cursor
from models.states import ImportType
from tests.builders import register

SIZES = (10_000, 1_000_000, 10_000_000)
BIG_ITEMS = 100_000
CLAIM = 1000
#: Rows that come and go while the snapshot is held.
CHURN = 30_000
_CALLS = 11
_MILLISECONDS = 1000.0
#: Ratios are of interest, and what PostgreSQL does, not what the disk does at each commit.
_SERVER = {
    "fsync": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "4GB",
    "shared_buffers": "512MB",
    "jit": "off",
}


def run(options: Options) -> list[Row]:
    """Measure each size: ten million rows are left out when quick."""
    sizes = [options.rows] if options.rows else SIZES[: 2 if options.quick else 3]
    rows = []
    with postgres(_SERVER) as server:
        migrated(server, "empty")
        for size in sizes:
            rows += _at(server, size, options)
            server.drop_database(f"rows_{size}")
    return rows


def _at(server: PostgresServer, size: int, options: Options) -> list[Row]:
    name = f"rows_{size}"
    migrated(server, name)
    seconds = fill(server.url(name), size)
    add_big_batch(server.url(name), BIG_ITEMS)
    print(f"{size:,} rows made in {seconds:.0f} s", flush=True)
    found: dict[str, dict[str, list[float]]] = {"empty": {}, name: {}}
    for number in range(min(3, options.rounds) if options.quick else options.rounds):
        for each in sorted(found, reverse=bool(number % 2)):
            point_at(server, each)
            for what, value in _measured(filled=each == name).items():
                found[each].setdefault(what, []).append(value)
    plans(options.out / f"explain-{size}.txt", size)
    rows = [_row(what, size, found[name][what], found["empty"].get(what)) for what in found[name]]
    return [*rows, *_behind_a_snapshot(server.url(name), size, options.rounds)]


def _row(what: str, size: int, ours: list[float], empty: list[float] | None) -> Row:
    bars = []
    if size == SIZES[-1]:
        bars = [Bar(of="limit", at_most=1.5)] if what == f"claim of {CLAIM:,}" else []
        bars += [Bar(of="value", at_most=20)] if what.startswith("items page") else []
    if what.startswith("status of 100,000"):
        bars = [Bar(of="value", at_most=50)]
    return Row(
        what=f"{size:,} rows: {what}",
        unit="ms",
        ours=ours,
        limit=empty or (),
        limit_name="empty database" if empty else "",
        bars=bars,
    )


def _measured(*, filled: bool) -> dict[str, float]:
    """Return the milliseconds of each operation on the database that `models` points at."""
    outbox.has_pending()  # connect
    found = {f"claim of {CLAIM:,}": 0.0, "claim of one": 0.0}
    found |= dict(zip(found, claims(), strict=True))
    found["claim of nothing"] = median_ms(lambda: outbox.claim(CLAIM))
    found["sweep"] = median_ms(sweep)
    if filled:
        found["status of 100,000 items"] = median_ms(
            lambda: batches.get_batch(BIG_SUBJECT, BIG_BATCH)
        )
        middle = encode_cursor(BIG_ITEMS // 2)
        found["items page of 100, first"] = median_ms(
            lambda: batches.list_items(BIG_SUBJECT, BIG_BATCH, limit=100)
        )
        found["items page of 100, in the middle"] = median_ms(
            lambda: batches.list_items(BIG_SUBJECT, BIG_BATCH, cursor=middle, limit=100)
        )
    return found


def claims() -> tuple[float, float]:
    """Return the milliseconds to claim a thousand fresh items, and a single one."""
    times = []
    for count in (CLAIM, 1):
        spent = []
        for _ in range(3):
            register(count)
            begun = time.perf_counter()
            claimed = outbox.claim(CLAIM)
            spent.append((time.perf_counter() - begun) * _MILLISECONDS)
            if len(claimed) != count:
                raise SystemExit(f"{len(claimed)} of {count} items were claimed")
            outbox.mark_dispatched([claim.fence for claim in claimed])
        times.append(statistics.median(spent))
    return times[0], times[1]


def sweep() -> None:
    """Ask everything that one pass of the sweeper asks of the database."""
    outbox.exhausted_ids(500)
    for import_type in ImportType:
        verdicts.silent_children(import_type, stall_seconds=3600, limit=500)
        verdicts.observed_wait(import_type)
        verdicts.unstarted_children(import_type, waited_seconds=10**9, limit=500)
        verdicts.last_movement(import_type)
        verdicts.aged_children(import_type, hours=10**6, limit=500)


def median_ms(work: Callable[[], object]) -> float:
    """Return the median milliseconds of several calls."""
    spent = []
    for _ in range(_CALLS):
        begun = time.perf_counter()
        work()
        spent.append((time.perf_counter() - begun) * _MILLISECONDS)
    return statistics.median(spent)


def _behind_a_snapshot(url: str, size: int, rounds: int) -> list[Row]:
    """Measure claims while a snapshot from before `CHURN` rows came and went is held."""
    whats = (f"claim of {CLAIM:,}", "claim of one", "claim of nothing")
    before = _claim_figures()
    found: dict[str, list[float]] = {what: [] for what in whats}
    with held_snapshot(url):
        for _ in range(CHURN // CLAIM):
            register(CLAIM)
            outbox.mark_dispatched([claim.fence for claim in outbox.claim(CLAIM)])
        for _ in range(rounds):
            for what, value in zip(whats, _claim_figures(), strict=True):
                found[what].append(value)
    return [
        Row(
            what=f"{size:,} rows, a snapshot held while {CHURN:,} rows came and went: {what}",
            unit="ms",
            ours=found[what],
            limit=[old],
            limit_name="before",
        )
        for what, old in zip(whats, before, strict=True)
    ]


def _claim_figures() -> tuple[float, float, float]:
    return (*claims(), median_ms(lambda: outbox.claim(CLAIM)))


@contextmanager
def held_snapshot(url: str) -> Iterator[None]:
    """Hold a snapshot open, as a forgotten export does."""
    connection = psycopg2.connect(url)
    try:
        connection.set_session(isolation_level="REPEATABLE READ")
        connection.cursor().execute("SELECT count(*) FROM batch_item WHERE dispatched_at IS NULL")
        yield
    finally:
        connection.close()


def plans(path: Path, size: int) -> None:
    """Keep the plan of every statement that the measured calls make."""
    register(CLAIM)
    middle = encode_cursor(BIG_ITEMS // 2)
    calls: dict[str, Callable[[], Any]] = {
        f"claim of {CLAIM:,}": lambda: outbox.claim(CLAIM),
        "status of 100,000 items": lambda: batches.get_batch(BIG_SUBJECT, BIG_BATCH),
        "items page": lambda: batches.list_items(BIG_SUBJECT, BIG_BATCH, cursor=middle, limit=100),
        "sweep": sweep,
    }
    texts = [f"EXPLAIN (ANALYZE, BUFFERS) with {size:,} dispatched rows\n"]
    for what, call in calls.items():
        seen = statements(call)
        if what.startswith("claim"):
            register(CLAIM)  # those there were are claimed by now
        for sql, params in seen:
            texts.append(f"\n== {what}\n{explained(sql, params)}\n")
    path.write_text("".join(texts), encoding="utf-8")
    outbox.mark_dispatched([claim.fence for claim in outbox.claim(CLAIM)])


def statements(call: Callable[[], Any]) -> list[tuple[str, Any]]:
    """Return the statements that a call makes, without their being lost to it."""
    seen: list[tuple[str, Any]] = []
    own = database.database.execute_sql

    def listen(sql: str, params: Any = None) -> Any:
        seen.append((sql, params))
        return own(sql, params)

    database.database.execute_sql = listen
    try:
        call()
    finally:
        del database.database.execute_sql
    return [pair for pair in seen if pair[0].lstrip().startswith(("SELECT", "WITH"))]


def buffers(call: Callable[[], Any], again: Callable[[], Any] = lambda: None) -> int:
    """Return how many buffers the statements of a call touch; `again` makes its rows anew."""
    seen = statements(call)
    again()
    plans = [explained(sql, params) for sql, params in seen]
    whole = [re.search(r"Buffers: shared((?: \w+=\d+)+)", plan) for plan in plans]
    counts = [re.findall(r"(?:hit|read)=(\d+)", found.group(1)) for found in whole if found]
    return sum(int(count) for each in counts for count in each)


def explained(sql: str, params: Any) -> str:
    """Run a statement under EXPLAIN ANALYZE and undo it; return the plan."""
    with database.connection():
        database.execute("BEGIN")
        database.execute(outbox.WALK_IN_ORDER if "UPDATE batch_item" in sql else "SELECT 1")
        rows = database.fetch(f"EXPLAIN (ANALYZE, BUFFERS) {sql}", params)
        database.execute("ROLLBACK")
    return "\n".join(str(row["QUERY PLAN"]) for row in rows)
