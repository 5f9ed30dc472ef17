"""/livez and /readyz: what a platform is told, and how soon."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient
from pydantic import SecretStr

from models import database as models_database
from models import probe
from models.errors import DatabaseUnavailable
from models.settings import DatabaseSettings

#: What the promise of one second may take on a machine that is busy with other things.
BUSY_SECONDS = 3.0


@pytest.fixture
def black_hole() -> Iterator[str]:
    """A DSN whose server takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"postgresql://nobody:x@127.0.0.1:{server.getsockname()[1]}/none"


@pytest.fixture
def dropped_packets() -> Iterator[str]:
    """A DSN whose server's queue is full: further connections get no answer at all."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        waiting = []
        for _ in range(4):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(server.getsockname())
            waiting.append(client)
        yield f"postgresql://nobody:x@127.0.0.1:{server.getsockname()[1]}/none"
        for client in waiting:
            client.close()


def configure(url: str) -> None:
    models_database.configure(DatabaseSettings(database_url=SecretStr(url)))


@pytest.mark.parametrize("fault", ["black_hole", "dropped_packets"])
def test_readyz_says_no_within_a_second_when_the_database_is_silent(
    client: FlaskClient, database: str, fault: str, request: pytest.FixtureRequest
) -> None:
    assert client.get("/readyz").status_code == 200
    configure(request.getfixturevalue(fault))
    try:
        began = time.monotonic()
        answer = client.get("/readyz")
        took = time.monotonic() - began
    finally:
        configure(database)

    assert (answer.status_code, answer.json["code"]) == (503, "database_unavailable")
    assert answer.headers["Retry-After"]
    assert took < BUSY_SECONDS
    assert client.get("/readyz").status_code == 200, "ready again as soon as the database is"


def test_many_who_ask_at_once_share_one_silence(
    client: FlaskClient, database: str, black_hole: str
) -> None:
    configure(black_hole)
    statuses: list[int] = []
    threads = [
        threading.Thread(
            target=lambda: statuses.append(
                client.application.test_client().get("/readyz").status_code
            )
        )
        for _ in range(8)
    ]
    began = time.monotonic()
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - began
    finally:
        configure(database)

    assert statuses == [503] * 8
    assert took < BUSY_SECONDS, "eight who wait in line would need seven seconds"


def test_a_full_pool_makes_nobody_unready(client: FlaskClient, database: str) -> None:
    models_database.configure(
        DatabaseSettings(database_url=SecretStr(database), database_pool_size=1)
    )
    try:
        with models_database.connection():
            answer: list[Any] = []
            thread = threading.Thread(
                target=lambda: answer.append(client.application.test_client().get("/readyz"))
            )
            thread.start()
            thread.join()
    finally:
        configure(database)

    assert answer[0].status_code == 200


def test_a_database_without_our_tables_is_behind_not_away(database: str) -> None:
    with models_database.connection():
        models_database.execute("ALTER TABLE schema_migration RENAME TO schema_migration_away")
    try:
        assert probe.schema_is_current(5) is False
    finally:
        with models_database.connection():
            models_database.execute("ALTER TABLE schema_migration_away RENAME TO schema_migration")
    assert probe.schema_is_current(5) is True


def test_a_wrong_password_is_an_outage(database: str) -> None:
    configure(database.replace("://", "://nobody_", 1))
    try:
        with pytest.raises(DatabaseUnavailable):
            probe.schema_is_current(5)
    finally:
        configure(database)
