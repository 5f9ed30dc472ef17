"""A held message is extended until it ends, and not once more."""

import threading
import time

from jobs.errors import QueueUnavailable
from jobs.worker.gate import Gate
from jobs.worker.heartbeat import Heartbeat
from tests.jobs.conftest import eventually


def beating(extend, *, deadline_seconds: float = 60) -> Heartbeat:
    heartbeat = Heartbeat(
        extend, period_seconds=0.02, deadline_seconds=deadline_seconds, import_id="i"
    )
    heartbeat.start()
    return heartbeat


def test_it_goes_on_when_a_call_fails():
    calls: list[float] = []

    def extend() -> None:
        calls.append(time.monotonic())
        raise QueueUnavailable("ThrottlingException")

    heartbeat = beating(extend)

    eventually(lambda: len(calls) >= 3)
    heartbeat.stop()


def test_stopping_waits_for_the_call_under_way_and_none_follows():
    entered, leave = threading.Event(), threading.Event()
    ended: list[bool] = []

    def extend() -> None:
        entered.set()
        leave.wait(5)
        ended.append(True)

    heartbeat = beating(extend)
    assert entered.wait(5)
    threading.Timer(0.1, leave.set).start()

    heartbeat.stop()

    assert ended == [True]
    time.sleep(0.1)
    assert ended == [True]
    heartbeat.stop()


def test_it_ends_at_the_deadline_of_the_job():
    calls: list[bool] = []
    heartbeat = beating(lambda: calls.append(True), deadline_seconds=0.1)

    eventually(lambda: not heartbeat._thread.is_alive())

    assert calls


def test_a_gate_opens_by_a_success_or_by_itself():
    gate = Gate()
    assert gate.is_open()

    gate.close("web", 60)
    gate.close("storage", 0.1)
    assert not gate.is_open()
    gate.open("web")

    eventually(gate.is_open)
