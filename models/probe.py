"""One question to PostgreSQL that is answered in time or counts as not answered.

It has a connection of its own, opened without blocking: neither a full pool nor a database behind
a network that swallows packets can hold the caller for longer than it said.
"""

from __future__ import annotations

import select
import time
from contextlib import suppress
from typing import Any

import psycopg2
from psycopg2 import errorcodes, extensions

from models import database
from models.errors import DatabaseUnavailable

_QUESTION = "SELECT pg_is_in_recovery(), array(SELECT name FROM schema_migration)"


def schema_is_current(timeout_seconds: float) -> bool:
    """Tell whether PostgreSQL takes writes and every migration of this code is applied.

    The answer or DatabaseUnavailable comes in time; only a name server can make it later.
    """
    deadline = time.monotonic() + timeout_seconds
    connection: Any = None  # psycopg2 ships no types
    try:
        connection = psycopg2.connect(database.database.database, async_=True)
        _wait(connection, deadline)
        cursor = connection.cursor()
        cursor.execute(_QUESTION)
        _wait(connection, deadline)
        standby, applied = cursor.fetchone()
    except psycopg2.Error as error:
        if error.pgcode == errorcodes.UNDEFINED_TABLE:
            return False
        raise DatabaseUnavailable(type(error).__name__) from error
    finally:
        if connection is not None:
            with suppress(psycopg2.Error):
                connection.close()
    if standby:
        raise DatabaseUnavailable("the database is a read-only standby")
    return {path.stem for path in database.MIGRATIONS.glob("[0-9]*.py")} <= set(applied)


def _wait(connection: Any, deadline: float) -> None:
    """Drive an asynchronous connection until it is idle. Raises DatabaseUnavailable when late."""
    while (state := connection.poll()) != extensions.POLL_OK:
        remaining = deadline - time.monotonic()
        reading = [connection] if state == extensions.POLL_READ else []
        writing = [connection] if state == extensions.POLL_WRITE else []
        if remaining <= 0 or not any(select.select(reading, writing, [], remaining)):
            raise DatabaseUnavailable("no answer in time")
