"""What must hold whatever comes late: reports and sweeps against imports that have ended."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta

import psycopg2
import pytest
from pydantic import SecretStr

from jobs.messages import JobMessage, encode_message
from models import cancellations, outbox, transitions, verdicts
from models.database import connection, execute, fetch, transaction
from models.locks import lock
from models.states import ChildStatus, ImportType
from scheduler.deadletters import DeadLetters
from scheduler.janitor import Janitor
from scheduler.settings import SchedulerSettings
from scheduler.sweeper import Sweeper
from tests.builders import (
    ALICE,
    change,
    child,
    event_names,
    item_of,
    register,
    report,
    result,
    rows,
    start_new_run,
)
from tests.faults.fakes import FakeQueue, FakeStorage, Message
from tests.faults.product import until

PAGE = ImportType.PAGE_IMPORT
DIGEST = "d" * 64


def dispatch(child_id):
    (claim,) = outbox.claim(10)
    outbox.mark_dispatched([claim.fence])


def exhaust(child_id):
    change("UPDATE batch_item SET dispatch_attempts = 3, lease_until = now() - interval '1 s'")
    verdicts.exhaust(outbox.exhausted_ids(1)[0])


#: How an import ends, each in its second run, so that there is an old one.
ENDS = {
    "completed": lambda id_: report(id_, "completed", run=2, result=result(DIGEST)),
    "failed": lambda id_: report(id_, "failed", run=2),
    "exhausted": exhaust,
    "cancelled": lambda id_: cancellations.cancel_import(ALICE, PAGE, id_),
    "cancelled at work": lambda id_: (
        report(id_, "processing", run=None),
        cancellations.cancel_import(ALICE, PAGE, id_),
    ),
    "deleted": lambda id_: cancellations.delete_batch(ALICE, item_of(id_)["batch_id"]),
}
#: What a worker may still say: again, late, out of order, from its old run, of an older version.
REPORTS = {
    "start again": {"event": "processing", "run": None},
    "progress": {"event": "progress", "run": 2, "done": 1, "total": 2},
    "progress of the old run": {"event": "progress", "run": 1, "done": 1, "total": 2},
    "failure": {"event": "failed", "run": 2},
    "failure of the old run": {"event": "failed", "run": 1},
    "another result": {"event": "completed", "run": 2, "result": "e" * 64},
    "another version's result of the old run": {"event": "completed", "run": 1, "result": "0" * 64},
    "the same result": {"event": "completed", "run": 2, "result": DIGEST},
}


def ended(how):
    """An import in its second run that has ended."""
    _, (child_id,) = register()
    dispatch(child_id)
    report(child_id, "processing", run=None)
    assert start_new_run(child_id) == "new_run"
    ENDS[how](child_id)
    return child_id


def everything(child_id):
    """All that the tables hold of it."""
    selects = (
        "SELECT * FROM batch_item WHERE job_id = %s",
        "SELECT * FROM page_import WHERE id = %s",
        "SELECT * FROM page WHERE page_import_id = %s ORDER BY number",
        "SELECT * FROM job_event WHERE child_id = %s ORDER BY id",
    )
    with connection():
        return [fetch(select, (child_id,)) for select in selects]


@pytest.mark.parametrize("late", REPORTS)
@pytest.mark.parametrize("how", ENDS)
def test_a_report_about_an_ended_import_changes_nothing(database, how, late):
    child_id = ended(how)
    before = everything(child_id)
    said = dict(REPORTS[late])
    digest = said.pop("result", None)
    more = {"result": result(digest)} if digest else {}
    answers = [report(child_id, **said, **more) for _ in range(2)]
    again = (how, late) == ("completed", "the same result")
    assert [(each.applied, each.conflict) for each in answers] == [(False, not again)] * 2
    assert everything(child_id) == before


def test_reports_in_the_wrong_order_end_as_the_right_order_does(database):
    _, (child_id,) = register()
    report(child_id, "completed")
    for event, more in (("progress", {"done": 1, "total": 2}), ("processing", {"run": None})):
        assert report(child_id, event, **more).conflict
    assert child(child_id)["status"] == "completed"
    assert event_names(child_id) == ["accepted", "completed"]


#: All that could make a sweep suspicious: days of silence, a lease that ran out, no mark.
LONG_AGO = (
    """UPDATE page_import SET last_report_at = last_report_at - interval '3 days',
           started_at = started_at - interval '3 days', updated_at = now() - interval '3 days'""",
    """UPDATE batch_item SET dispatched_at = dispatched_at - interval '3 days',
           lease_until = now() - interval '3 days', updated_at = now() - interval '3 days'""",
)


@pytest.mark.parametrize("how", ENDS)
def test_no_sweep_changes_an_ended_import(database, how):
    child_id = ended(how)
    for statement in LONG_AGO:
        change(statement)
    queue, settings = FakeQueue(), SchedulerSettings(database_url=SecretStr(database))
    dead = DeadLetters(queue, FakeStorage())
    before = everything(child_id)
    for _ in range(3):
        queue.dead.append(Message("page_import", body_of(child_id)))
        Sweeper(queue, settings).sweep()
        dead.drain()
        assert queue.dead == []
    assert outbox.exhausted_ids(10) == []
    assert verdicts.in_flight_children(PAGE) == []
    assert outbox.claim(10) == []
    assert everything(child_id) == before


def body_of(child_id):
    return encode_message(JobMessage.from_json(item_of(child_id)["message"]))


def three_at_once(act):
    """Let three do it at the same moment."""
    ready = threading.Barrier(3)

    def one(number):
        ready.wait(10)
        return act(number)

    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(one, range(3)))


def test_three_schedulers_drain_one_dead_letter_into_one_new_run(database):
    _, (child_id,) = register()
    dispatch(child_id)
    report(child_id, "processing", run=None)
    queues = [FakeQueue() for _ in range(3)]
    for queue in queues:
        queue.dead.append(Message("page_import", body_of(child_id)))
    three_at_once(lambda number: DeadLetters(queues[number], FakeStorage()).drain())
    assert (child(child_id)["status"], child(child_id)["run"]) == ("queued", 2)
    assert event_names(child_id) == ["accepted", "started", "new_run"]


def test_three_schedulers_give_one_verdict_on_what_is_too_old(database):
    _, (child_id,) = register()
    change("UPDATE page_import SET updated_at = now() - interval '30 hours'")
    (suspect,) = verdicts.aged_children(PAGE, hours=24, limit=9)
    assert sorted(three_at_once(lambda _: verdicts.expire(suspect))) == [False, False, True]
    assert event_names(child_id) == ["accepted", "failed"]


def test_three_janitors_retire_each_import_once_and_collect_no_wanted_object(database, monkeypatch):
    monkeypatch.setattr("scheduler.janitor.ORPHAN_AGE", timedelta(seconds=-5))
    _, (old, live) = register(2)
    report(old, "completed")
    storage = FakeStorage(keys={f"imports/{id_}/source" for id_ in (old, live)})
    storage.store_result_as(old, DIGEST)
    storage.arrive("not-ours", b"")
    settings = SchedulerSettings(database_url=SecretStr(database), keep_source_days=1e-9)

    def clean(_):
        janitor = Janitor(storage, settings)
        return janitor.retire(), janitor.collect_orphans()

    retired = three_at_once(clean)
    assert sum(count for count, _ in retired) == 1
    assert storage.keys == {
        f"imports/{live}/source",
        f"imports/{old}/results/1-{DIGEST}",
        "imports/not-ours/source",
    }
    assert rows("SELECT id FROM page_import WHERE source_expired_at IS NOT NULL") == [{"id": old}]


@pytest.mark.parametrize("act", [cancellations.cancel_batch, cancellations.delete_batch])
def test_a_report_and_a_batch_that_is_cancelled_meanwhile_never_wait_for_each_other(database, act):
    # Given a report that has locked its item, and a cancel that has locked the batch
    batch_id, (child_id,) = register()
    with ThreadPoolExecutor(1) as pool:
        with transaction():
            row = lock(PAGE, child_id)
            cancelling = pool.submit(act, ALICE, batch_id)
            until(lambda: waits_for_a_lock(database), 10, "the cancel waits for the item")
            # When the report writes its event, which belongs to the batch
            execute("SET LOCAL lock_timeout = '500ms'")
            transitions.move(row, ChildStatus.PROCESSING, "started", component="worker")
        cancelling.result(10)
    # Then nobody had to give up
    told = event_names(child_id)
    assert told[:3] == ["accepted", "started", "cancelled"]


def waits_for_a_lock(url):
    """Ask in a session of its own: a transaction sees one state of the others."""
    with closing(psycopg2.connect(url)) as other, other.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        return cursor.fetchone()


@pytest.mark.parametrize(
    ("setting", "least"),
    [
        ("statement_timeout", 1),
        ("lock_timeout", 1),
        ("idle_in_transaction_session_timeout", 1),
    ],
)
def test_no_statement_lock_or_idle_transaction_lasts_for_ever(database, setting, least):
    with connection():
        (row,) = fetch(
            f"SELECT setting::int AS milliseconds FROM pg_settings WHERE name = '{setting}'"
        )
    assert least <= row["milliseconds"] <= 60_000


def test_a_transition_and_its_event_are_one_transaction(database):
    _, (child_id,) = register()
    with pytest.raises(RuntimeError), transaction():
        transitions.apply_report(type=PAGE, child_id=child_id, event="processing", run=None)
        raise RuntimeError("the process dies here")
    assert child(child_id)["status"] == "queued"
    assert event_names(child_id) == ["accepted"]
