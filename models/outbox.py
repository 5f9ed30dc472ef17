"""The outbox: batch_item rows that still have to reach SQS.

A claim is a short transaction on the database clock. It returns a fence (id, dispatch_attempts,
lease_until); whoever marks or moves a lease later must show it, or touches nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from models.database import connection, execute, fetch, transaction
from models.ids import uuid7
from models.tables import BatchItem, insert_rows

CHANNEL = "torikomi_outbox"
LEASE_SECONDS = 90
MAX_ATTEMPTS = 3
#: The name that this component signs its writes with.
COMPONENT = "scheduler"

#: Rows that dispatch still owes something; the predicate of batch_item_pending_idx.
PENDING = """dispatched_at IS NULL AND cancelled_at IS NULL
             AND error_message IS NULL AND deleted_at IS NULL"""


@dataclass(frozen=True, kw_only=True)
class Fence:
    """Names one claim of one item."""

    id: str
    dispatch_attempts: int
    lease_until: datetime


@dataclass(frozen=True, kw_only=True)
class Claimed:
    """One claimed item: its fence, its child, its subject, and the message to send as it is."""

    fence: Fence
    child_id: str
    subject: str
    message: Mapping[str, Any]


def enqueue(
    *,
    subject: str,
    batch_id: str,
    items: Sequence[tuple[str, Mapping[str, Any], Mapping[str, Any]]],
) -> None:
    """Insert (child_id, request, message) items in input order and wake the dispatcher on commit.

    Needs the open transaction of the registration.
    """
    insert_rows(
        BatchItem,
        (
            {
                "id": uuid7(),
                "batch_id": batch_id,
                "position": position,
                "request": request,
                "job_id": child_id,
                "message": message,
                "dispatch_attempts": 0,
                "created_by": subject,
                "updated_by": subject,
            }
            for position, (child_id, request, message) in enumerate(items)
        ),
    )
    wake()


def erase_passwords(item_ids: Sequence[str]) -> None:
    """Take the sealed passwords out of the messages of items. Needs their locks."""
    if item_ids:
        execute(
            "UPDATE batch_item SET message = message #- '{options,password}' WHERE id = ANY(%s)",
            (list(item_ids),),
        )


def acknowledge(item_id: str) -> None:
    """Note that a worker holds the message: SQS did accept it, whatever the sender heard."""
    execute(
        """UPDATE batch_item SET dispatched_at = clock_timestamp(),
               updated_at = clock_timestamp(), updated_by = 'worker'
           WHERE id = %s AND dispatched_at IS NULL""",
        (item_id,),
    )


def wake() -> None:
    """Notify the dispatchers when the open transaction commits."""
    execute("SELECT pg_notify(%s, '')", (CHANNEL,))


#: Subjects with pending rows are found by hopping along batch_item_pending_idx, then each gets an
#: equal share of the round: a subject's 100,000 items delay another's one by no more than a round.
CLAIM = f"""
WITH RECURSIVE subjects (subject) AS (
    (SELECT created_by FROM batch_item WHERE {PENDING} ORDER BY created_by LIMIT 1)
    UNION ALL
    SELECT (SELECT created_by FROM batch_item
            WHERE {PENDING} AND created_by > s.subject ORDER BY created_by LIMIT 1)
    FROM subjects s WHERE s.subject IS NOT NULL
), shares AS (
    SELECT subject, greatest(1, ceil(%(limit)s::numeric / count(*) OVER ())) AS share
    FROM subjects WHERE subject IS NOT NULL ORDER BY random() LIMIT %(limit)s
), due AS MATERIALIZED (
    SELECT item.id FROM shares CROSS JOIN LATERAL (
        SELECT id FROM batch_item
        WHERE {PENDING} AND created_by = shares.subject
          AND dispatch_attempts >= %(min_attempts)s AND dispatch_attempts <= %(max_attempts)s
          AND (lease_until IS NULL OR lease_until < clock_timestamp())
        ORDER BY id LIMIT shares.share FOR UPDATE SKIP LOCKED
    ) AS item LIMIT %(limit)s
)
UPDATE batch_item i
SET lease_until = clock_timestamp() + {LEASE_SECONDS} * interval '1 second',
    dispatch_attempts = dispatch_attempts + 1,
    updated_at = clock_timestamp(), updated_by = '{COMPONENT}'
FROM due WHERE i.id = due.id
RETURNING i.id, i.dispatch_attempts, i.lease_until, i.job_id, i.created_by, i.message
"""


#: Pending rows come and go faster than statistics: a planner that believes there are none sorts
#: all of them through batch_item_dispatch_idx for each subject. Without sorts it walks
#: batch_item_pending_idx in order and stops at the limit: 70 ms against 350 with 100,000 waiting.
WALK_IN_ORDER = "SET LOCAL enable_sort = off"


def claim(
    limit: int, *, min_attempts: int = 0, max_attempts: int = MAX_ATTEMPTS - 1
) -> list[Claimed]:
    """Lease up to `limit` due items for 90 s and count the attempt; opens its own transaction.

    Only rows claimed between `min_attempts` and `max_attempts` times so far are taken. Rows that
    another scheduler has locked are skipped, never waited for.
    """
    with transaction():
        execute(WALK_IN_ORDER)
        rows = fetch(
            CLAIM,
            {
                "limit": limit,
                "min_attempts": min_attempts,
                "max_attempts": min(max_attempts, MAX_ATTEMPTS - 1),
            },
        )
    return [
        Claimed(
            fence=Fence(
                id=row["id"],
                dispatch_attempts=row["dispatch_attempts"],
                lease_until=row["lease_until"],
            ),
            child_id=row["job_id"],
            subject=row["created_by"],
            message=row["message"],
        )
        for row in sorted(rows, key=lambda row: str(row["id"]))
    ]


_FENCED = """FROM unnest(%s::text[], %s::int[], %s::timestamptz[]) AS f (id, attempts, lease)
    WHERE i.id = f.id AND i.dispatch_attempts = f.attempts AND i.lease_until = f.lease
      AND i.dispatched_at IS NULL"""


def _arrays(fences: Sequence[Fence]) -> tuple[list[str], list[int], list[datetime]]:
    return (
        [fence.id for fence in fences],
        [fence.dispatch_attempts for fence in fences],
        [fence.lease_until for fence in fences],
    )


def mark_dispatched(fences: Sequence[Fence]) -> int:
    """Set dispatched_at for exactly these claims, in one statement; returns how many it touched.

    Fewer than given means that a lease was lost meanwhile, which is normal.
    """
    if not fences:
        return 0
    with connection():
        return execute(
            f"""UPDATE batch_item i SET dispatched_at = clock_timestamp(),
                    updated_at = clock_timestamp(), updated_by = '{COMPONENT}' {_FENCED}""",
            _arrays(fences),
        )


def record_failure(fences: Sequence[Fence], *, first_seconds: int, later_seconds: int) -> int:
    """Shorten the lease of definitely rejected claims: retry after a short pause, not after 90 s.

    `later_seconds` counts from the second claim on. Returns how many rows it touched.
    """
    if not fences:
        return 0
    with connection():
        return execute(
            f"""UPDATE batch_item i SET updated_at = clock_timestamp(), updated_by = '{COMPONENT}',
                    lease_until = clock_timestamp() + CASE WHEN i.dispatch_attempts < 2
                        THEN %s ELSE %s END * interval '1 second' {_FENCED}""",
            (first_seconds, later_seconds, *_arrays(fences)),
        )


def pending_summary() -> dict[str, Any]:
    """Return how many items wait for dispatch, how many hold a lease, and the oldest's age (s)."""
    with connection():
        return fetch(
            f"""SELECT count(*) AS pending,
                       count(*) FILTER (WHERE lease_until >= clock_timestamp()) AS leased,
                       coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float
                           AS oldest_age_seconds
                FROM batch_item WHERE {PENDING}"""
        )[0]


def has_pending() -> bool:
    """Tell whether any item still waits for its dispatch."""
    with connection():
        return bool(fetch(f"SELECT 1 AS found FROM batch_item WHERE {PENDING} LIMIT 1"))


def exhausted_ids(limit: int) -> list[str]:
    """Return items whose last claim ran out unconfirmed, for transitions.exhaust to judge.

    Found through batch_item_dispatch_idx: only rows that were claimed once have a lease.
    """
    with connection():
        rows = fetch(
            f"""SELECT id FROM batch_item
                WHERE {PENDING} AND lease_until < clock_timestamp() AND dispatch_attempts >= %s
                ORDER BY id LIMIT %s""",
            (MAX_ATTEMPTS, limit),
        )
    return [row["id"] for row in rows]


def reopen(item_ids: Iterable[str], *, actor: str) -> None:
    """Make items due again from their first attempt: the outbox half of a new run.

    Needs the open transaction that locked the items.
    """
    execute(
        """UPDATE batch_item
           SET dispatched_at = NULL, lease_until = NULL, dispatch_attempts = 0,
               error_message = NULL, updated_at = clock_timestamp(), updated_by = %s
           WHERE id = ANY(%s)""",
        (actor, list(item_ids)),
    )
    wake()
