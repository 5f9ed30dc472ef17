"""Remember that retention took the source or the result of an import.

The marks are set before the objects go, so a reader is told 410 and never finds half of it.
"""

from typing import Any


def up(migrator: Any, db: Any) -> None:  # Peewee's runner passes untyped objects
    for table in ("page_import", "code2des"):
        db.execute_sql(f"""
            ALTER TABLE {table}
                ADD COLUMN source_expired_at timestamptz,
                ADD COLUMN result_expired_at timestamptz;
            CREATE INDEX {table}_source_kept_idx ON {table} (created_at)
                WHERE source_expired_at IS NULL;
            CREATE INDEX {table}_result_kept_idx ON {table} (created_at)
                WHERE result_expired_at IS NULL AND status = 'completed';
        """)
