"""Dispatch: claim → SendMessageBatch → mark, against the raw ceiling, actor.send and pgqueuer.

All senders use the same stand-in for SQS with the same latency and take turns. pgqueuer has no
broker: there an item is fetched and finished straight from PostgreSQL, in rounds as large as ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import dramatiq
from dramatiq_sqs import SQSBroker
from pydantic import SecretStr

from benchmarks import pgqueuer_peer
from benchmarks.installation import logging_to_nowhere, migrated, postgres, stand_in
from benchmarks.measure import Bar, Options, Row, alternate
from jobs.queue import OutgoingMessage, QueueClient
from jobs.settings import QueueSettings
from local.postgres import PostgresServer
from models import database
from scheduler.breaker import Breaker
from scheduler.dispatcher import Dispatcher
from scheduler.settings import SchedulerSettings
from tests.builders import new_import, register

LATENCIES_MILLISECONDS = (15.0, 0.0, 50.0)
#: Sends one by one are slow: this many tell their rate.
ONE_BY_ONE = 100
_REGION = "ap-northeast-1"


def run(options: Options) -> list[Row]:
    """Measure 10,000 items at each latency."""
    with postgres() as server:
        migrated(server, "benchmark")
        rows = []
        for latency in LATENCIES_MILLISECONDS:
            rounds = options.rounds if latency == 15 else min(3, options.rounds)
            rows += compare(server, latency, items=10_000, rounds=rounds)
        return [*rows, *_against_pgqueuer(server, 10_000, options.rounds)]


def run_large(options: Options) -> list[Row]:
    """Measure 100,000 items at 15 ms; two runs, since each takes a minute."""
    with postgres() as server:
        migrated(server, "benchmark")
        return compare(server, 15.0, items=100_000, rounds=min(2, options.rounds))


def compare(server: PostgresServer, latency: float, *, items: int, rounds: int) -> list[Row]:
    """Send the same number of items in three ways at one latency."""
    with stand_in(latency) as endpoint:
        queue = QueueClient(QueueSettings(aws_endpoint_url=endpoint, aws_region=_REGION))
        settings = SchedulerSettings(database_url=SecretStr(server.url("benchmark")))
        dispatcher = Dispatcher(queue, Breaker(), settings, Event())
        contenders: dict[str, Callable[[], float]] = {
            "ours": lambda: ours(dispatcher, items),
            "limit": lambda: raw(queue, items, settings.send_threads),
            "peer": lambda: one_by_one(endpoint, ONE_BY_ONE),
        }
        ours(dispatcher, 500)  # connections, statements and statistics are there from now on
        found = alternate(contenders, rounds)
        dispatcher.close()
    bars = [Bar(of="limit", at_least=0.5), Bar(of="peer", at_least=10)]
    if latency == 15 and items == 10_000:
        bars.insert(0, Bar(of="value", at_least=3000))
    return [
        Row(
            what=f"{items:,} items, {latency:g} ms a request",
            unit="items/s",
            ours=found["ours"],
            peer=found["peer"],
            peer_name="actor.send",
            limit=found["limit"],
            limit_name="raw SendMessageBatch",
            bars=bars if latency else (),
        )
    ]


def ours(dispatcher: Dispatcher, items: int) -> float:
    """Return the items a second of one dispatch of everything due, logged as in production."""
    register(items)
    with logging_to_nowhere():
        begun = time.perf_counter()
        sent = dispatcher.dispatch_due()
        took = time.perf_counter() - begun
    if sent != items:
        raise SystemExit(f"only {sent} of {items} items were sent")
    return items / took


def raw(queue: QueueClient, items: int, threads: int) -> float:
    """Return the items a second of the same client without a database."""
    body = "x" * 600
    entries = [OutgoingMessage(str(number), body, "subject") for number in range(items)]
    batches = [entries[start : start + 10] for start in range(0, items, 10)]
    begun = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        for outcome in pool.map(lambda batch: queue.send_batch("page_import", batch), batches):
            if len(outcome.sent) != 10:
                raise SystemExit("the stand-in lost an entry")
    return items / (time.perf_counter() - begun)


def one_by_one(endpoint: str, items: int) -> float:
    """Return the items a second of Dramatiq's own way."""
    broker = SQSBroker(namespace="torikomi", endpoint_url=endpoint)

    @dramatiq.actor(broker=broker, queue_name="page_import")
    def import_page(message: dict[str, object]) -> None:
        """Never runs here."""

    message = dict(new_import().message)
    import_page.send(message)
    begun = time.perf_counter()
    for _ in range(items):
        import_page.send(message)
    return items / (time.perf_counter() - begun)


def _against_pgqueuer(server: PostgresServer, items: int, rounds: int) -> list[Row]:
    """Compare both halves with a queue in PostgreSQL: making items, and handing them over."""
    peer = pgqueuer_peer.connect(server)
    with stand_in(0.0) as endpoint:
        queue = QueueClient(QueueSettings(aws_endpoint_url=endpoint, aws_region=_REGION))
        settings = SchedulerSettings(database_url=SecretStr(server.url("benchmark")))
        dispatcher = Dispatcher(queue, Breaker(), settings, Event())
        contenders = {"make": lambda: _made(items), "send": lambda: _sent(dispatcher, items)}
        if peer is not None:
            contenders |= {
                "peer makes": lambda: items / peer.defer(items),
                "peer fetches": lambda: items / peer.fetch(items),
            }
        found: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(rounds):
            for name, contender in contenders.items():
                found[name].append(contender())
        dispatcher.close()
    if peer is not None:
        peer.close()
    note = "" if peer is not None else "pgqueuer is not installed: see benchmarks/README.md"
    name = "pgqueuer, asyncpg"
    return [
        Row(
            what=f"register {items:,} items (one transaction: batch, items, children, events)",
            unit="items/s",
            ours=found["make"],
            peer=found.get("peer makes", ()),
            peer_name=f"{name}: enqueue of one row each",
            note=note,
        ),
        Row(
            what=f"hand over {items:,} items, no latency",
            unit="items/s",
            ours=found["send"],
            peer=found.get("peer fetches", ()),
            peer_name=f"{name}: dequeue and log by 1,000",
            note=note,
        ),
    ]


def _made(items: int) -> float:
    begun = time.perf_counter()
    register(items)
    return items / (time.perf_counter() - begun)


def _sent(dispatcher: Dispatcher, items: int) -> float:
    with logging_to_nowhere():
        begun = time.perf_counter()
        sent = dispatcher.dispatch_due()
        took = time.perf_counter() - begun
    if sent != items:
        raise SystemExit(f"only {sent} of {items} items were sent")
    with database.connection():
        database.execute("DELETE FROM batch")
    return items / took
