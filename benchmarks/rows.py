"""Fill a database by SQL with an installation's past: batches whose items were sent and done.

Batches of 1,000 items of 100 subjects; ids ascend as UUIDv7 does. Without indexes and foreign keys
while filling, which then are made again: ten million rows in minutes, not hours.
"""

from __future__ import annotations

import time
from typing import Any

import psycopg2

BATCH = 1000
SUBJECTS = 100
_TABLES = ("batch_item", "page_import")


def _id(kind: str, number: str = "n") -> str:
    """Return the SQL of the id of the number's row of a kind (two hexadecimal digits)."""
    hexadecimal = f"lpad(to_hex(1735689600000 + {number}), 12, '0')"
    return (
        f"substr({hexadecimal}, 1, 8) || '-' || substr({hexadecimal}, 9, 4)"
        f" || '-7000-8{kind}0-000000000000'"
    )


_SUBJECT = f"'subject-' || lpad((((n - 1) / {BATCH}) %% {SUBJECTS})::text, 4, '0')"
_BATCH_ID = _id("b0", f"((n - 1) / {BATCH}) * {BATCH}")
_AT = "timestamptz '2025-01-01' + (n / 1000.0) * interval '1 second'"
_SERIES = "generate_series(%(first)s::bigint, %(last)s) AS n"

_BATCHES = f"""
INSERT INTO batch (id, type, name, created_at, updated_at, created_by, updated_by)
SELECT {_BATCH_ID}, 'page_import', NULL, {_AT}, {_AT}, {_SUBJECT}, {_SUBJECT}
FROM generate_series(%(first)s::bigint, %(last)s, {BATCH}) AS n"""

_ITEMS = f"""
INSERT INTO batch_item (id, batch_id, position, request, job_id, message, dispatched_at,
    lease_until, dispatch_attempts, created_at, updated_at, created_by, updated_by)
SELECT {_id("e0")}, {_BATCH_ID}, (n - 1) %% {BATCH}, '{{"file_name": "a.pdf"}}', {_id("c0")},
    jsonb_build_object('schema', 1, 'type', 'page_import', 'import_id', {_id("c0")},
        'object_key', 'imports/' || {_id("c0")} || '/source', 'bucket', 'torikomi'),
    {_AT}, {_AT} + interval '90 seconds', 1, {_AT}, {_AT}, {_SUBJECT}, 'scheduler'
FROM {_SERIES}"""

_CHILDREN = f"""
INSERT INTO page_import (id, batch_id, status, bucket, object_key, file_name, content_type,
    detected_type, size_bytes, sha256, stored_at, started_at, completed_at, result_sha256, run,
    last_report_at, page_count, created_at, updated_at, created_by, updated_by)
SELECT {_id("c0")}, {_BATCH_ID}, 'completed', 'torikomi', 'imports/' || {_id("c0")} || '/source',
    'a.pdf', 'application/pdf', 'application/pdf', 10000, repeat(md5(n::text), 2), {_AT}, {_AT},
    {_AT}, repeat(md5(n::text), 2), 1, {_AT}, 3, {_AT}, {_AT}, {_SUBJECT}, 'worker'
FROM {_SERIES}"""

#: One batch of many items of one subject, every tenth still waiting for its worker.
BIG_BATCH = "01941f29-7c00-7000-8bb0-000000000000"
BIG_SUBJECT = "subject-big"
_BIG = tuple(
    statement.replace(_BATCH_ID, f"'{BIG_BATCH}'")
    .replace(f"(n - 1) %% {BATCH}", "n - %(first)s")
    .replace(_SUBJECT, f"'{BIG_SUBJECT}'")
    .replace(
        "'completed', 'torikomi'",
        "CASE n %% 10 WHEN 0 THEN 'queued' ELSE 'completed' END, 'torikomi'",
    )
    for statement in (_ITEMS, _CHILDREN)
)


def fill(url: str, rows: int, *, chunk: int = 500_000, first: int = 1) -> float:
    """Add that many dispatched and completed items, numbered from `first`; return the seconds."""
    begun = time.monotonic()
    connection = psycopg2.connect(url)
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET maintenance_work_mem = '1GB'; SET synchronous_commit = off")
            definitions = _drop_indexes(cursor) if rows >= chunk else []
            for start in range(first, first + rows, chunk):
                part = {"first": start, "last": min(first + rows, start + chunk) - 1}
                for statement in (_BATCHES, _ITEMS, _CHILDREN):
                    cursor.execute(statement, part)
            for definition in definitions:
                cursor.execute(definition)
            cursor.execute("VACUUM (ANALYZE) batch, batch_item, page_import")
            cursor.execute("CHECKPOINT")
    finally:
        connection.close()
    return time.monotonic() - begun


def add_big_batch(url: str, items: int) -> None:
    """Add one batch of that many items of one subject."""
    first = 50_000_001
    part = {"first": first, "last": first + items - 1}
    connection = psycopg2.connect(url)
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                """INSERT INTO batch (id, type, created_by, updated_by)
                   VALUES (%s, 'page_import', %s, %s)""",
                (BIG_BATCH, BIG_SUBJECT, BIG_SUBJECT),
            )
            for statement in _BIG:
                cursor.execute(statement, part)
            cursor.execute("VACUUM (ANALYZE) batch_item, page_import")
    finally:
        connection.close()


def _drop_indexes(cursor: Any) -> list[str]:
    """Drop indexes and foreign keys of the large tables; return what makes them again."""
    cursor.execute(
        """SELECT format('ALTER TABLE %%s DROP CONSTRAINT %%I', conrelid::regclass, conname),
                  format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s',
                         conrelid::regclass, conname, pg_get_constraintdef(oid))
           FROM pg_constraint WHERE contype IN ('f', 'p')
             AND (conrelid::regclass::text = ANY(%s) OR confrelid::regclass::text = ANY(%s))
           ORDER BY contype""",
        (list(_TABLES), list(_TABLES)),
    )
    constraints = cursor.fetchall()
    cursor.execute(
        """SELECT format('DROP INDEX %%I', indexname), indexdef FROM pg_indexes
           WHERE schemaname = 'public' AND tablename = ANY(%s)
             AND indexname NOT IN (SELECT conname FROM pg_constraint)""",
        (list(_TABLES),),
    )
    indexes = cursor.fetchall()
    for drop, _ in [*constraints, *indexes]:
        cursor.execute(drop)
    keys_last = sorted(constraints, key=lambda pair: "FOREIGN KEY" in pair[1])
    return [make for _, make in [*indexes, *keys_last]]
