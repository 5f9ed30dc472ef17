"""Guards of the outbox's look at itself, of an operator's cancel, and the unique keys."""

from contextlib import closing

import psycopg2
import pytest

from models import (
    cancellations,
    deliveries,
    endpoints,
    idempotency,
    outbox,
    redrives,
    sessions,
    status,
    uploads,
    verdicts,
)
from models.database import transaction
from models.errors import Conflict, NotFound
from models.ids import uuid7
from models.locks import lock
from models.states import ImportType
from models.transitions import ReportedResult, apply_report
from tests.builders import ALICE, BOB, change, child, event_names, item_of, register, report, rows

#: What takes a waiting item out of the outbox for good.
SETTLED = (
    "dispatched_at = now()",
    "cancelled_at = now()",
    "deleted_at = now()",
    "error_message = 'x'",
)


@pytest.mark.parametrize("settled", SETTLED)
def test_what_is_settled_waits_for_no_dispatch(database, settled):
    register(2)
    outbox.claim(1)
    assert outbox.has_pending()
    found = outbox.pending_summary()
    assert (found["pending"], found["leased"]) == (2, 1)
    change("UPDATE batch_item SET lease_until = now() - interval '1 second'")
    assert outbox.pending_summary()["leased"] == 0
    change(f"UPDATE batch_item SET {settled}")
    assert not outbox.has_pending()
    assert outbox.pending_summary()["pending"] == 0


@pytest.mark.parametrize("idle", ["0 sorts before", "1 sorts behind"])
def test_a_subject_with_nothing_to_send_takes_no_share_of_a_round(database, idle):
    register(4, subject="0 sorts behind me" if idle.startswith("1") else "1 sorts before me")
    register(subject=idle)
    change("UPDATE batch_item SET dispatched_at = now() WHERE created_by = %s", (idle,))
    assert len(outbox.claim(4)) == 4


def test_an_operator_cancels_only_what_lives(database):
    _, (child_id,) = register()
    report(child_id, "completed")
    with pytest.raises(Conflict, match="already_terminal"):
        cancellations.cancel_any(child_id, actor=BOB)
    assert item_of(child_id)["cancelled_at"] is None
    assert event_names(child_id) == ["accepted", "completed"]
    assert child(child_id)["status"] == "completed"


def test_an_item_whose_child_is_gone_is_not_found(database):
    _, (child_id,) = register()
    change("DELETE FROM page_import")
    with pytest.raises(NotFound), transaction():
        lock(ImportType.PAGE_IMPORT, child_id)


@pytest.mark.parametrize(
    ("child_fails", "settled"), [(True, "cancelled_at = now()"), (False, "error_message = 'x'")]
)
def test_a_person_retries_only_what_failed_in_item_and_child(database, child_fails, settled):
    _, (child_id,) = register()
    if child_fails:
        report(child_id, "failed")
    change(f"UPDATE batch_item SET {settled}")
    with pytest.raises(Conflict, match="not_failed"):
        redrives.retry_import(ALICE, ImportType.PAGE_IMPORT, child_id)
    assert child(child_id)["run"] == 1


def test_an_item_that_was_hidden_before_its_batch_keeps_its_moment(database):
    batch_id, (first, _) = register(2)
    change("UPDATE batch_item SET deleted_at = '2026-01-01' WHERE job_id = %s", (first,))
    at = item_of(first)["deleted_at"]
    cancellations.delete_batch(ALICE, batch_id)
    assert item_of(first)["deleted_at"] == at


def test_one_key_of_two_subjects_is_two_keys(database):
    for subject in (ALICE, BOB):
        mine = idempotency.reserve(subject, "key")
        assert isinstance(mine, idempotency.Reservation)
        with transaction():
            idempotency.complete(mine, fingerprint="f" * 64, response={"of": subject})
    for subject in (ALICE, BOB):
        kept = idempotency.reserve(subject, "key")
        assert isinstance(kept, idempotency.Completed)
        assert kept.response == {"of": subject}


def test_an_import_that_reported_a_moment_ago_is_not_silent(database):
    _, (child_id,) = register()
    report(child_id, "processing", run=None)
    assert verdicts.silent_children(ImportType.PAGE_IMPORT, stall_seconds=3600, limit=9) == []
    change("UPDATE page_import SET last_report_at = now() - interval '2 hours'")
    (found,) = verdicts.silent_children(ImportType.PAGE_IMPORT, stall_seconds=3600, limit=9)
    assert found.child_id == child_id


@pytest.fixture
def full(database):
    """One row at least in each table that an import touches."""
    endpoints.create_endpoint(
        ALICE,
        url="https://hooks.example.com/",
        event_types=["import.completed"],
        description=None,
        language="en",
    )
    _, (page,) = register()
    _, (code,) = register(type=ImportType.CODE2DES)
    report(page, "completed")
    design = ReportedResult(
        sha256="d" * 64,
        detected_type="text/x-python",
        page_count=None,
        document={},
        design={"schema": "code2des/1"},
        markdown={"ja": "設計", "en": "design"},
    )
    apply_report(type=ImportType.CODE2DES, child_id=code, event="completed", run=1, result=design)
    (claimed,) = deliveries.claim(1, max_attempts=9)
    taken = deliveries.Attempt(status=200, error=None, duration_ms=1)
    deliveries.settle(claimed, taken, retry_seconds=None, failing_days=3)
    sessions.create_session(ALICE, "alice", idle_seconds=60, absolute_seconds=60)
    idempotency.reserve(ALICE, "key")
    new = uploads.NewUpload(
        id=uuid7(), file_name="a", content_type="text/plain", size_bytes=1, sha256="0" * 64
    )
    uploads.promise(ALICE, [new])
    with transaction():
        status.put("a process", "heartbeat", {})
    return database


@pytest.mark.parametrize(
    "table",
    [
        "batch",
        "batch_item",
        "page_import",
        "code2des",
        "page",
        "code2des_design",
        "job_event",
        "idempotency_key",
        "upload",
        "session",
        "process_status",
        "endpoint",
        "outgoing_event",
        "delivery",
        "delivery_attempt",
    ],
)
def test_no_row_can_be_there_twice(full, table):
    assert rows(f"SELECT 1 AS one FROM {table}") != []
    with (
        closing(psycopg2.connect(full)) as connection,
        connection.cursor() as cursor,
        pytest.raises(psycopg2.errors.UniqueViolation),
    ):
        cursor.execute(f"INSERT INTO {table} SELECT * FROM {table}")
