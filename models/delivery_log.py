"""What was told to an endpoint and how it went: the log, a test, a replay, and forgetting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from models.announcements import record_test
from models.cursors import decode_cursor, encode_cursor
from models.database import connection, execute, fetch, transaction
from models.endpoints import EndpointView, get_endpoint, lock_endpoint
from models.errors import Conflict, NotFound
from models.outbox import COMPONENT


class DeliveryState(StrEnum):
    """Where a delivery is: it may be tried again, was taken, or was given up."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class AttemptView:
    """One attempt. `error` says why there was no answer; `answer` is the beginning of one."""

    number: int
    at: datetime
    status: int | None
    error: str | None
    duration_ms: int | None
    answer: str | None


@dataclass(frozen=True, kw_only=True)
class DeliveryView:
    """One event on its way to one endpoint. `due_at` is None when nothing more will be tried."""

    endpoint_id: str
    event_id: str
    type: str
    state: str
    attempts: int
    error: str | None
    last_status: int | None
    occurred_at: datetime
    due_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class DeliveryStory:
    """A delivery with every attempt, and what its event is made of."""

    delivery: DeliveryView
    attempts: Sequence[AttemptView]
    snapshot: Mapping[str, Any]
    language: str


#: The columns of DeliveryView over `d` (delivery) and `v` (outgoing_event).
_COLUMNS = """d.endpoint_id, d.event_id, v.type, d.state, d.attempts, d.error, v.occurred_at,
    CASE WHEN d.state = 'pending' THEN d.due_at END AS due_at, d.ended_at,
    (SELECT a.status FROM delivery_attempt a
     WHERE a.endpoint_id = d.endpoint_id AND a.event_id = d.event_id
     ORDER BY a.number DESC LIMIT 1) AS last_status"""


def list_deliveries(
    subject: str,
    endpoint_id: str,
    *,
    state: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> tuple[list[DeliveryView], str | None]:
    """Return a page of an endpoint's deliveries, newest event first, and the next cursor or None.

    Raises NotFound, Conflict("cursor_invalid").
    """
    before = str(decode_cursor(cursor, (str,))[0]) if cursor is not None else "~"
    with connection():
        get_endpoint(subject, endpoint_id)
        rows = fetch(
            f"""SELECT {_COLUMNS} FROM delivery d JOIN outgoing_event v ON v.id = d.event_id
                WHERE d.endpoint_id = %(id)s AND d.event_id < %(before)s
                  AND (%(state)s::text IS NULL OR d.state = %(state)s)
                ORDER BY d.event_id DESC LIMIT %(limit)s""",
            {"id": endpoint_id, "before": before, "state": state, "limit": limit + 1},
        )
    views = [DeliveryView(**row) for row in rows[:limit]]
    return views, encode_cursor(views[-1].event_id) if len(rows) > limit else None


def get_delivery(subject: str, endpoint_id: str, event_id: str) -> DeliveryStory:
    """Return one delivery of the subject's endpoint with its attempts. Raises NotFound."""
    with connection():
        endpoint = get_endpoint(subject, endpoint_id)
        rows = fetch(
            f"""SELECT {_COLUMNS}, v.snapshot
                FROM delivery d JOIN outgoing_event v ON v.id = d.event_id
                WHERE d.endpoint_id = %s AND d.event_id = %s""",
            (endpoint_id, event_id),
        )
        if not rows:
            raise NotFound(event_id)
        attempts = fetch(
            """SELECT number, created_at AS at, status, error, duration_ms, answer
               FROM delivery_attempt WHERE endpoint_id = %s AND event_id = %s ORDER BY number""",
            (endpoint_id, event_id),
        )
    snapshot = rows[0].pop("snapshot")
    return DeliveryStory(
        delivery=DeliveryView(**rows[0]),
        attempts=[AttemptView(**attempt) for attempt in attempts],
        snapshot=snapshot,
        language=endpoint.language,
    )


def send_test(subject: str, endpoint_id: str) -> str:
    """Have a test event sent to one endpoint; returns the event's ID.

    Raises NotFound, Conflict("endpoint_disabled").
    """
    with transaction():
        endpoint = _enabled(lock_endpoint(subject, endpoint_id))
        return record_test(endpoint, owner=subject)


def _enabled(endpoint: EndpointView) -> EndpointView:
    if not endpoint.enabled:
        raise Conflict("endpoint_disabled")
    return endpoint


#: The same event again, from its first attempt; one that is being sent just now is left alone.
_AGAIN = """UPDATE delivery SET state = 'pending', attempts = 0, error = NULL, ended_at = NULL,
        due_at = clock_timestamp(), lease_until = NULL,
        updated_at = clock_timestamp(), updated_by = %(subject)s
    WHERE endpoint_id = %(endpoint_id)s
      AND (lease_until IS NULL OR lease_until < clock_timestamp())"""


def replay(subject: str, endpoint_id: str, event_id: str) -> None:
    """Have one event sent again under its own ID, whatever became of it before.

    Raises NotFound, Conflict("endpoint_disabled").
    """
    with transaction():
        endpoint = lock_endpoint(subject, endpoint_id)
        found = fetch(
            "SELECT 1 AS found FROM delivery WHERE endpoint_id = %s AND event_id = %s FOR UPDATE",
            (endpoint_id, event_id),
        )
        if not found:
            raise NotFound(event_id)
        _enabled(endpoint)
        execute(
            f"{_AGAIN} AND event_id = %(event_id)s",
            {"subject": subject, "endpoint_id": endpoint_id, "event_id": event_id},
        )


def replay_failed(subject: str, endpoint_id: str, since: datetime) -> int:
    """Have everything sent again that failed and happened since then; returns how many.

    Raises NotFound, Conflict("endpoint_disabled").
    """
    with transaction():
        _enabled(lock_endpoint(subject, endpoint_id))
        return execute(
            f"""{_AGAIN} AND state = 'failed' AND event_id IN (
                    SELECT v.id FROM outgoing_event v JOIN delivery d ON d.event_id = v.id
                    WHERE d.endpoint_id = %(endpoint_id)s AND d.state = 'failed'
                      AND v.occurred_at >= %(since)s)""",
            {"subject": subject, "endpoint_id": endpoint_id, "since": since},
        )


def forget_events(*, keep_days: float, limit: int) -> int:
    """Delete events that old with their deliveries and attempts; returns how many events."""
    with connection():
        return execute(
            """DELETE FROM outgoing_event WHERE id IN (
                   SELECT id FROM outgoing_event
                   WHERE created_at < clock_timestamp() - %s * interval '1 day'
                   ORDER BY created_at LIMIT %s FOR UPDATE SKIP LOCKED)""",
            (keep_days, limit),
        )


def fail_stranded() -> int:
    """Fail what was announced while its endpoint was being disabled or deleted; how many."""
    with connection():
        return execute(
            f"""UPDATE delivery d SET state = 'failed', error = 'endpoint_disabled',
                    lease_until = NULL, ended_at = clock_timestamp(),
                    updated_at = clock_timestamp(), updated_by = '{COMPONENT}'
                FROM endpoint e WHERE e.id = d.endpoint_id AND d.state = 'pending'
                  AND (NOT e.enabled OR e.deleted_at IS NOT NULL)"""
        )
