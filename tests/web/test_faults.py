"""When S3 or PostgreSQL fail: 503 with Retry-After, nothing accepted, nothing left behind."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from flask import Flask
from pydantic import SecretStr

from jobs.errors import StorageUnavailable
from jobs.settings import StorageSettings
from jobs.storage import Storage, StoredObject
from models import database as models_database
from models import intake
from models.errors import CommitUnknown
from models.settings import DatabaseSettings
from tests.web.conftest import Person
from tests.web.test_api_uploads import rows
from web.factory import create_app
from web.settings import WebSettings


class FailingStorage(Storage):
    """Fails from the n-th file on; remembers what it stored and removed."""

    def __init__(self, fails_from: int) -> None:
        super().__init__(StorageSettings())
        self.fails_from = fails_from
        self.stored: list[StoredObject] = []
        self.removed: list[str] = []

    def put_source(self, *args: Any, **kwargs: Any) -> StoredObject:
        if len(self.stored) + 1 >= self.fails_from:
            raise StorageUnavailable("told to fail")
        self.stored.append(super().put_source(*args, **kwargs))
        return self.stored[-1]

    def delete_source(self, key: str, version: str | None) -> None:
        self.removed.append(key)
        super().delete_source(key, version)


def files(*names: str) -> dict[str, Any]:
    return {"type": "page_import", "files": [(BytesIO(b"x"), name) for name in names]}


def is_503(answer: Any, code: str) -> None:
    assert (answer.status_code, answer.json["code"]) == (503, code)
    assert answer.json["retryable"] is True
    assert int(answer.headers["Retry-After"]) > 0


def test_a_storage_failure_is_503_without_row_or_message(
    settings: WebSettings, database: str, person: Person, aws: Any
) -> None:
    app = create_app(settings, FailingStorage(1))
    answer = app.test_client().post(
        "/api/v1/imports?filename=a.txt", data=b"x", headers=person.headers
    )
    is_503(answer, "storage_unavailable")
    assert rows("SELECT id FROM batch") == rows("SELECT id FROM batch_item") == []


def test_the_third_file_failing_takes_the_first_two_back(
    settings: WebSettings, database: str, person: Person, aws: Any
) -> None:
    storage = FailingStorage(3)
    answer = (
        create_app(settings, storage)
        .test_client()
        .post("/api/v1/batches", data=files("a.txt", "b.txt", "c.txt"), headers=person.headers)
    )
    is_503(answer, "storage_unavailable")
    assert storage.removed == [stored.key for stored in storage.stored]
    assert len(storage.removed) == 2
    assert rows("SELECT id FROM batch_item") == []


@pytest.fixture
def no_database(database: str) -> Any:
    """Point the pool at a port where nobody listens."""
    _configure("postgresql://nobody:x@127.0.0.1:9/none")
    yield
    _configure(database)


def _configure(url: str) -> None:
    models_database.configure(DatabaseSettings(database_url=SecretStr(url)))


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "key"}])
def test_without_a_database_nothing_is_streamed(
    settings: WebSettings, person: Person, no_database: Any, headers: dict[str, str]
) -> None:
    storage = FailingStorage(99)
    app: Flask = create_app(settings, storage)
    answer = app.test_client().post(
        "/api/v1/imports?filename=a.txt", data=b"x", headers={**person.headers, **headers}
    )
    is_503(answer, "database_unavailable")
    assert storage.stored == []


def test_without_a_database_livez_answers_and_readyz_does_not(
    settings: WebSettings, storage: Storage, no_database: Any
) -> None:
    client = create_app(settings, storage).test_client()
    assert client.get("/livez").status_code == 200
    is_503(client.get("/readyz"), "database_unavailable")
    client.set_cookie("torikomi_session", "x")
    page = client.get("/batches")
    assert page.status_code == 503
    assert page.content_type.startswith("text/html")


def test_an_unknown_commit_keeps_the_object(
    settings: WebSettings,
    database: str,
    person: Person,
    aws: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The registration commits and the reply is lost: the same key reveals the import."""
    honest = intake.register

    def lossy(**kwargs: Any) -> None:
        honest(**kwargs)
        raise CommitUnknown("told to")

    monkeypatch.setattr(intake, "register", lossy)
    storage = FailingStorage(99)
    client = create_app(settings, storage).test_client()

    def post() -> Any:
        return client.post(
            "/api/v1/imports?filename=a.txt",
            data=b"x",
            headers={**person.headers, "Idempotency-Key": "key"},
        )

    is_503(post(), "commit_unknown")
    assert storage.removed == []
    monkeypatch.setattr(intake, "register", honest)
    again = post()
    assert again.status_code == 202
    (item,) = rows("SELECT job_id FROM batch_item")
    assert again.json["import_id"] == item["job_id"]


def test_readyz_answers_with_a_current_schema(client: Any) -> None:
    assert client.get("/readyz").json == {"status": "ok"}
