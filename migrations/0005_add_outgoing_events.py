"""Outgoing events: endpoints of subjects, what happened, who is told, and each try to tell.

An event and its deliveries are inserted by the transition that they tell of. `delivery_due_idx`
finds what is due endpoint by endpoint, so endpoints take turns; `delivery_lease_idx` counts what
is under way.
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

ENDPOINT = f"""
CREATE TABLE endpoint (
    id varchar(255) PRIMARY KEY,
    url text NOT NULL,
    event_types text[] NOT NULL,
    description text,
    language text NOT NULL CHECK (language IN ('ja', 'en')),
    enabled boolean NOT NULL DEFAULT true,
    disabled_at timestamptz,
    disabled_reason text CHECK (disabled_reason IN ('owner', 'gone', 'failing')),
    secret text NOT NULL,
    previous_secret text,
    previous_until timestamptz,
    failing_since timestamptz,
    {AUDIT}
);
CREATE INDEX endpoint_subject_idx ON endpoint (created_by, id) WHERE deleted_at IS NULL;
"""

EVENT = f"""
CREATE TABLE outgoing_event (
    id varchar(255) PRIMARY KEY,
    type text NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    snapshot jsonb NOT NULL,
    {AUDIT}
);
CREATE INDEX outgoing_event_created_idx ON outgoing_event (created_at);
"""

DELIVERY = f"""
CREATE TABLE delivery (
    endpoint_id varchar(255) NOT NULL REFERENCES endpoint (id) ON DELETE CASCADE,
    event_id varchar(255) NOT NULL REFERENCES outgoing_event (id) ON DELETE CASCADE,
    state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
    attempts integer NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_until timestamptz,
    error text,
    ended_at timestamptz,
    {AUDIT},
    PRIMARY KEY (endpoint_id, event_id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX delivery_due_idx ON delivery (endpoint_id, due_at) WHERE state = 'pending';
CREATE INDEX delivery_lease_idx ON delivery (endpoint_id, lease_until)
    WHERE state = 'pending' AND lease_until IS NOT NULL;
CREATE INDEX delivery_event_idx ON delivery (event_id);

CREATE TABLE delivery_attempt (
    endpoint_id varchar(255) NOT NULL,
    event_id varchar(255) NOT NULL,
    number integer NOT NULL,
    status integer,
    error text,
    duration_ms integer,
    answer text,
    {AUDIT},
    PRIMARY KEY (endpoint_id, event_id, number),
    FOREIGN KEY (endpoint_id, event_id) REFERENCES delivery (endpoint_id, event_id)
        ON DELETE CASCADE
);
"""


def up(migrator: Any, db: Any) -> None:  # Peewee's runner passes untyped objects
    for statements in (ENDPOINT, EVENT, DELIVERY):
        db.execute_sql(statements)
