"""Reports: state decides, first completion wins, one result set whatever is delivered how often."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from models import cancellations, events, results
from models.errors import NotFound
from models.states import ImportType
from tests.builders import (
    ALICE,
    BOB,
    child,
    event_names,
    register,
    report,
    result,
    rows,
    start_new_run,
)


def test_processing_starts_a_queued_import_and_answers_its_run(database):
    _, (child_id,) = register()
    applied = report(child_id, "processing", run=None)
    assert (applied.applied, applied.status, applied.run) == (True, "processing", 1)
    row = child(child_id)
    assert row["started_at"] is not None
    assert row["last_report_at"] is not None
    assert row["updated_by"] == "worker"


def test_completed_stores_pages_and_status_together(database):
    _, (child_id,) = register()
    report(child_id, "processing", run=None)
    report(child_id, "completed", result=result(pages=1200))
    row = child(child_id)
    assert (row["status"], row["page_count"]) == ("completed", 1200)
    pages, following = results.list_pages(ALICE, child_id, limit=100)
    assert [page.number for page in pages] == list(range(1, 101))
    more, _ = results.list_pages(ALICE, child_id, cursor=following, limit=1)
    assert more[0].number == 101
    assert event_names(child_id) == ["accepted", "started", "completed"]


def test_a_completion_whose_start_report_was_lost_is_taken(database):
    _, (child_id,) = register()
    assert report(child_id, "completed").applied
    assert child(child_id)["started_at"] is not None


def test_the_same_completion_again_changes_nothing(database):
    _, (child_id,) = register()
    report(child_id, "completed")
    again = report(child_id, "completed")
    assert (again.applied, again.conflict) == (False, False)
    assert len(rows("SELECT 1 AS one FROM page")) == 2


def test_twenty_completions_at_once_give_one_result_set(database):
    _, (child_id,) = register()
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: report(child_id, "completed"), range(20)))
    assert sum(answer.applied for answer in answers) == 1
    assert not any(answer.conflict for answer in answers)
    assert len(rows("SELECT 1 AS one FROM page")) == 2
    assert event_names(child_id) == ["accepted", "completed"]


@pytest.mark.parametrize(
    ("event", "more"),
    [
        ("processing", {}),
        ("progress", {"done": 1, "total": 2}),
        ("failed", {}),
        ("completed", {"result": result("e" * 64)}),
    ],
)
def test_anything_else_after_the_end_is_a_conflict(database, event, more):
    _, (child_id,) = register()
    report(child_id, "completed")
    answer = report(child_id, event, **more)
    assert answer.conflict
    assert answer.status == "completed"
    assert child(child_id)["result_sha256"] == "d" * 64


def test_a_late_completion_of_a_cancelled_import_leaves_no_pages(database):
    _, (child_id,) = register()
    report(child_id, "processing", run=None)
    cancellations.cancel_import(ALICE, ImportType.PAGE_IMPORT, child_id)
    answer = report(child_id, "completed")
    assert (answer.conflict, answer.status) == (True, "cancelled")
    assert rows("SELECT 1 AS one FROM page") == []


def test_failed_and_progress_count_only_for_the_current_run(database):
    _, (child_id,) = register()
    report(child_id, "processing", run=None)
    start_new_run(child_id)
    assert report(child_id, "failed", run=1).conflict
    assert report(child_id, "progress", run=1, done=1, total=2).conflict
    assert child(child_id)["status"] == "queued"
    assert report(child_id, "failed", run=2).applied


def test_completed_of_an_older_run_is_taken_while_the_import_is_live(database):
    _, (child_id,) = register()
    start_new_run(child_id)
    assert report(child_id, "completed", run=1).applied


def test_progress_is_kept_and_keeps_the_import_from_being_silent(database):
    _, (child_id,) = register()
    report(child_id, "processing", run=None)
    report(child_id, "progress", done=3, total=9)
    row = child(child_id)
    assert (row["progress_done"], row["progress_total"]) == (3, 9)


def test_a_failed_import_names_its_reason(database):
    _, (child_id,) = register()
    report(child_id, "failed", error_code="file_encrypted", error_message="needs a password")
    row = child(child_id)
    assert (row["error_code"], row["error_message"]) == ("file_encrypted", "needs a password")
    assert events.list_events(ALICE, child_id)[-1].detail == "file_encrypted"


def test_an_unknown_import_is_not_found(database):
    with pytest.raises(NotFound):
        report("01a22d6b-50f3-764f-a94b-c4fec0864ceb", "processing", run=None)


def test_a_stranger_sees_neither_pages_nor_history(database):
    _, (child_id,) = register()
    report(child_id, "completed")
    for look in (results.list_pages, events.list_events):
        with pytest.raises(NotFound):
            look(BOB, child_id)
