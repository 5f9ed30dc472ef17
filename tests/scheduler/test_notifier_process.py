"""The notifier within a real scheduler: hanging endpoints hold up neither dispatch nor a stop."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from models import delivery_log, endpoints
from models.endpoints import EventType
from tests.builders import ALICE, item_of, register, rows
from tests.scheduler.receivers import hold, raw_server

ROOT = Path(__file__).parents[2]


@pytest.fixture
def scheduler(database, queue):
    """A scheduler process whose deliveries may take half a minute."""
    env = {
        **os.environ,
        "DATABASE_URL": database,
        "ENDPOINT_ALLOW_LOCAL": "1",
        "DELIVERY_TIMEOUT_SECONDS": "30",
        "SCHEDULER_METRICS_PORT": "0",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "scheduler"], cwd=ROOT, env=env, stderr=subprocess.DEVNULL
    )
    yield process
    process.kill()
    process.wait()


def wait_for(what, seconds=60):
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_hanging_endpoint_holds_up_neither_dispatch_nor_a_stop(scheduler):
    with raw_server(hold) as url:
        view, _ = endpoints.create_endpoint(
            ALICE,
            url=url,
            event_types=list(EventType),
            description=None,
            language="en",
        )
        for _ in range(10):
            delivery_log.send_test(ALICE, view.id)
        leased = "SELECT event_id FROM delivery WHERE lease_until > now()"
        wait_for(lambda: len(rows(leased)) == 4)
        _, (child_id,) = register()
        wait_for(lambda: item_of(child_id)["dispatched_at"] is not None)
        assert len(rows(leased)) == 4, "they hang all the while"
        scheduler.send_signal(signal.SIGTERM)
        assert scheduler.wait(timeout=20) == 0
        # What was under way keeps its lease, and is sent again by the next scheduler.
        assert len(rows("SELECT event_id FROM delivery WHERE state = 'pending'")) == 10
