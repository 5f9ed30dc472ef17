"""The outbox of outgoing events: claim, then send outside, then settle.

A claim leases a delivery on the database clock and counts the attempt; whoever settles it must
show the lease. Endpoints take turns, and each has only a few deliveries under way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from models import announcements, endpoints
from models.database import connection, execute, fetch, retried, transaction
from models.endpoints import ENDPOINT_COLUMNS, EndpointView, EventType
from models.outbox import COMPONENT, WALK_IN_ORDER

#: Longer than the longest attempt, so that a delivery under way is not sent twice.
LEASE_SECONDS = 90
#: Deliveries to one endpoint under way at once; one that fails gets a single one.
PER_ENDPOINT = 4


@dataclass(frozen=True, kw_only=True)
class Claimed:
    """One leased delivery and all that is needed to send it."""

    endpoint_id: str
    event_id: str
    attempts: int
    lease_until: datetime
    url: str
    secrets: Sequence[str]
    language: str
    type: str
    occurred_at: datetime
    snapshot: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """How one attempt ended. `error` is a stable word when there was no answer at all."""

    status: int | None
    error: str | None
    duration_ms: int
    answer: str | None = None
    retry_after_seconds: float | None = None

    @property
    def delivered(self) -> bool:
        """Whether the endpoint has taken it."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def gone(self) -> bool:
        """Whether the endpoint wants nothing more, ever: HTTP 410."""
        return self.status == 410


#: Endpoints with pending deliveries are found by hopping along delivery_due_idx; each gets what is
#: free of its own few places. A claimed row is due again only when its lease is over.
CLAIM = f"""
WITH RECURSIVE waiting (endpoint_id) AS (
    (SELECT endpoint_id FROM delivery WHERE state = 'pending' ORDER BY endpoint_id LIMIT 1)
    UNION ALL
    SELECT (SELECT endpoint_id FROM delivery
            WHERE state = 'pending' AND endpoint_id > w.endpoint_id ORDER BY endpoint_id LIMIT 1)
    FROM waiting w WHERE w.endpoint_id IS NOT NULL
), turns AS (
    SELECT e.id AS endpoint_id,
           CASE WHEN e.failing_since IS NULL THEN %(per_endpoint)s ELSE 1 END
           - (SELECT count(*) FROM delivery d WHERE d.endpoint_id = e.id AND d.state = 'pending'
                  AND d.lease_until >= clock_timestamp()) AS free
    FROM waiting w JOIN endpoint e ON e.id = w.endpoint_id
    WHERE e.enabled AND e.deleted_at IS NULL ORDER BY random()
), due AS MATERIALIZED (
    SELECT item.endpoint_id, item.event_id FROM turns CROSS JOIN LATERAL (
        SELECT endpoint_id, event_id FROM delivery
        WHERE state = 'pending' AND endpoint_id = turns.endpoint_id
          AND due_at <= clock_timestamp() AND attempts < %(max_attempts)s
        ORDER BY due_at LIMIT greatest(turns.free, 0) FOR UPDATE SKIP LOCKED
    ) AS item LIMIT %(limit)s
)
UPDATE delivery d
SET lease_until = now.at, due_at = now.at, attempts = d.attempts + 1,
    updated_at = clock_timestamp(), updated_by = '{COMPONENT}'
FROM due JOIN endpoint e ON e.id = due.endpoint_id JOIN outgoing_event v ON v.id = due.event_id,
     (SELECT clock_timestamp() + {LEASE_SECONDS} * interval '1 second' AS at) AS now
WHERE d.endpoint_id = due.endpoint_id AND d.event_id = due.event_id
RETURNING d.endpoint_id, d.event_id, d.attempts, d.lease_until, e.url, e.language,
          CASE WHEN e.previous_until > clock_timestamp() THEN ARRAY[e.secret, e.previous_secret]
               ELSE ARRAY[e.secret] END AS secrets,
          v.type, v.occurred_at, v.snapshot
"""


def claim(limit: int, *, max_attempts: int, per_endpoint: int = PER_ENDPOINT) -> list[Claimed]:
    """Lease up to `limit` due deliveries and count the attempt; opens its own transaction.

    Rows that another scheduler has locked are skipped, never waited for.
    """
    with transaction():
        execute(WALK_IN_ORDER)
        rows = fetch(
            CLAIM, {"limit": limit, "max_attempts": max_attempts, "per_endpoint": per_endpoint}
        )
    return [Claimed(**row) for row in rows]


@retried
def settle(
    claimed: Claimed,
    attempt: Attempt,
    *,
    retry_seconds: float | None,
    failing_days: float,
) -> str | None:
    """Write down how an attempt ended; returns the delivery's state, None when the lease was lost.

    `retry_seconds` is the pause before the next attempt, None after the last one. An endpoint that
    says 410, or has failed for `failing_days`, is disabled in the same transaction, with an event.
    """
    with transaction():
        endpoint = _lock(claimed.endpoint_id)  # endpoint before delivery, as everywhere
        state = _move(claimed, attempt, retry_seconds)
        if state is None:
            return None
        _note(claimed, attempt)
        if endpoint is not None:
            _judge(endpoint, claimed, attempt, failing_days)
        return state


def _lock(endpoint_id: str) -> dict[str, Any] | None:
    rows = fetch(
        f"""SELECT {ENDPOINT_COLUMNS}, created_by FROM endpoint
            WHERE id = %s AND deleted_at IS NULL FOR NO KEY UPDATE""",
        (endpoint_id,),
    )
    return rows[0] if rows else None


def _move(claimed: Claimed, attempt: Attempt, retry_seconds: float | None) -> str | None:
    if attempt.delivered:
        state, error = "delivered", None
    elif attempt.gone or retry_seconds is None:
        state, error = "failed", attempt.error or "status"
    else:
        state, error = "pending", attempt.error or "status"
    moved = execute(
        f"""UPDATE delivery SET state = %(state)s, error = %(error)s, lease_until = NULL,
                due_at = clock_timestamp() + %(pause)s * interval '1 second',
                ended_at = CASE WHEN %(state)s <> 'pending' THEN clock_timestamp() END,
                updated_at = clock_timestamp(), updated_by = '{COMPONENT}'
            WHERE {_LEASED}""",
        {"state": state, "error": error, "pause": retry_seconds or 0, **_fence(claimed)},
    )
    return state if moved else None


_LEASED = """endpoint_id = %(endpoint_id)s AND event_id = %(event_id)s AND state = 'pending'
    AND attempts = %(attempts)s AND lease_until = %(lease_until)s"""


def _fence(claimed: Claimed) -> dict[str, Any]:
    names = ("endpoint_id", "event_id", "attempts", "lease_until")
    return {name: getattr(claimed, name) for name in names}


def _note(claimed: Claimed, attempt: Attempt) -> None:
    execute(
        f"""INSERT INTO delivery_attempt (endpoint_id, event_id, number, status, error,
                duration_ms, answer, created_by, updated_by)
            SELECT %(endpoint_id)s, %(event_id)s, coalesce(max(number), 0) + 1, %(status)s,
                   %(error)s, %(duration_ms)s, %(answer)s, '{COMPONENT}', '{COMPONENT}'
            FROM delivery_attempt
            WHERE endpoint_id = %(endpoint_id)s AND event_id = %(event_id)s""",
        {
            "endpoint_id": claimed.endpoint_id,
            "event_id": claimed.event_id,
            "status": attempt.status,
            "error": attempt.error,
            "duration_ms": attempt.duration_ms,
            "answer": attempt.answer,
        },
    )


def _judge(locked: dict[str, Any], claimed: Claimed, attempt: Attempt, failing_days: float) -> None:
    """Remember since when an endpoint fails, and disable it when it is time to."""
    if attempt.delivered:
        execute(
            "UPDATE endpoint SET failing_since = NULL WHERE id = %s AND failing_since IS NOT NULL",
            (claimed.endpoint_id,),
        )
        return
    rows = fetch(
        """UPDATE endpoint SET failing_since = coalesce(failing_since, clock_timestamp())
           WHERE id = %s AND enabled
           RETURNING failing_since < clock_timestamp() - %s * interval '1 day' AS hopeless""",
        (claimed.endpoint_id, failing_days),
    )
    if not rows or not (attempt.gone or rows[0]["hopeless"]):
        return
    endpoints.disable(claimed.endpoint_id, "gone" if attempt.gone else "failing", actor=COMPONENT)
    owner = locked["created_by"]
    view = fetch(f"SELECT {ENDPOINT_COLUMNS} FROM endpoint WHERE id = %s", (claimed.endpoint_id,))
    announcements.record(
        EventType.ENDPOINT_DISABLED,
        asdict(EndpointView(**view[0])),
        owner=owner,
        component=COMPONENT,
    )


def fail_exhausted(max_attempts: int) -> int:
    """Fail deliveries whose last attempt was never settled; returns how many."""
    with connection():
        return execute(
            f"""UPDATE delivery SET state = 'failed', error = 'unknown', lease_until = NULL,
                    ended_at = clock_timestamp(), updated_at = clock_timestamp(),
                    updated_by = '{COMPONENT}'
                WHERE state = 'pending' AND lease_until < clock_timestamp() AND attempts >= %s""",
            (max_attempts,),
        )
