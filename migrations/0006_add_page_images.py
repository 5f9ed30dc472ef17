"""Say which picture a page has, and where its text comes from.

`image` is {sha256, media_type, width, height, size_bytes}; pages of earlier releases have none and
their text is the file's own.
"""

from typing import Any


def up(migrator: Any, db: Any) -> None:  # Peewee's runner passes untyped objects
    db.execute_sql("""
        ALTER TABLE page
            ADD COLUMN image jsonb,
            ADD COLUMN source varchar(10) NOT NULL DEFAULT 'text',
            ADD COLUMN confidence double precision
    """)
