"""Idempotency-Key over the API: replay, reuse, running twin, and never frozen by a failure."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from jobs.errors import StorageUnavailable
from jobs.storage import Storage, StoredObject
from models import idempotency
from models.database import connection, execute
from models.errors import ReservationLost
from tests.web.conftest import Person
from tests.web.test_api_uploads import rows
from web import reservations
from web.factory import create_app
from web.settings import WebSettings


def post(
    client: FlaskClient, person: Person, key: str, data: bytes = b"hello", name: str = "a.txt"
) -> Any:
    return client.post(
        "/api/v1/imports",
        data={"file": (BytesIO(data), name)},
        headers={**person.headers, "Idempotency-Key": key},
    )


class CountingStorage(Storage):
    """Counts what is stored; can be told to fail. Everything else is the real one."""

    failing = False
    stored = 0

    def put_source(self, *args: Any, **kwargs: Any) -> StoredObject:
        if self.failing:
            raise StorageUnavailable("told to fail")
        self.stored += 1
        return super().put_source(*args, **kwargs)


@pytest.fixture
def storage(aws: Any) -> CountingStorage:
    from jobs.settings import StorageSettings

    return CountingStorage(StorageSettings())


def test_the_same_request_again_gets_the_same_answer_and_stores_nothing(
    client: FlaskClient, person: Person, storage: CountingStorage
) -> None:
    first = post(client, person, '"key-1"')
    again = post(client, person, "key-1")
    assert (first.status_code, again.status_code) == (202, 202)
    assert again.json == first.json
    assert again.headers["Location"] == first.headers["Location"]
    assert storage.stored == 1
    assert len(rows("SELECT id FROM batch_item")) == 1


@pytest.mark.parametrize("change", [{"data": b"other"}, {"name": "b.txt"}])
def test_the_same_key_for_other_content_is_422(
    client: FlaskClient, person: Person, change: dict[str, Any]
) -> None:
    assert post(client, person, "key").status_code == 202
    answer = post(client, person, "key", **change)
    assert (answer.status_code, answer.json["code"]) == (422, "idempotency_key_reused")
    assert len(rows("SELECT id FROM batch_item")) == 1


def test_a_running_twin_is_409(client: FlaskClient, person: Person) -> None:
    idempotency.reserve(person.sub, "key")
    answer = post(client, person, "key")
    assert (answer.status_code, answer.json["code"]) == (409, "idempotency_key_in_progress")
    assert answer.json["retryable"] is True


def test_keys_of_two_subjects_do_not_meet(
    client: FlaskClient, person: Person, stranger: Person
) -> None:
    mine, theirs = post(client, person, "key"), post(client, stranger, "key")
    assert mine.json["import_id"] != theirs.json["import_id"]


def test_a_503_or_a_refusal_never_freezes_the_key(
    client: FlaskClient, person: Person, storage: CountingStorage
) -> None:
    storage.failing = True
    assert post(client, person, "key").status_code == 503
    storage.failing = False
    assert post(client, person, "key", name="a.exe").status_code == 415
    assert post(client, person, "key").status_code == 202


@pytest.mark.parametrize("key", ["", '""', "k" * 256, "a b", "é"])
def test_a_malformed_key_is_400(client: FlaskClient, person: Person, key: str) -> None:
    answer = post(client, person, key)
    assert (answer.status_code, answer.json["code"]) == (400, "idempotency_key_invalid")


def test_a_lost_reservation_writes_nothing(
    settings: WebSettings, database: str, person: Person, aws: Any
) -> None:
    from jobs.settings import StorageSettings

    class Overtaken(Storage):
        def put_source(self, *args: Any, **kwargs: Any) -> StoredObject:
            with connection():
                execute("UPDATE idempotency_key SET owner_token = 'another'")
            return super().put_source(*args, **kwargs)

    app: Flask = create_app(settings, Overtaken(StorageSettings()))
    answer = post(app.test_client(), person, "key")
    assert answer.status_code == 409
    assert rows("SELECT id FROM batch_item") == []


def test_a_reservation_is_renewed_while_bytes_move(
    database: str, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = idempotency.reserve(person.sub, "key")
    assert isinstance(held, idempotency.Reservation)
    with connection():
        execute("UPDATE idempotency_key SET lease_until = now() + interval '1 second'")
    monkeypatch.setattr(reservations, "RENEW_SECONDS", 0)
    reservations.Renewal(held).tick()
    (row,) = rows(
        "SELECT lease_until > now() + interval '1 minute' AS renewed FROM idempotency_key"
    )
    assert row["renewed"]
    with connection():
        execute("UPDATE idempotency_key SET owner_token = 'another'")
    with pytest.raises(ReservationLost):
        reservations.Renewal(held).tick()
