"""The guards that locks make look superfluous, each on its own: stale knowledge writes nothing."""

import threading
from dataclasses import replace

import psycopg2
import pytest

from models import cancellations, idempotency, outbox, redrives, transitions, verdicts
from models.database import connection, execute, fetch, transaction
from models.errors import Conflict, NotFound, ReservationLost
from models.locks import lock, lock_batch
from models.states import ChildStatus, ImportType
from tests.builders import ALICE, BOB, change, child, item_of, register, report, result

PAGE = ImportType.PAGE_IMPORT


def seen(child_id):
    """What somebody knew about an import who has let its locks go since."""
    with transaction():
        return lock(PAGE, child_id)


def test_a_move_from_a_status_that_was_left_meanwhile_is_a_conflict(database):
    _, (child_id,) = register()
    stale = seen(child_id)
    report(child_id, "processing", run=None)
    with pytest.raises(Conflict, match="state_changed"), transaction():
        transitions.move(stale, ChildStatus.FAILED, "failed", component="scheduler")
    assert child(child_id)["status"] == "processing"


def test_a_move_in_a_run_that_is_over_is_a_conflict(database):
    _, (child_id,) = register()
    stale = seen(child_id)
    change("UPDATE page_import SET run = 2")
    with pytest.raises(Conflict, match="state_changed"), transaction():
        transitions.move(stale, ChildStatus.FAILED, "failed", component="scheduler")
    assert child(child_id)["status"] == "queued"


def test_a_move_that_is_no_arrow_is_refused(database):
    _, (child_id,) = register()
    report(child_id, "completed")
    with pytest.raises(ValueError, match="no arrow"), transaction():
        transitions.move(lock(PAGE, child_id), ChildStatus.QUEUED, "new_run", component="web")


@pytest.mark.parametrize("change_meanwhile", ["SET run = 7", "SET status = 'processing'"])
def test_a_new_run_of_a_row_that_moved_meanwhile_is_a_conflict(database, change_meanwhile):
    _, (child_id,) = register()
    stale = seen(child_id)
    change(f"UPDATE page_import {change_meanwhile}")
    before = child(child_id)
    with pytest.raises(Conflict, match="state_changed"), transaction():
        transitions.reopen_all([stale], "new_run", component="scheduler", reason="silent")
    assert child(child_id) == before


def test_a_new_run_that_is_no_arrow_is_refused(database):
    _, (child_id,) = register()
    report(child_id, "completed")
    with pytest.raises(ValueError, match="no arrow"), transaction():
        transitions.reopen_all(
            [lock(PAGE, child_id)], "new_run", component="scheduler", reason="silent"
        )


@pytest.mark.parametrize("table", ["batch_item", "page_import"])
@pytest.mark.parametrize("how", ["one", "batch"])
def test_locking_an_import_locks_its_item_and_its_child(database, how, table):
    batch_id, (child_id,) = register()
    column = "job_id" if table == "batch_item" else "id"
    with transaction():
        if how == "one":
            lock(PAGE, child_id)
        else:
            lock_batch(ALICE, batch_id)
        assert is_locked(database, f"SELECT 1 FROM {table} WHERE {column} = '{child_id}'")


def test_locking_a_batch_locks_its_row_first(database):
    batch_id, _ = register()
    with transaction():
        lock_batch(ALICE, batch_id)
        assert is_locked(database, f"SELECT 1 FROM batch WHERE id = '{batch_id}'")


def is_locked(database, select):
    """Ask from another session whether the row is locked."""
    other = psycopg2.connect(database)
    try:
        with other.cursor() as cursor, pytest.raises(psycopg2.errors.LockNotAvailable):
            cursor.execute(f"{select} FOR UPDATE NOWAIT")
    finally:
        other.close()
    return True


def test_a_claim_passes_over_rows_that_another_scheduler_is_claiming(database):
    register(2)
    with transaction():
        first = fetch("SELECT id FROM batch_item ORDER BY id LIMIT 1 FOR UPDATE")[0]["id"]
        claimed = []
        thread = threading.Thread(target=lambda: claimed.extend(outbox.claim(10)))
        thread.start()
        thread.join(3)
        assert not thread.is_alive(), "it waited for the lock"
    assert len(claimed) == 1
    assert claimed[0].fence.id != first


def claimed_once():
    _, (child_id,) = register()
    (claim,) = outbox.claim(10)
    return child_id, claim.fence


@pytest.mark.parametrize(
    "meanwhile",
    [
        "dispatch_attempts = 2",
        "lease_until = lease_until + interval '1 second'",
        "dispatched_at = '2026-01-01'",
    ],
)
@pytest.mark.parametrize("what", ["mark", "refuse", "reject"])
def test_a_fence_that_does_not_fit_any_more_touches_nothing(database, what, meanwhile):
    child_id, fence = claimed_once()
    change(f"UPDATE batch_item SET {meanwhile}")
    before = item_of(child_id)
    if what == "mark":
        assert outbox.mark_dispatched([fence]) == 0
    elif what == "refuse":
        assert outbox.record_failure([fence], first_seconds=1, later_seconds=1) == 0
    else:
        assert verdicts.reject(fence, "MessageTooLong") is False
    assert item_of(child_id) == before
    assert child(child_id)["status"] == "queued"


def test_a_refused_message_of_an_import_that_runs_already_fails_nothing(database):
    child_id, fence = claimed_once()
    change("UPDATE page_import SET status = 'processing'")
    assert verdicts.reject(fence, "MessageTooLong") is False
    assert child(child_id)["status"] == "processing"


@pytest.mark.parametrize(
    "meanwhile",
    [
        "dispatched_at = now()",
        "cancelled_at = now()",
        "deleted_at = now()",
        "error_message = 'x'",
        "dispatch_attempts = 2",
        "lease_until = now() + interval '1 minute'",
    ],
)
def test_an_item_that_moved_on_is_not_exhausted(database, meanwhile):
    _, (child_id,) = register()
    change("UPDATE batch_item SET dispatch_attempts = 3, lease_until = now() - interval '1 s'")
    (item_id,) = outbox.exhausted_ids(10)
    change(f"UPDATE batch_item SET {meanwhile}")
    assert outbox.exhausted_ids(10) == []
    assert verdicts.exhaust(item_id) is None
    assert child(child_id)["status"] == "queued"


def test_an_exhausted_item_whose_child_runs_is_left_alone(database):
    _, (child_id,) = register()
    change("UPDATE batch_item SET dispatch_attempts = 3, lease_until = now() - interval '1 s'")
    change("UPDATE page_import SET status = 'processing'")
    assert verdicts.exhaust(outbox.exhausted_ids(10)[0]) is None
    assert child(child_id)["status"] == "processing"


SILENT = """UPDATE page_import SET status = 'processing', started_at = now() - interval '9 hours',
            last_report_at = now() - interval '9 hours', updated_at = now() - interval '30 hours'"""
SENT = "UPDATE batch_item SET dispatched_at = now() - interval '9 hours', dispatch_attempts = 1"
OLD = "UPDATE page_import SET updated_at = now() - interval '30 hours'"
SEARCHES = {
    "silent": (SILENT, lambda: verdicts.silent_children(PAGE, stall_seconds=3600, limit=9)),
    "unstarted": (SENT, lambda: verdicts.unstarted_children(PAGE, waited_seconds=60, limit=9)),
    "aged": (OLD, lambda: verdicts.aged_children(PAGE, hours=24, limit=9)),
    "in flight": (SENT, lambda: verdicts.in_flight_children(PAGE)),
}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    "ended",
    [
        "batch_item SET cancelled_at = now()",
        "batch_item SET deleted_at = now()",
        "batch_item SET error_message = 'x'",
        "page_import SET status = 'completed'",
        "page_import SET status = 'failed'",
    ],
)
def test_sweeps_find_what_lives_and_nothing_that_has_ended(database, search, ended):
    _, (child_id,) = register()
    prepare, find = SEARCHES[search]
    change(prepare)
    assert [suspect.child_id for suspect in find()] == [child_id]
    if (search, ended) != ("silent", "batch_item SET error_message = 'x'"):
        change(f"UPDATE {ended}")
        assert find() == []


@pytest.mark.parametrize("search", SEARCHES)
def test_sweeps_find_nothing_that_is_young(database, search):
    register()
    assert SEARCHES[search][1]() == []


@pytest.mark.parametrize("search", ["silent", "unstarted"])
def test_a_sweep_looks_only_at_its_own_status(database, search):
    register()
    change(SILENT)
    change(SENT)
    if search == "silent":
        change("UPDATE page_import SET status = 'queued'")
    assert SEARCHES[search][1]() == []


def test_a_message_is_in_flight_from_its_first_claim_on(database):
    _, (child_id,) = register()
    outbox.claim(1)
    assert [suspect.child_id for suspect in verdicts.in_flight_children(PAGE)] == [child_id]


@pytest.mark.parametrize("verdict", ["expire", "start_new_run"])
@pytest.mark.parametrize("meanwhile", ["reported", "cancelled"])
def test_a_suspect_that_moved_meanwhile_gets_no_verdict(database, verdict, meanwhile):
    _, (child_id,) = register()
    change(OLD)
    (suspect,) = verdicts.aged_children(PAGE, hours=24, limit=1)
    if meanwhile == "reported":
        report(child_id, "processing", run=None)
    else:
        cancellations.cancel_import(ALICE, PAGE, child_id)
    judge = {
        "expire": lambda: verdicts.expire(suspect),
        "start_new_run": lambda: verdicts.start_new_run(suspect, reason="silent"),
    }
    before = child(child_id)
    assert not judge[verdict]()
    assert child(child_id) == before


def test_only_starts_of_the_last_ten_minutes_tell_how_long_a_queue_is(database):
    _, ids = register(3)
    change("UPDATE batch_item SET dispatched_at = now() - interval '2 hours'")
    assert verdicts.observed_wait(PAGE) is None
    change(
        """UPDATE page_import SET status = 'processing', started_at = now() - interval '1 hour',
               last_report_at = now()"""
    )
    assert verdicts.observed_wait(PAGE) is None
    change("UPDATE page_import SET status = 'completed', started_at = now() WHERE id = %s", ids[:1])
    assert verdicts.observed_wait(PAGE) > 7000


def test_an_operator_fails_only_what_lives(database):
    _, (child_id,) = register()
    report(child_id, "completed")
    assert verdicts.fail(PAGE, child_id, code="failed_by_operator", message="no") is False
    assert child(child_id)["status"] == "completed"


def test_cancelling_keeps_the_first_moment(database):
    batch_id, (child_id,) = register()
    cancellations.cancel_import(ALICE, PAGE, child_id)
    at = item_of(child_id)["cancelled_at"]
    with transaction():
        cancellations._cancel([lock(PAGE, child_id)], ALICE)
    assert item_of(child_id)["cancelled_at"] == at
    cancellations.delete_batch(ALICE, batch_id)
    assert item_of(child_id)["cancelled_at"] == at


def test_an_acknowledged_dispatch_keeps_its_first_moment(database):
    _, (child_id,) = register()
    stale = seen(child_id)
    change("UPDATE batch_item SET dispatched_at = '2026-01-01'")
    at = item_of(child_id)["dispatched_at"]
    with transaction():
        outbox.acknowledge(stale.item_id)
    assert item_of(child_id)["dispatched_at"] == at


def test_an_error_of_dispatch_keeps_its_first_text(database):
    _, (child_id,) = register()
    stale = seen(child_id)
    change("UPDATE batch_item SET error_message = 'first'")
    with transaction():
        verdicts._fail(stale, "exhausted", "second")
    assert item_of(child_id)["error_message"] == "first"


def test_a_deleted_batch_is_gone_for_everybody_and_keeps_its_first_moment(database):
    batch_id, (child_id,) = register()
    report(child_id, "failed")
    cancellations.delete_batch(ALICE, batch_id)
    at = item_of(child_id)["deleted_at"]
    for act in (
        lambda: cancellations.cancel_import(ALICE, PAGE, child_id),
        lambda: cancellations.cancel_batch(ALICE, batch_id),
        lambda: cancellations.delete_batch(ALICE, batch_id),
        lambda: redrives.retry_import(ALICE, PAGE, child_id),
        lambda: redrives.retry_batch(ALICE, batch_id),
    ):
        with pytest.raises(NotFound):
            act()
    with pytest.raises(Conflict, match="not_failed"):
        redrives.redrive(child_id, actor=ALICE)
    assert item_of(child_id)["deleted_at"] == at


def test_strangers_can_neither_delete_nor_retry(database):
    batch_id, (child_id,) = register()
    report(child_id, "failed")
    for act in (
        lambda: cancellations.delete_batch(BOB, batch_id),
        lambda: redrives.retry_import(BOB, PAGE, child_id),
        lambda: redrives.retry_batch(BOB, batch_id),
    ):
        with pytest.raises(NotFound):
            act()
    assert child(child_id)["status"] == "failed"


def test_a_late_report_about_a_deleted_batch_changes_nothing(database):
    batch_id, (child_id,) = register()
    cancellations.delete_batch(ALICE, batch_id)
    change("UPDATE batch_item SET cancelled_at = NULL")
    assert transitions.current(PAGE, child_id).terminal
    answer = report(child_id, "completed")
    assert (answer.applied, answer.conflict) == (False, True)
    assert child(child_id)["status"] == "queued"


def reserved(subject=ALICE, key="key"):
    made = idempotency.reserve(subject, key)
    assert isinstance(made, idempotency.Reservation)
    return made


def complete(reservation):
    with transaction():
        idempotency.complete(reservation, fingerprint="f" * 64, response={"a": 1})


@pytest.mark.parametrize("act", [idempotency.renew, idempotency.release, complete])
@pytest.mark.parametrize("other", ["subject", "token", "finished"])
def test_a_reservation_acts_on_itself_alone(database, act, other):
    mine, another = reserved(), reserved(BOB)
    if other == "finished":
        complete(mine)
    elif other == "token":
        change("UPDATE idempotency_key SET owner_token = 'x' WHERE subject = %s", (ALICE,))
    else:
        change("UPDATE idempotency_key SET owner_token = %s", (mine.token,))
    look = "SELECT * FROM idempotency_key WHERE subject <> %s OR %s ORDER BY subject"
    with connection():
        before = fetch(look, (ALICE, other != "subject"))
    if act is idempotency.release or other == "subject":
        act(mine)
    else:
        with pytest.raises(ReservationLost):
            act(mine)
    with connection():
        assert fetch(look, (ALICE, other != "subject")) == before
    assert another.subject == BOB


def test_a_finished_key_with_an_old_lease_is_not_taken_over(database):
    complete(reserved())
    change("UPDATE idempotency_key SET lease_until = now() - interval '1 hour'")
    assert isinstance(idempotency.reserve(ALICE, "key"), idempotency.Completed)


def test_only_keys_older_than_a_day_are_forgotten(database):
    complete(reserved())
    assert idempotency.forget_expired() == 0
    with connection():
        execute("UPDATE idempotency_key SET created_at = now() - interval '25 hours'")
    assert idempotency.forget_expired() == 1


def test_progress_of_an_import_whose_start_report_was_lost_starts_it(database):
    _, (child_id,) = register()
    report(child_id, "progress", done=1, total=2)
    row = child(child_id)
    assert row["status"] == "processing"
    assert row["started_at"] is not None
    assert row["last_report_at"] is not None


def test_a_report_of_another_kind_that_names_the_same_result_is_a_conflict(database):
    _, (child_id,) = register()
    same = result()
    report(child_id, "completed", result=same)
    assert report(child_id, "failed", result=same).conflict
    assert report(child_id, "processing", run=None, result=same).conflict


def test_a_completion_without_a_result_is_never_the_same_one_and_never_taken(database):
    _, (done, live) = register(2)
    report(done, "completed")
    assert report(done, "completed", result=None).conflict
    with pytest.raises(ValueError, match="unknown report"):
        report(live, "completed", result=None)
    assert child(live)["status"] == "queued"


def test_a_report_of_a_kind_that_nobody_knows_writes_nothing(database):
    _, (child_id,) = register()
    with pytest.raises(ValueError, match="unknown report"):
        report(child_id, "exploded", result=result())
    assert child(child_id)["status"] == "queued"
    assert item_of(child_id)["dispatched_at"] is None


def test_the_same_completion_of_an_import_that_counts_as_cancelled_is_a_conflict(database):
    _, (child_id,) = register()
    report(child_id, "completed")
    change("UPDATE batch_item SET cancelled_at = now()")
    assert report(child_id, "completed").conflict


@pytest.mark.parametrize("half", [{"design": {"a": 1}}, {"markdown": {"ja": "あ", "en": "a"}}])
def test_half_a_design_is_no_design(database, half):
    _, (child_id,) = register(type=ImportType.CODE2DES)
    with transaction():
        row = lock(ImportType.CODE2DES, child_id)
        transitions._complete(row, replace(result(), pages=None, **half))
    with connection():
        assert fetch("SELECT * FROM code2des_design") == []


def test_nothing_to_reopen_is_nothing(database):
    register()
    with transaction():
        transitions.reopen_all([], "retried", component="web", reason="test")
    with connection():
        assert fetch("SELECT run FROM page_import") == [{"run": 1}]


def test_a_claim_of_tried_items_leaves_untried_ones_and_the_other_way_round(database):
    _, (tried, fresh) = register(2)
    change("UPDATE batch_item SET dispatch_attempts = 1 WHERE job_id = %s", (tried,))
    assert [claim.child_id for claim in outbox.claim(10, max_attempts=0)] == [fresh]
    change("UPDATE batch_item SET lease_until = NULL, dispatch_attempts = dispatch_attempts - 1")
    change("UPDATE batch_item SET dispatch_attempts = 1 WHERE job_id = %s", (tried,))
    claims = outbox.claim(10, min_attempts=1, max_attempts=1)
    assert [claim.child_id for claim in claims] == [tried]
