"""Fairness: one subject's 100,000 items are being sent when another's single file comes.

Measured is the time from the other's commit to its message being marked as sent, against the same
with an empty outbox (the limit), and against what first come, first served would have cost: the
time until all that was registered before is sent.
"""

from __future__ import annotations

import threading
import time
from threading import Event

from pydantic import SecretStr

from benchmarks.installation import migrated, postgres, stand_in
from benchmarks.measure import Options, Row
from jobs.queue import QueueClient
from jobs.settings import QueueSettings
from models import database
from scheduler.breaker import Breaker
from scheduler.dispatcher import Dispatcher
from scheduler.settings import SchedulerSettings
from tests.builders import ALICE, BOB, register

_LATENCY_MILLISECONDS = 15.0
_PAUSE_SECONDS = 0.5
_LONGEST_SECONDS = 120.0


def run(options: Options) -> list[Row]:
    """Measure with 100,000 items of one subject (20,000 when quick)."""
    items = 20_000 if options.quick else 100_000
    with postgres() as server, stand_in(_LATENCY_MILLISECONDS) as endpoint:
        settings = migrated(server, "benchmark")
        queue = QueueClient(QueueSettings(aws_endpoint_url=endpoint, aws_region="ap-northeast-1"))
        dispatcher = Dispatcher(
            queue,
            Breaker(),
            SchedulerSettings(database_url=SecretStr(settings.database_url.get_secret_value())),
            Event(),
        )
        alone = [_alone(dispatcher) for _ in range(options.rounds)]
        for _ in range(items // 10_000):
            register(10_000, subject=ALICE)
        crowd = _Crowd(dispatcher)
        crowd.start()
        crowded = []
        while len(crowded) < options.rounds and not crowd.took:
            crowded.append(_crowded())
        whole = crowd.end()
        dispatcher.close()
    return [
        Row(
            what=f"a single file while another subject's {items:,} are being sent",
            unit="s",
            ours=crowded,
            peer=[whole],
            peer_name="first come, first served",
            limit=alone,
            limit_name="an empty outbox",
        )
    ]


class _Crowd(threading.Thread):
    """Sends all that waits, and whatever still comes, until it is told to end."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        super().__init__()
        self._dispatcher = dispatcher
        self._over = Event()
        #: seconds until all that was there at the start had been sent
        self.took = 0.0

    def run(self) -> None:
        begun = time.perf_counter()
        while not self._over.is_set():
            self._dispatcher.dispatch_due()
            self.took = self.took or time.perf_counter() - begun
            self._over.wait(0.05)

    def end(self) -> float:
        """Let everything be sent; return `took`."""
        self._over.set()
        self.join()
        return self.took


def _alone(dispatcher: Dispatcher) -> float:
    register(1, subject=BOB)
    begun = time.perf_counter()
    dispatcher.dispatch_due()
    return time.perf_counter() - begun


def _crowded() -> float:
    """Register one file and return the seconds until it is marked."""
    time.sleep(_PAUSE_SECONDS)
    _, (child,) = register(1, subject=BOB)
    begun = time.perf_counter()
    sql = "SELECT 1 AS sent FROM batch_item WHERE job_id = %s AND dispatched_at IS NOT NULL"
    while time.perf_counter() < begun + _LONGEST_SECONDS:
        with database.connection():
            if database.fetch(sql, (child,)):
                return time.perf_counter() - begun
        time.sleep(0.005)
    raise SystemExit("the other subject's file was never sent")
