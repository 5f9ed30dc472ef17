"""PostgreSQL: reachable, writable, new enough, migrated; schedulers alive, breaker closed."""

from __future__ import annotations

import time
from collections.abc import Iterator

from jobs.findings import Finding, clock, ok, problem, warning
from models import database, status
from models.errors import DatabaseUnavailable

NEEDED_VERSION = 15
#: A scheduler writes its heartbeat every five seconds.
SILENT_SECONDS = 60
_TABLES = ("batch", "batch_item", "page_import", "code2des", "job_event", "process_status")


def check() -> Iterator[Finding]:
    """Look at the database and at what the schedulers have written there."""
    try:
        database.ping()
    except DatabaseUnavailable as error:
        step = "check DATABASE_URL, that the server runs, and that it lets this machine in"
        yield problem("database", f"it does not answer ({error})", step)
        return
    yield from _server()
    if not database.schema_is_current():
        yield problem("schema", "migrations are missing", "run `flask --app app db migrate`")
        return
    yield ok("schema", "every migration is applied")
    yield from _rights()
    yield from _schedulers()
    yield _breaker()


def _server() -> Iterator[Finding]:
    before = time.time()
    with database.connection():
        (row,) = database.fetch(
            """SELECT current_setting('server_version_num')::int / 10000 AS version,
                      extract(epoch FROM clock_timestamp())::float AS now,
                      current_setting('max_connections')::int AS connections"""
        )
    if row["version"] < NEEDED_VERSION:
        step = f"move to PostgreSQL {NEEDED_VERSION} or newer"
        yield problem("database", f"it is PostgreSQL {row['version']}", step)
    else:
        yield ok("database", f"PostgreSQL {row['version']}, {row['connections']} connections")
    # The answer was made between the two moments; only what is outside of them is skew.
    offset_seconds = min(row["now"] - before, 0.0) + max(row["now"] - time.time(), 0.0)
    yield clock("database", offset_seconds)


def _rights() -> Iterator[Finding]:
    with database.connection():
        (row,) = database.fetch(
            """SELECT array_agg(t) FILTER (WHERE NOT has_table_privilege(t, 'INSERT, UPDATE'))
                          AS denied
               FROM unnest(%s::text[]) AS t""",
            (list(_TABLES),),
        )
    if row["denied"]:
        said = f"its user may not write {', '.join(row['denied'])}"
        yield problem("database rights", said, "GRANT SELECT, INSERT, UPDATE, DELETE on all tables")
    else:
        yield ok("database rights", "its user may write")


def _schedulers() -> Iterator[Finding]:
    alive = [row for row in status.list_kind("scheduler") if row.age_seconds < SILENT_SECONDS]
    if alive:
        yield ok("scheduler", f"{len(alive)} alive")
        return
    step = "start the `scheduler` of the Procfile, or read its log"
    yield warning("scheduler", f"none has been heard of for {SILENT_SECONDS} s", step)


def _breaker() -> Finding:
    row = status.get("dispatch_breaker")
    if row is None or row.data["state"] == "closed":
        return ok("dispatch", "the breaker is closed")
    said = f"the breaker is {row.data['state']}: SQS does not answer ({row.data['reason']})"
    return warning("dispatch", said, "see what is said of the queues; dispatch goes on by itself")
