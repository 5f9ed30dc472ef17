"""Find the items of a batch that say something else than their child.

The counts of a batch of 100,000 items then come from the children's index alone.
"""

from typing import Any


def up(migrator: Any, db: Any) -> None:  # Peewee's runner passes untyped objects
    db.execute_sql("""
        CREATE INDEX batch_item_odd_idx ON batch_item (batch_id)
            WHERE cancelled_at IS NOT NULL OR error_message IS NOT NULL
    """)
