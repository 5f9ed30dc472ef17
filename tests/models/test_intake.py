"""An upload is registered whole or not at all, and wakes the dispatcher only on commit."""

import pytest
from pydantic import SecretStr

from models import database as db
from models import idempotency, intake
from models.errors import CommitUnknown, DatabaseUnavailable, ReservationLost
from models.ids import uuid7
from models.outbox import CHANNEL
from models.settings import DatabaseSettings
from models.states import ImportType
from tests.builders import ALICE, change, event_names, item_of, new_import, register, rows


def test_a_registered_batch_has_a_row_and_a_message_for_every_file(database):
    batch_id, ids = register(3)
    items = rows("SELECT * FROM batch_item WHERE batch_id = %s ORDER BY position", (batch_id,))
    assert [item["job_id"] for item in items] == ids
    assert [item["position"] for item in items] == [0, 1, 2]
    assert all(item["message"]["import_id"] == item["job_id"] for item in items)
    assert all(item["dispatched_at"] is None and item["dispatch_attempts"] == 0 for item in items)
    assert event_names(ids[0]) == ["accepted"]


def test_the_audit_fields_hold_the_subject(database):
    _, (child_id,) = register(subject=ALICE)
    item = item_of(child_id)
    assert (item["created_by"], item["updated_by"], item["deleted_by"]) == (ALICE, ALICE, None)


def test_an_empty_batch_cannot_exist(database):
    with pytest.raises(ValueError, match="empty"):
        intake.register(
            subject=ALICE, batch_id=uuid7(), type=ImportType.PAGE_IMPORT, name=None, imports=[]
        )
    assert rows("SELECT id FROM batch") == []


def test_a_lost_reservation_rolls_everything_back(database):
    reservation = idempotency.reserve(ALICE, "k")
    change("UPDATE idempotency_key SET owner_token = 'another'")
    with pytest.raises(ReservationLost):
        register(reservation=reservation, fingerprint="f", response={})
    for table in ("batch", "batch_item", "page_import", "job_event"):
        assert rows(f"SELECT id FROM {table}") == []


def test_one_file_that_cannot_be_written_leaves_nothing_of_the_batch(database):
    good = new_import()
    with pytest.raises(Exception, match="duplicate key"):
        intake.register(
            subject=ALICE,
            batch_id=uuid7(),
            type=ImportType.PAGE_IMPORT,
            name=None,
            imports=[good, good],
        )
    assert rows("SELECT id FROM batch") == []


def test_a_registration_wakes_a_listener_and_a_rolled_back_one_does_not(database):
    listener = db.Listener(DatabaseSettings(database_url=SecretStr(database)), CHANNEL)
    listener.wait(0)
    reservation = idempotency.reserve(ALICE, "k")
    change("UPDATE idempotency_key SET owner_token = 'another'")
    with pytest.raises(ReservationLost):
        register(reservation=reservation, fingerprint="f", response={})
    assert listener.wait(0.2) is False
    register()
    assert listener.wait(5) is True
    listener.close()


def test_a_connection_lost_before_commit_is_an_unknown_outcome_and_heals(database):
    with pytest.raises(CommitUnknown), db.transaction():
        (mine,) = db.fetch("SELECT pg_backend_pid() AS pid")
        _terminate(database, mine["pid"])
    register()
    assert len(rows("SELECT id FROM batch")) == 1


def test_a_terminated_session_is_database_unavailable_and_heals(database):
    with pytest.raises(DatabaseUnavailable), db.transaction():
        (mine,) = db.fetch("SELECT pg_backend_pid() AS pid")
        _terminate(database, mine["pid"])
        db.fetch("SELECT 1 AS one")
    assert rows("SELECT 1 AS one") == [{"one": 1}]


def _terminate(url: str, pid: int) -> None:
    import psycopg2

    other = psycopg2.connect(url)
    other.autocommit = True
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
    other.close()
