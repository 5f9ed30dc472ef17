"""Dispatch: claim → SendMessageBatch → mark, against the raw ceiling and per-item actor.send.

`python -m benchmarks.dispatch [--items 10000] [--latency 15] [--rounds 3]` prints one table; all
three senders use the same stand-in for SQS with the same latency, alternating in one run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import dramatiq
from dramatiq_sqs import SQSBroker
from pydantic import SecretStr

from jobs import logs
from jobs.queue import OutgoingMessage, QueueClient
from jobs.settings import LogSettings, QueueSettings
from local.postgres import PostgresServer
from local.processes import free_port
from models import database
from models.settings import DatabaseSettings
from scheduler.breaker import Breaker
from scheduler.dispatcher import Dispatcher
from scheduler.settings import SchedulerSettings
from tests.builders import new_import, register

#: Per-item sends are slow: a tenth of the items tells their rate.
PER_ITEM_SHARE = 10


def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--latency", type=float, default=15.0, help="milliseconds per request")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    logs.configure("scheduler", LogSettings())
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o711)
        server = PostgresServer(Path(directory) / "pg")
        port = free_port()
        stand_in = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.sqs_stand_in", str(port), str(options.latency)]
        )
        try:
            server.start()
            _run(options, server, f"http://127.0.0.1:{port}")
        finally:
            stand_in.kill()
            server.destroy()


def _run(options: argparse.Namespace, server: PostgresServer, endpoint: str) -> None:
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "benchmark",
        "AWS_SECRET_ACCESS_KEY": "benchmark",
        "AWS_DEFAULT_REGION": "ap-northeast-1",
    }
    server.create_database("benchmark")
    url = SecretStr(server.url("benchmark"))
    database.configure(DatabaseSettings(database_url=url))
    database.migrate()
    queue = QueueClient(QueueSettings(aws_endpoint_url=endpoint, aws_region="ap-northeast-1"))
    settings = SchedulerSettings(database_url=url)
    dispatcher = Dispatcher(queue, Breaker(), settings, Event())
    contenders: dict[str, Callable[[], float]] = {
        "ours: claim, send, mark": lambda: _ours(dispatcher, options.items),
        "limit: raw SendMessageBatch": lambda: _raw(queue, options.items, settings.send_threads),
        "peer: actor.send, one by one": lambda: _peer(endpoint, options.items // PER_ITEM_SHARE),
    }
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(options.rounds):
        for name, run in contenders.items():
            rates[name].append(run())
    ours = statistics.median(rates["ours: claim, send, mark"])
    print(f"{options.items} items, {options.latency:g} ms a request, {options.rounds} rounds")
    for name, found in rates.items():
        median = statistics.median(found)
        spread = f"{min(found):,.0f}-{max(found):,.0f}"
        print(f"{name:32} {median:>9,.0f} items/s  ({spread})  ours is {ours / median:.2f} x")


def _ours(dispatcher: Dispatcher, items: int) -> float:
    register(items)
    begun = time.perf_counter()
    sent = dispatcher.dispatch_due()
    took = time.perf_counter() - begun
    if sent != items:
        raise SystemExit(f"only {sent} of {items} items were sent")
    return items / took


def _raw(queue: QueueClient, items: int, threads: int) -> float:
    body = "x" * 600
    entries = [OutgoingMessage(str(number), body, "subject") for number in range(items)]
    batches = [entries[start : start + 10] for start in range(0, items, 10)]
    begun = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        for outcome in pool.map(lambda batch: queue.send_batch("page_import", batch), batches):
            if len(outcome.sent) != 10:
                raise SystemExit("the stand-in lost an entry")
    return items / (time.perf_counter() - begun)


def _peer(endpoint: str, items: int) -> float:
    broker = SQSBroker(namespace="torikomi", endpoint_url=endpoint)

    @dramatiq.actor(broker=broker, queue_name="page_import")
    def import_page(message: dict[str, object]) -> None:
        """Never runs here."""

    message = dict(new_import().message)
    begun = time.perf_counter()
    for _ in range(items):
        import_page.send(message)
    return items / (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
