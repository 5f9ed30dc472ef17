"""Files that a client puts into S3 itself: promised by size and SHA-256, verified, then used once.

An upload's ID becomes the ID of its child, so the object stays where it is. The content indexes
find a subject's earlier import of the same bytes; no release has had tables large enough to need
them built concurrently.
"""

from typing import Any

AUDIT = """
    created_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    deleted_at timestamptz,
    created_by varchar(50) NOT NULL,
    updated_by varchar(50) NOT NULL,
    deleted_by varchar(50)
"""


def up(migrator: Any, db: Any) -> None:  # Peewee's runner passes untyped objects
    db.execute_sql(f"""
        CREATE TABLE upload (
            id varchar(255) PRIMARY KEY,
            file_name text NOT NULL,
            content_type text NOT NULL,
            size_bytes bigint NOT NULL,
            sha256 varchar(64) NOT NULL,
            object_version text,
            verified_at timestamptz,
            used_at timestamptz,
            expires_at timestamptz NOT NULL,
            {AUDIT}
        );
        CREATE INDEX upload_expires_idx ON upload (expires_at);
    """)
    for table in ("page_import", "code2des"):
        db.execute_sql(f"""
            CREATE INDEX {table}_content_idx ON {table} (created_by, sha256)
                WHERE deleted_at IS NULL
        """)
