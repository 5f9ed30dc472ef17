"""Create every table of the import path.

batch_item has exactly the columns of its source table. Two partial or extra indexes are ours:
`batch_item_pending_idx` keeps a claim independent of the table's size and lets it take turns
between subjects; `batch_item_job_idx` finds the item of a child. Children carry batch_id so that
the counts of a large batch come from one index range.
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
#: A transition happens when its locks are held, not when its transaction began to wait for them.
CLOCK_AUDIT = AUDIT.replace("CURRENT_TIMESTAMP", "clock_timestamp()")
#: Machine-made rows have no subject: nothing of ours writes created_by there.
MACHINE_AUDIT = AUDIT.replace("created_by varchar(50) NOT NULL", "created_by varchar(50)")

BATCH = f"""
CREATE TABLE batch (
    id varchar(255) PRIMARY KEY,
    type text NOT NULL CHECK (type IN ('page_import', 'code2des')),
    name text,
    {AUDIT}
);
CREATE INDEX batch_subject_idx ON batch (created_by, created_at DESC, id DESC)
    WHERE deleted_at IS NULL;

CREATE TABLE batch_item (
    id varchar(255) PRIMARY KEY,
    batch_id varchar(255) NOT NULL REFERENCES batch (id) ON DELETE CASCADE,
    position integer NOT NULL,
    request jsonb NOT NULL,
    job_id varchar(255),
    message jsonb,
    dispatched_at timestamptz,
    lease_until timestamptz,
    dispatch_attempts integer NOT NULL DEFAULT 0,
    error_message text,
    cancelled_at timestamptz,
    {AUDIT}
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX batch_item_batch_idx ON batch_item (batch_id, position);
CREATE INDEX batch_item_dispatch_idx ON batch_item (dispatched_at, lease_until);
CREATE INDEX batch_item_job_idx ON batch_item (job_id);
CREATE INDEX batch_item_pending_idx ON batch_item (created_by, id)
    WHERE dispatched_at IS NULL AND cancelled_at IS NULL
      AND error_message IS NULL AND deleted_at IS NULL;
"""


def child_table(name: str) -> str:
    return f"""
CREATE TABLE {name} (
    id varchar(255) PRIMARY KEY,
    batch_id varchar(255) NOT NULL REFERENCES batch (id) ON DELETE CASCADE,
    status text NOT NULL DEFAULT 'queued'
        CHECK (status IN ('queued', 'processing', 'completed', 'failed')),
    bucket text NOT NULL,
    object_key text NOT NULL,
    object_version text,
    file_name text NOT NULL,
    content_type text NOT NULL,
    detected_type text,
    size_bytes bigint NOT NULL,
    sha256 varchar(64) NOT NULL,
    stored_at timestamptz NOT NULL,
    started_at timestamptz,
    completed_at timestamptz,
    error_code text,
    error_message text,
    result_sha256 varchar(64),
    run integer NOT NULL DEFAULT 1,
    last_report_at timestamptz,
    progress_done integer,
    progress_total integer,
    page_count integer,
    document jsonb,
    {AUDIT}
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX {name}_batch_idx ON {name} (batch_id, status);
CREATE INDEX {name}_live_idx ON {name} (last_report_at)
    WHERE status IN ('queued', 'processing');
CREATE INDEX {name}_report_idx ON {name} (last_report_at)
    WHERE last_report_at IS NOT NULL;
"""


RESULTS = f"""
CREATE TABLE page (
    page_import_id varchar(255) NOT NULL REFERENCES page_import (id) ON DELETE CASCADE,
    number integer NOT NULL,
    text text NOT NULL,
    markdown text NOT NULL,
    tables jsonb NOT NULL,
    warnings jsonb NOT NULL,
    width double precision,
    height double precision,
    {AUDIT},
    PRIMARY KEY (page_import_id, number)
);
CREATE TABLE code2des_design (
    code2des_id varchar(255) PRIMARY KEY REFERENCES code2des (id) ON DELETE CASCADE,
    design jsonb NOT NULL,
    markdown_ja text NOT NULL,
    markdown_en text NOT NULL,
    {AUDIT}
);
CREATE TABLE job_event (
    id varchar(255) PRIMARY KEY,
    batch_id varchar(255) NOT NULL REFERENCES batch (id) ON DELETE CASCADE,
    child_id varchar(255) NOT NULL,
    run integer NOT NULL,
    component varchar(50) NOT NULL,
    event text NOT NULL,
    from_status text,
    to_status text NOT NULL,
    detail text,
    {CLOCK_AUDIT}
);
CREATE INDEX job_event_child_idx ON job_event (child_id, created_at, id);
"""

PEOPLE = f"""
CREATE TABLE idempotency_key (
    subject varchar(50) NOT NULL,
    key varchar(255) NOT NULL,
    owner_token varchar(255) NOT NULL,
    lease_until timestamptz,
    fingerprint varchar(64),
    response jsonb,
    {AUDIT},
    PRIMARY KEY (subject, key)
);
CREATE INDEX idempotency_key_created_idx ON idempotency_key (created_at);
CREATE TABLE session (
    token_hash varchar(64) PRIMARY KEY,
    subject varchar(50) NOT NULL,
    username text NOT NULL,
    csrf_seed varchar(64) NOT NULL,
    idle_until timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    {AUDIT}
);
CREATE INDEX session_expires_idx ON session (expires_at);
"""

MACHINES = f"""
CREATE TABLE process_status (
    name varchar(255) PRIMARY KEY,
    kind text NOT NULL,
    data jsonb NOT NULL,
    seen_at timestamptz NOT NULL,
    {MACHINE_AUDIT}
);
"""


def up(migrator: Any, db: Any) -> None:  # Peewee's runner passes untyped objects
    for sql in (
        BATCH,
        child_table("page_import"),
        child_table("code2des"),
        RESULTS,
        PEOPLE,
        MACHINES,
    ):
        db.execute_sql(sql)
