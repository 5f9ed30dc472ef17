"""What machines and operators decide, and how it races with reports and cancels."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg2
import pytest

from models import batches, cancellations, outbox, redrives, verdicts
from models.errors import Conflict, NotFound
from models.states import ImportType
from tests.builders import (
    ALICE,
    BOB,
    change,
    child,
    event_names,
    item_of,
    register,
    report,
    rows,
    start_new_run,
)

PAGE = ImportType.PAGE_IMPORT
SPENT = """UPDATE batch_item SET dispatch_attempts = 3,
           lease_until = clock_timestamp() - interval '1 second'"""


@contextmanager
def held_rows(url: str, child_id: str) -> Iterator[Callable[[], None]]:
    """Hold the item's row lock in another session until released."""
    holder = psycopg2.connect(url)
    try:
        with holder.cursor() as cursor:
            cursor.execute("SELECT 1 FROM batch_item WHERE job_id = %s FOR UPDATE", (child_id,))
        yield holder.commit
    finally:
        holder.close()


def wait_for_lock_waiters(count: int) -> None:
    """Wait until that many sessions stand in line for a lock."""
    deadline = time.monotonic() + 10
    waiting = "SELECT 1 AS one FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    while len(rows(waiting)) < count:
        assert time.monotonic() < deadline, "nobody waits for the lock"
        time.sleep(0.01)


def test_the_third_unconfirmed_claim_fails_item_and_child_in_one_step(database):
    batch_id, (child_id,) = register()
    change(SPENT)
    (item_id,) = outbox.exhausted_ids(10)
    assert verdicts.exhaust(item_id) == child_id
    assert item_of(child_id)["error_message"] == verdicts.EXHAUSTED_MESSAGE
    assert (child(child_id)["status"], child(child_id)["error_code"]) == ("failed", "exhausted")
    assert batches.get_batch(ALICE, batch_id).status == "2"
    assert outbox.exhausted_ids(10) == []


def test_an_item_on_its_last_live_lease_is_not_exhausted(database):
    register()
    change("""UPDATE batch_item SET dispatch_attempts = 3,
              lease_until = clock_timestamp() + interval '60 seconds'""")
    assert outbox.exhausted_ids(10) == []


def test_exhaustion_decided_before_a_completion_arrives_leaves_completed_alone(database):
    _, (child_id,) = register()
    change(SPENT)
    (item_id,) = outbox.exhausted_ids(10)
    report(child_id, "completed")
    assert verdicts.exhaust(item_id) is None
    assert child(child_id)["status"] == "completed"


@pytest.mark.parametrize("first", ["report", "exhaust", "cancel"])
def test_report_exhaustion_and_cancel_in_any_order_end_in_one_state(database, first):
    _, (child_id,) = register()
    change(SPENT)
    item_id = item_of(child_id)["id"]

    def cancel() -> bool:
        try:
            cancellations.cancel_import(ALICE, PAGE, child_id)
        except Conflict:
            return False
        return True

    verdict_of = {
        "report": lambda: report(child_id, "completed").applied,
        "exhaust": lambda: verdicts.exhaust(item_id) is not None,
        "cancel": cancel,
    }
    order = [first, *[name for name in verdict_of if name != first]]
    with held_rows(database, child_id) as release, ThreadPoolExecutor(3) as pool:
        futures = []
        for waiting, name in enumerate(order, start=1):  # queue up behind the lock in this order
            futures.append(pool.submit(verdict_of[name]))
            wait_for_lock_waiters(waiting)
        release()
        won = [future.result() for future in futures]
    assert sum(won) == 1
    ends = [e for e in event_names(child_id) if e in {"completed", "failed", "cancelled"}]
    assert len(ends) == 1


def test_lost_work_starts_a_new_run_with_the_same_message(database):
    _, (child_id,) = register()
    before = item_of(child_id)["message"]
    (claim,) = outbox.claim(10)
    outbox.mark_dispatched([claim.fence])
    report(child_id, "processing", run=None)
    assert start_new_run(child_id) == "new_run"
    row = child(child_id)
    assert (row["status"], row["run"], row["started_at"]) == ("queued", 2, None)
    (again,) = outbox.claim(10)
    assert again.child_id == child_id
    assert again.message == before
    assert again.fence.dispatch_attempts == 1


def test_machines_start_three_runs_and_then_call_it_failed(database):
    _, (child_id,) = register()
    verdict = [start_new_run(child_id) for _ in range(5)]
    assert verdict == ["new_run", "new_run", "new_run", "failed", None]
    assert child(child_id)["error_code"] == "stalled"


def test_a_report_between_suspicion_and_verdict_saves_the_run(database):
    _, (child_id,) = register()
    report(child_id, "processing", run=None)
    change("UPDATE page_import SET last_report_at = last_report_at - interval '2 hours'")
    (suspect,) = verdicts.silent_children(PAGE, stall_seconds=3600, limit=10)
    report(child_id, "progress", done=1, total=2)
    assert verdicts.start_new_run(suspect, reason="silent") is None
    assert child(child_id)["run"] == 1


def test_a_retry_gives_machines_their_three_runs_again(database):
    _, (child_id,) = register()
    while start_new_run(child_id) != "failed":
        pass
    redrives.retry_import(ALICE, PAGE, child_id)
    assert start_new_run(child_id) == "new_run"


def test_a_start_after_a_crash_resumes_work_however_often(database):
    _, (child_id,) = register()
    outbox.claim(10)
    for run in range(2, 8):
        (suspect,) = verdicts.in_flight_children(PAGE)
        assert verdicts.start_new_run(suspect, reason="crash", for_a_person=True) == "new_run"
        assert child(child_id)["run"] == run
        outbox.claim(10)
    assert start_new_run(child_id) == "new_run"


def test_settled_imports_get_no_new_run(database):
    _, (done, gone) = register(2)
    report(done, "completed")
    cancellations.cancel_import(ALICE, PAGE, gone)
    assert start_new_run(done) is None
    assert start_new_run(gone) is None


def test_a_person_redrives_only_what_failed(database):
    _, (bad, good) = register(2)
    report(bad, "failed")
    report(good, "completed")
    redrives.redrive(bad, actor=ALICE)
    row = child(bad)
    assert (row["status"], row["run"], row["error_code"]) == ("queued", 2, None)
    assert event_names(bad)[-1] == "redriven"
    with pytest.raises(Conflict, match="not_failed"):
        redrives.redrive(good, actor=ALICE)


def test_a_redriven_exhausted_item_is_dispatched_from_its_first_attempt(database):
    _, (child_id,) = register()
    change(SPENT)
    verdicts.exhaust(outbox.exhausted_ids(1)[0])
    redrives.redrive(child_id, actor=ALICE)
    (claim,) = outbox.claim(10)
    assert (claim.child_id, claim.fence.dispatch_attempts) == (child_id, 1)


def test_silence_is_measured_from_the_last_report(database):
    _, (quiet, talking, fresh) = register(3)
    for child_id in (quiet, talking, fresh):
        report(child_id, "processing", run=None)
    change("UPDATE page_import SET last_report_at = last_report_at - interval '2 hours'")
    report(talking, "progress", done=1, total=2)
    change("UPDATE page_import SET last_report_at = clock_timestamp() WHERE id = %s", (fresh,))
    assert verdicts.silent_children(PAGE, stall_seconds=3600, limit=10)[0].child_id == quiet


def test_sent_but_never_started_imports_are_found_at_any_age(database):
    _, (lost,) = register()
    (claim,) = outbox.claim(10)
    outbox.mark_dispatched([claim.fence])
    assert verdicts.unstarted_children(PAGE, waited_seconds=60, limit=10) == []
    change("UPDATE batch_item SET dispatched_at = dispatched_at - interval '9 days'")
    assert verdicts.unstarted_children(PAGE, waited_seconds=60, limit=10)[0].child_id == lost


def test_cancel_is_final_and_cannot_be_repeated(database):
    batch_id, (child_id,) = register()
    cancellations.cancel_import(ALICE, PAGE, child_id)
    with pytest.raises(Conflict, match="already_terminal"):
        cancellations.cancel_import(ALICE, PAGE, child_id)
    view = batches.get_batch(ALICE, batch_id)
    assert (view.status, view.counts.cancelled) == ("3", 1)
    assert child(child_id)["status"] == "queued"


def test_cancelling_a_batch_spares_what_is_done(database):
    batch_id, (done, running, waiting) = register(3)
    report(done, "completed")
    report(running, "processing", run=None)
    assert cancellations.cancel_batch(ALICE, batch_id) == 2
    view = batches.get_batch(ALICE, batch_id)
    assert (view.status, view.partial, view.counts.completed) == ("3", True, 1)
    assert event_names(waiting)[-1] == "cancelled"
    with pytest.raises(Conflict):
        cancellations.cancel_batch(ALICE, batch_id)


def test_strangers_can_cancel_nothing(database):
    batch_id, (child_id,) = register()
    with pytest.raises(NotFound):
        cancellations.cancel_import(BOB, PAGE, child_id)
    with pytest.raises(NotFound):
        cancellations.cancel_batch(BOB, batch_id)
    assert batches.get_batch(ALICE, batch_id).counts.queued == 1
