"""Find a page of a batch's items in one state without walking the batch.

Children are found by (batch, status) in the order of their IDs; the items that say something else
than their child likewise. Writers wait meanwhile, some ten seconds for ten million rows: building
the indexes concurrently would wait for the other release, which waits for this one.
"""

from typing import Any

_INDEXES = (
    ("page_import_state_idx", "page_import (batch_id, status, id)", "page_import_batch_idx"),
    ("code2des_state_idx", "code2des (batch_id, status, id)", "code2des_batch_idx"),
    (
        "batch_item_differing_idx",
        "batch_item (batch_id, job_id) WHERE cancelled_at IS NOT NULL OR error_message IS NOT NULL",
        "batch_item_odd_idx",
    ),
)


def up(migrator: Any, db: Any) -> None:  # Peewee's runner passes untyped objects
    db.execute_sql("SET LOCAL statement_timeout = '120s'")
    db.execute_sql("""
        CREATE INDEX batch_item_given_up_idx ON batch_item (batch_id, job_id)
            WHERE error_message IS NOT NULL
    """)
    for name, columns, before in _INDEXES:
        db.execute_sql(f"CREATE INDEX {name} ON {columns}")
        db.execute_sql(f"DROP INDEX {before}")
