"""Outgoing events, written by the transition that they tell of, in its own transaction.

An event holds a snapshot of what a reader would have been shown at that moment, so what is sent
later does not depend on when it is sent. Subjects without an endpoint cost one look-up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from models.batches import get_batch
from models.children import CHILD_COLUMNS
from models.database import execute, fetch
from models.endpoints import TEST_EVENT, EndpointView, EventType
from models.ids import uuid7
from models.locks import Locked

#: Children per statement: a batch of 100,000 can be cancelled at once.
_CHUNK = 5000

#: Who is told: every enabled endpoint of the subject that asked for it.
_TELL = """
    INSERT INTO delivery (endpoint_id, event_id, created_by, updated_by)
    SELECT e.id, happened.id, e.created_by, %(component)s
    FROM happened JOIN endpoint e ON e.created_by = %(owner)s
    WHERE e.enabled AND e.deleted_at IS NULL AND %(type)s = ANY(e.event_types)"""


def announce(rows: Sequence[Locked], ending: str, *, component: str) -> None:
    """Record that these children of one batch have just ended; `ending` is their state's word.

    Needs the transaction that ended them, after its last lock and its last write to them.
    """
    if not rows:
        return
    owner = rows[0].owner
    wanted = _wanted(owner)
    event_type = f"import.{ending}"
    if event_type in wanted:
        for start in range(0, len(rows), _CHUNK):
            _children_ended(rows[start : start + _CHUNK], event_type, owner, component)
    if EventType.BATCH_COMPLETED in wanted and _nothing_is_live(rows[0]):
        view = asdict(get_batch(owner, rows[0].batch_id))
        record(EventType.BATCH_COMPLETED, view, owner=owner, component=component)


def _wanted(owner: str) -> set[str]:
    rows = fetch(
        """SELECT DISTINCT unnest(event_types) AS type FROM endpoint
           WHERE created_by = %s AND enabled AND deleted_at IS NULL""",
        (owner,),
    )
    return {row["type"] for row in rows}


def _children_ended(rows: Sequence[Locked], event_type: str, owner: str, component: str) -> None:
    execute(
        f"""WITH shown AS (
                SELECT {CHILD_COLUMNS} FROM {rows[0].type} c JOIN batch_item i ON i.job_id = c.id
                WHERE c.id = ANY(%(children)s)
            ), happened AS (
                INSERT INTO outgoing_event (id, type, snapshot, created_by, updated_by)
                SELECT made.event_id, %(type)s,
                       to_jsonb(shown) - 'document' || jsonb_build_object('type', %(kind)s::text),
                       %(owner)s, %(component)s
                FROM shown JOIN unnest(%(children)s, %(events)s) AS made (child_id, event_id)
                    ON made.child_id = shown.id
                RETURNING id
            ){_TELL}""",
        {
            "children": [row.child_id for row in rows],
            "events": [uuid7() for _ in rows],
            "type": event_type,
            "kind": str(rows[0].type),
            "owner": owner,
            "component": component,
        },
    )


def _nothing_is_live(row: Locked) -> bool:
    """Tell whether the batch has just ended. Of transactions that end its items, one sees that.

    They pass here one at a time, as the last thing that they lock, and each sees what those
    before it have committed.
    """
    execute("SELECT pg_advisory_xact_lock(hashtextextended('ends:' || %s, 0))", (row.batch_id,))
    return not fetch(
        f"""SELECT 1 AS live FROM {row.type} c JOIN batch_item i ON i.job_id = c.id
            WHERE c.batch_id = %s AND c.status IN ('queued', 'processing')
              AND i.cancelled_at IS NULL AND i.error_message IS NULL LIMIT 1""",
        (row.batch_id,),
    )


def record(event_type: str, snapshot: Mapping[str, Any], *, owner: str, component: str) -> str:
    """Record one event with its deliveries and return its ID. Needs an open transaction."""
    event_id = uuid7()
    execute(
        f"WITH happened AS ({_HAPPENED} RETURNING id){_TELL}",
        _event(event_id, event_type, snapshot, owner, component),
    )
    return event_id


def record_test(endpoint: EndpointView, *, owner: str) -> str:
    """Record a test for one endpoint and return the event's ID. Needs an open transaction."""
    event_id = uuid7()
    execute(_HAPPENED, _event(event_id, TEST_EVENT, asdict(endpoint), owner, owner))
    execute(
        """INSERT INTO delivery (endpoint_id, event_id, created_by, updated_by)
           VALUES (%s, %s, %s, %s)""",
        (endpoint.id, event_id, owner, owner),
    )
    return event_id


_HAPPENED = """INSERT INTO outgoing_event (id, type, snapshot, created_by, updated_by)
    VALUES (%(id)s, %(type)s, %(snapshot)s::jsonb, %(owner)s, %(component)s)"""


def _event(
    event_id: str, event_type: str, snapshot: Mapping[str, Any], owner: str, component: str
) -> dict[str, str]:
    return {
        "id": event_id,
        "type": event_type,
        "snapshot": json.dumps(snapshot, default=_plain, ensure_ascii=False),
        "owner": owner,
        "component": component,
    }


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not part of a snapshot")
