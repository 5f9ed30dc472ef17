"""A person's retry, of one import or of what failed in a batch; deleting a batch."""

import pytest

from models import batches, cancellations, children, outbox, redrives
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
)

PAGE = ImportType.PAGE_IMPORT


def test_retrying_a_batch_starts_only_what_failed(database):
    batch_id, (bad, good, running) = register(3)
    message = item_of(bad)["message"]
    report(bad, "failed")
    report(good, "completed")
    report(running, "processing", run=None)
    assert redrives.retry_batch(ALICE, batch_id) == 1
    assert (child(bad)["status"], child(bad)["run"]) == ("queued", 2)
    assert child(good)["run"] == child(running)["run"] == 1
    assert item_of(bad)["message"] == message
    assert event_names(bad)[-1] == "retried"
    (claim, *_) = [claim for claim in outbox.claim(10) if claim.child_id == bad]
    assert claim.message == message


def test_a_retried_import_can_fail_again_and_be_retried_again(database):
    _, (child_id,) = register()
    for run in (1, 2, 3, 4):
        report(child_id, "failed", run=run)
        redrives.retry_import(ALICE, PAGE, child_id)
    assert child(child_id)["run"] == 5


def test_the_history_names_the_person_who_retried(database):
    _, (child_id,) = register()
    report(child_id, "failed")
    redrives.retry_import(ALICE, PAGE, child_id)
    (last,) = rows("SELECT * FROM job_event WHERE child_id = %s AND event = 'retried'", (child_id,))
    assert (last["updated_by"], last["component"], last["run"]) == (ALICE, "web", 2)


def test_nothing_failed_means_nothing_to_retry(database):
    batch_id, (done, cancelled) = register(2)
    report(done, "completed")
    cancellations.cancel_import(ALICE, PAGE, cancelled)
    with pytest.raises(Conflict, match="not_failed"):
        redrives.retry_batch(ALICE, batch_id)
    for child_id in (done, cancelled):
        with pytest.raises(Conflict, match="not_failed"):
            redrives.retry_import(ALICE, PAGE, child_id)


def test_an_import_without_its_source_cannot_be_retried(database):
    _, (child_id,) = register()
    report(child_id, "failed")
    change("UPDATE page_import SET source_expired_at = now()")
    with pytest.raises(Conflict, match="source_expired"):
        redrives.retry_import(ALICE, PAGE, child_id)
    assert child(child_id)["status"] == "failed"


def test_strangers_can_retry_and_delete_nothing(database):
    batch_id, (child_id,) = register()
    report(child_id, "failed")
    for attempt in (
        lambda: redrives.retry_import(BOB, PAGE, child_id),
        lambda: redrives.retry_batch(BOB, batch_id),
        lambda: cancellations.delete_batch(BOB, batch_id),
    ):
        with pytest.raises(NotFound):
            attempt()
    assert child(child_id)["status"] == "failed"


def test_a_deleted_batch_is_gone_for_its_owner_and_stops_its_workers(database):
    batch_id, (done, running, waiting) = register(3)
    report(done, "completed")
    report(running, "processing", run=None)
    cancellations.delete_batch(ALICE, batch_id)
    for look in (
        lambda: batches.get_batch(ALICE, batch_id),
        lambda: batches.list_items(ALICE, batch_id),
        lambda: children.get_child(ALICE, PAGE, done),
        lambda: cancellations.delete_batch(ALICE, batch_id),
        lambda: redrives.retry_batch(ALICE, batch_id),
    ):
        with pytest.raises(NotFound):
            look()
    assert batches.list_batches(ALICE) == ([], None)
    assert report(running, "completed").conflict
    assert outbox.claim(10) == []
    item = item_of(waiting)
    assert (item["deleted_by"], item["cancelled_at"] is None) == (ALICE, False)
