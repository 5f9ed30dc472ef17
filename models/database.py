"""The one connection to PostgreSQL: a deferred pool, transactions, migrations, LISTEN.

Every other module of the room goes through `connection()` and `transaction()`. Peewee's errors are
turned into models.errors at the statement, so no caller outside the room ever sees Peewee.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

import peewee
import psycopg2
from playhouse.migrations import Runner
from playhouse.pool import MaxConnectionsExceeded, PooledPostgresqlDatabase

from models.errors import CommitUnknown, Contended, DatabaseUnavailable
from models.settings import DatabaseSettings

MIGRATIONS = Path(__file__).resolve().parent.parent / "migrations"

#: One number names the advisory lock of `migrate`; chosen at random once.
MIGRATION_LOCK = 7_270_419_133

#: deadlock_detected, serialization_failure, lock_not_available
#: https://www.postgresql.org/docs/current/errcodes-appendix.html
_CONTENTION_SQLSTATES = {"40P01", "40001", "55P03"}
#: read_only_sql_transaction: we talk to a standby; the connection must go.
_READ_ONLY_SQLSTATE = "25006"

#: How a connection ends whose other side is gone without a word: a host that lost its power or its
#: network. Seconds, but milliseconds for the last.
#: https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
_LOST_PEER = MappingProxyType(
    {
        "connect_timeout": 3,
        "keepalives_idle": 15,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,
    }
)

P = ParamSpec("P")
R = TypeVar("R")


class _Pool(PooledPostgresqlDatabase):
    """Peewee's pool with this room's errors, and no round trip to take a connection out."""

    def _is_closed(self, conn: Any) -> bool:
        """Ask the server only when the idle socket has something to say, as a closed one has.

        Peewee asks each time, under the lock of the whole pool: one more round trip for every use
        case, and a server that does not answer would stop every thread.
        """
        if conn.closed:
            return True
        poll = select.poll()
        poll.register(conn, select.POLLIN | select.POLLPRI)
        return bool(poll.poll(0)) and bool(super()._is_closed(conn))

    def execute_sql(self, sql: str, params: Any = None) -> Any:  # Peewee's own signature
        with _own_errors():
            return super().execute_sql(sql, params)


database = _Pool(None)
_local = threading.local()


@contextmanager
def _own_errors() -> Iterator[None]:
    try:
        yield
    except (peewee.OperationalError, peewee.InterfaceError, MaxConnectionsExceeded) as error:
        raise _translate(error) from error
    except peewee.InternalError as error:
        if _sqlstate(error) == _READ_ONLY_SQLSTATE:
            _discard()
            raise DatabaseUnavailable("the database is read-only") from error
        raise


def _sqlstate(error: BaseException) -> str | None:
    """Return the SQLSTATE of the driver's error behind Peewee's, or None."""
    original = getattr(error, "orig", None) or error.__cause__ or error.__context__
    return getattr(original, "pgcode", None)


def _translate(error: BaseException) -> DatabaseUnavailable:
    if _sqlstate(error) in _CONTENTION_SQLSTATES:
        return Contended("another transaction is in the way")
    return DatabaseUnavailable(type(error).__name__)


def _discard() -> None:
    """Drop this thread's connection instead of giving it back to the pool."""
    with suppress(Exception):  # the connection is broken: nothing to tell
        database.manual_close()


def configure(settings: DatabaseSettings) -> None:
    """Point the pool at the database. Opens no connection.

    Statement, lock and idle-in-transaction time-outs travel with each connection.
    """
    options = (
        f"-c statement_timeout={settings.database_statement_timeout_seconds}s"
        f" -c lock_timeout={settings.database_lock_timeout_seconds}s"
        f" -c idle_in_transaction_session_timeout="
        f"{settings.database_idle_in_transaction_timeout_seconds}s"
        " -c timezone=UTC"
        " -c synchronous_commit=on"  # an answered 202 survives the death of the server
    )
    if database.database is not None:
        database.close_all()
    database.init(
        settings.database_url.get_secret_value(),
        max_connections=settings.database_pool_size,
        timeout=settings.database_pool_wait_seconds,
        options=options,
        **_LOST_PEER,
    )


@contextmanager
def connection() -> Iterator[None]:
    """Hold this thread's connection for the block; nested calls share it.

    Raises DatabaseUnavailable when none can be had.
    """
    if not database.is_closed():
        yield
        return
    with _own_errors():
        database.connect()
    try:
        yield
    finally:
        if not database.is_closed():
            database.close()


@contextmanager
def transaction() -> Iterator[None]:
    """Run the block in one transaction; commits at the end, rolls back on any exception.

    Opened by use cases only and never nested. Raises DatabaseUnavailable, Contended, or
    CommitUnknown when the connection was lost during COMMIT.
    """
    if getattr(_local, "open", False):
        raise RuntimeError("transactions are opened once, by the use case")
    with connection():
        with _own_errors():
            database.begin()
        _local.open = True
        try:
            yield
        except BaseException:
            _rollback()
            raise
        finally:
            _local.open = False
        _commit()


def _rollback() -> None:
    try:
        database.rollback()
    except peewee.PeeweeException:  # the session is gone and its transaction with it
        _discard()


def _commit() -> None:
    try:
        database.commit()
    except (peewee.OperationalError, peewee.InterfaceError) as error:
        _discard()
        if _sqlstate(error) in _CONTENTION_SQLSTATES:
            raise _translate(error) from error
        raise CommitUnknown("connection lost during COMMIT") from error


def retried(function: Callable[P, R]) -> Callable[P, R]:
    """Run a whole use case again, at most twice, when its transaction lost a lock race."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        for pause_seconds in (0.05, 0.2):
            try:
                return function(*args, **kwargs)
            except Contended:
                time.sleep(pause_seconds)
        return function(*args, **kwargs)

    return run


def fetch(sql: str, params: Any = ()) -> list[dict[str, Any]]:
    """Run one statement and return its rows by column name. Needs an open connection."""
    cursor = database.execute_sql(sql, params)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def execute(sql: str, params: Any = ()) -> int:
    """Run one statement and return the number of rows it touched. Needs an open connection."""
    return int(database.execute_sql(sql, params).rowcount)


def ping() -> None:
    """Ask the database for an answer, and for permission to write. Raises DatabaseUnavailable."""
    with connection():
        if fetch("SELECT pg_is_in_recovery() AS standby")[0]["standby"]:
            _discard()
            raise DatabaseUnavailable("the database is a read-only standby")


def migrate() -> list[str]:
    """Apply the pending migrations under an advisory lock and return their names.

    Safe to run from many processes at once: the others wait and then find nothing to do.
    """
    with connection():
        execute("SET lock_timeout = '60s'")
        execute("SET statement_timeout = '120s'")
        database.execute_sql("SELECT pg_advisory_lock(%s)", (MIGRATION_LOCK,))
        try:
            execute("SET lock_timeout = '4s'")
            execute("SET statement_timeout = '5s'")
            return list(Runner(database, str(MIGRATIONS)).up())
        finally:
            database.execute_sql("SELECT pg_advisory_unlock(%s)", (MIGRATION_LOCK,))
            database.manual_close()


def schema_is_current() -> bool:
    """Tell whether every migration of this code has been applied."""
    with connection():
        runner = Runner(database, str(MIGRATIONS))
        return {m.name for m in runner.migrations()} <= set(runner.applied())


class Listener:
    """One autocommit connection that LISTENs; a wake-up is a hint, the poll is the truth."""

    def __init__(self, settings: DatabaseSettings, channel: str) -> None:
        self._dsn = settings.database_url.get_secret_value()
        self._channel = channel
        self._connection: Any = None  # psycopg2 ships no types

    def wait(self, timeout_seconds: float) -> bool:
        """Wait for a notification and drain all that have come. Reconnects when the link broke.

        Returns whether one came; returns early with True after a reconnect, since notifications
        may have been missed meanwhile. Raises DatabaseUnavailable when it can't connect.
        """
        if self._connection is None:
            self._connect()
            return True
        try:
            readable, _, _ = select.select([self._connection], [], [], timeout_seconds)
            self._connection.poll()
        except (psycopg2.Error, OSError, ValueError) as error:
            self.close()
            raise DatabaseUnavailable("the listening connection was lost") from error
        came = bool(self._connection.notifies)
        self._connection.notifies.clear()
        return bool(readable) and came

    def _connect(self) -> None:
        try:
            self._connection = psycopg2.connect(self._dsn, **_LOST_PEER)
            self._connection.autocommit = True
            with self._connection.cursor() as cursor:
                cursor.execute(f'LISTEN "{self._channel}"')
        except psycopg2.Error as error:
            self.close()
            raise DatabaseUnavailable("cannot listen") from error

    def close(self) -> None:
        """Close the connection; the next wait opens a new one."""
        if self._connection is not None:
            with suppress(psycopg2.Error):
                self._connection.close()
        self._connection = None
