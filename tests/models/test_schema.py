"""The migrations make exactly the schema that is written down."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import SecretStr

from local.binaries import find_programs
from models import database as db
from models.settings import DatabaseSettings
from tests.builders import rows

SCHEMA = Path(__file__).parents[2] / "migrations" / "schema.sql"

#: The source table, row by row: column, type, nullable, default.
BATCH_ITEM = [
    ("id", "character varying", 255, "NO", None),
    ("batch_id", "character varying", 255, "NO", None),
    ("position", "integer", None, "NO", None),
    ("request", "jsonb", None, "NO", None),
    ("job_id", "character varying", 255, "YES", None),
    ("message", "jsonb", None, "YES", None),
    ("dispatched_at", "timestamp with time zone", None, "YES", None),
    ("lease_until", "timestamp with time zone", None, "YES", None),
    ("dispatch_attempts", "integer", None, "NO", "0"),
    ("error_message", "text", None, "YES", None),
    ("cancelled_at", "timestamp with time zone", None, "YES", None),
    ("created_at", "timestamp with time zone", None, "NO", "CURRENT_TIMESTAMP"),
    ("updated_at", "timestamp with time zone", None, "NO", "CURRENT_TIMESTAMP"),
    ("deleted_at", "timestamp with time zone", None, "YES", None),
    ("created_by", "character varying", 50, "NO", None),
    ("updated_by", "character varying", 50, "NO", None),
    ("deleted_by", "character varying", 50, "YES", None),
]


def dump(url: str) -> str:
    """The schema as pg_dump writes it, without what differs from run to run."""
    text = subprocess.run(
        [find_programs() / "pg_dump", "--schema-only", "--no-owner", "--no-acl", url],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    noise = ("--", "SET ", "SELECT pg_catalog", "\\restrict", "\\unrestrict")
    kept = [line for line in text.splitlines() if line and not line.startswith(noise)]
    return "\n".join(kept) + "\n"


def test_migrating_from_zero_gives_the_golden_schema(database):
    assert dump(database) == SCHEMA.read_text("utf-8")


def test_batch_item_has_exactly_the_columns_of_its_source_table(database):
    found = rows(
        """SELECT column_name, data_type, character_maximum_length AS length, is_nullable,
                  column_default
           FROM information_schema.columns WHERE table_name = 'batch_item'
           ORDER BY ordinal_position"""
    )
    assert [tuple(row.values()) for row in found] == BATCH_ITEM


def test_batch_item_has_both_indexes_of_its_source_table_by_name(database):
    found = {
        row["indexname"]: row["indexdef"].split(" USING btree ")[1]
        for row in rows("SELECT * FROM pg_indexes WHERE tablename = 'batch_item'")
    }
    assert found["batch_item_batch_idx"] == '(batch_id, "position")'
    assert found["batch_item_dispatch_idx"] == "(dispatched_at, lease_until)"


def test_every_table_carries_the_audit_fields(database):
    audit = {row[0] for row in BATCH_ITEM[-6:]}
    tables = rows(
        """SELECT table_name, array_agg(column_name::text) AS columns
           FROM information_schema.columns WHERE table_schema = 'public'
           AND table_name <> 'schema_migration' GROUP BY table_name"""
    )
    assert len(tables) >= 10
    for table in tables:
        assert audit <= set(table["columns"]), table["table_name"]


def test_deleting_a_batch_row_deletes_its_items(database):
    from tests.builders import change, register

    batch_id, _ = register(3)
    change("DELETE FROM batch WHERE id = %s", (batch_id,))
    assert rows("SELECT id FROM batch_item") == []


@pytest.mark.usefixtures("database")
def test_two_releases_at_once_migrate_once(postgres, database_url):
    postgres.create_database("released_twice")
    try:
        db.configure(DatabaseSettings(database_url=SecretStr(postgres.url("released_twice"))))
        with ThreadPoolExecutor(4) as pool:
            applied = [f.result() for f in [pool.submit(db.migrate) for _ in range(4)]]
        assert sorted(map(len, applied))[-2:] == [0, len(list(SCHEMA.parent.glob("0*.py")))]
        assert db.schema_is_current()
    finally:
        db.configure(DatabaseSettings(database_url=SecretStr(database_url)))
