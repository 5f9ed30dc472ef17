"""Keep the texts a design document was made from, so that its places can be looked up.

Rows come with the design, in its transaction, and go with it. `number` is the order of the paths.
"""

from typing import Any


def up(migrator: Any, db: Any) -> None:  # Peewee's runner passes untyped objects
    db.execute_sql("""
        CREATE TABLE code2des_source (
            code2des_id varchar(255) NOT NULL REFERENCES code2des (id) ON DELETE CASCADE,
            number integer NOT NULL,
            path text NOT NULL,
            content text NOT NULL,
            created_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
            updated_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
            deleted_at timestamptz,
            created_by varchar(50) NOT NULL,
            updated_by varchar(50) NOT NULL,
            deleted_by varchar(50),
            PRIMARY KEY (code2des_id, number)
        )
    """)
