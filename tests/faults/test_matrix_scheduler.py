"""The rows of the fault matrix that hit the dispatch: real schedulers, real SQS answers, faults."""

import json
import signal
import threading

import pytest
from pydantic import SecretStr

from models import database as models_database
from models.errors import Contended
from models.settings import DatabaseSettings
from tests.builders import change, child, event_names, register, report, rows
from tests.faults.product import until

SEND = "^sqs SendMessageBatch"

#: A scheduler on a host whose clock is wrong: every clock Python offers is moved but the monotonic.
WRONG_CLOCK = """exec python -c '
import datetime, time, sys
shift = {shift}
honest = time.time
class Wrong(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(seconds=shift)
datetime.datetime = Wrong
time.time = lambda: honest() + shift
time.time_ns = lambda: int((honest() + shift) * 1e9)
from scheduler.__main__ import main
sys.exit(main())'"""

#: Raise an SQLSTATE in the first updates of a child; a sequence counts over rollbacks.
TROUBLE = """
CREATE SEQUENCE trouble;
CREATE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('trouble') <= {times} THEN
        RAISE EXCEPTION 'told to' USING ERRCODE = '{state}';
    END IF;
    RETURN NEW; END $$;
CREATE TRIGGER trouble BEFORE UPDATE ON page_import FOR EACH ROW EXECUTE FUNCTION trouble()"""


@pytest.fixture
def trouble(database):
    """Make the next updates of children fail with an SQLSTATE."""

    def make(state, times):
        change(TROUBLE.format(state=state, times=times))

    yield make
    change("DROP TRIGGER IF EXISTS trouble ON page_import")
    change("DROP FUNCTION IF EXISTS trouble")
    change("DROP SEQUENCE IF EXISTS trouble")


@pytest.mark.parametrize("state", ["40P01", "40001", "55P03"])
def test_f11_a_transaction_that_lost_a_lock_race_is_tried_again_without_double_effect(
    trouble, state
):
    _, (child_id,) = register()
    trouble(state, 2)
    assert report(child_id, "completed").applied
    assert event_names(child_id) == ["accepted", "completed"]
    assert len(rows("SELECT number FROM page")) == 2


def test_f11_after_three_lost_races_the_caller_is_told(trouble):
    _, (child_id,) = register()
    trouble("40P01", 3)
    with pytest.raises(Contended):
        report(child_id, "completed")
    assert child(child_id)["status"] == "queued"
    assert rows("SELECT number FROM page") == []


def test_f11_a_lock_that_is_held_for_too_long_is_waited_for_three_times(database):
    _, (child_id,) = register()
    settings = {"database_url": SecretStr(database), "database_lock_timeout_seconds": 1}
    models_database.configure(DatabaseSettings(**settings))
    try:
        with holding(child_id, seconds=1.5):
            assert report(child_id, "completed").applied
    finally:
        models_database.configure(DatabaseSettings(database_url=SecretStr(database)))
    assert event_names(child_id) == ["accepted", "completed"]


class holding:  # noqa: N801 - reads as the verb it is at the call
    """Lock an item from another thread for some seconds."""

    def __init__(self, child_id, *, seconds):
        self._held, self._end = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold, args=(child_id, seconds))

    def _hold(self, child_id, seconds):
        with models_database.transaction():
            models_database.fetch(
                "SELECT id FROM batch_item WHERE job_id = %s FOR UPDATE", (child_id,)
            )
            self._held.set()
            self._end.wait(seconds)

    def __enter__(self):
        self._thread.start()
        assert self._held.wait(5)

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()


def done(product, answer, *, run=1):
    """The upload completes in this run, and every invariant holds."""
    product.drain()
    ids = answer.json().get("items") or [answer.json()]
    accepted = [each["import_id"] for each in ids]
    assert product.violations(accepted=accepted, only_accepted=True) == []
    states = product.sql("SELECT status, run FROM page_import")
    assert {(row["status"], row["run"]) for row in states} == {("completed", run)}


@pytest.mark.parametrize("shift", [-600, 600])
def test_f20_a_scheduler_whose_host_clock_is_ten_minutes_off_dispatches_once(product, shift):
    product.kill("scheduler")
    product.start("scheduler", command=WRONG_CLOCK.format(shift=shift))
    held = product.aws["scheduler"].add(SEND, delay_seconds=0.5)
    answer = product.upload(b"x")
    assert held.hit.wait(20)
    (lease,) = product.sql(
        "SELECT extract(epoch FROM lease_until - clock_timestamp())::float AS left FROM batch_item"
    )
    assert 80 < lease["left"] <= 90
    done(product, answer)
    assert [len(bodies) for bodies in product.sent.values()] == [1]


def test_f21_a_scheduler_that_stood_still_sends_one_duplicate_and_cannot_mark(product):
    product.start("scheduler:2")
    product.signal("scheduler:2", signal.SIGSTOP)
    stale = product.aws["scheduler"].add(SEND, before=lambda e: release(product, e))
    answer = product.upload(b"x")
    assert stale.hit.wait(20)
    done(product, answer)
    (item,) = product.sql("SELECT dispatch_attempts FROM batch_item")
    assert item["dispatch_attempts"] == 2
    assert [len(bodies) for bodies in product.sent.values()] == [2]


def release(product, exchange):
    """The first scheduler stands still with its request on the way; the second takes over."""
    product.signal("scheduler", signal.SIGSTOP)
    product.sql("UPDATE batch_item SET lease_until = now() - interval '1 second'")
    product.signal("scheduler:2", signal.SIGCONT)
    marked = "SELECT 1 AS one FROM batch_item WHERE dispatched_at IS NOT NULL"
    until(lambda: product.sql(marked), 20, "the second scheduler marks")
    product.signal("scheduler", signal.SIGCONT)


def test_f22_entries_that_failed_or_are_missing_in_the_answer_are_sent_again(product):
    def spoil(reply):
        answer = json.loads(reply)
        first, _, *others = answer["Successful"]
        failed = {"Id": first["Id"], "Code": "InternalError", "SenderFault": False}
        return json.dumps({"Successful": others, "Failed": [failed]}).encode()

    spoiled = product.aws["scheduler"].add(
        SEND, when=lambda e: len(json.loads(e.body)["Entries"]) == 4, rewrite=spoil
    )
    files = [("files", (f"{n}.txt", b"x")) for n in range(4)]
    answer = product.api.post("/api/v1/batches", data={"type": "page_import"}, files=files)
    assert spoiled.hit.wait(20)
    unmarked = "SELECT id FROM batch_item WHERE dispatched_at IS NULL"
    until(lambda: len(product.sql(unmarked)) <= 2, 10, "two are marked")
    done(product, answer)
    sends = sorted(len(bodies) for bodies in product.sent.values())
    assert sends[:2] == [1, 1]
    assert sends[2:] <= [2, 2]


def test_f41_a_tick_that_hangs_ends_the_process_and_the_next_one_goes_on(product):
    product.kill("scheduler")
    product.start("scheduler", TICK_LIMIT_SECONDS="2")
    product.aws["scheduler"].add(SEND, delay_seconds=8)
    answer = product.upload(b"x")
    until(lambda: product.exit_code("scheduler") is not None, 20, "the watchdog ends it")
    assert product.exit_code("scheduler") == 70
    assert "scheduler_hung" in product.events("scheduler")
    product.start("scheduler")
    done(product, answer)
