"""What machines and operators decide about imports that did not end by a report.

Exhausted dispatch, dead letters, silence and age end in `failed`; an interrupted run starts anew.
All of it goes through transitions.lock and transitions.move.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from models import outbox
from models.database import connection, execute, fetch, retried, transaction
from models.errors import NotFound
from models.locks import Locked, lock
from models.states import ChildStatus, ImportType
from models.transitions import move, reopen_all

#: How many runs machines may start, since a person last had a say, before they call it failed.
MAX_MACHINE_RUNS = 3

#: How far the clocks of SQS and of PostgreSQL may be apart.
CLOCK_SKEW_SECONDS = 30

EXHAUSTED_MESSAGE = "could not be queued: three dispatch attempts were not confirmed"


def _type_of(item_id: str) -> tuple[ImportType, str]:
    rows = fetch(
        """SELECT b.type, i.job_id FROM batch_item i JOIN batch b ON b.id = i.batch_id
           WHERE i.id = %s""",
        (item_id,),
    )
    if not rows or rows[0]["job_id"] is None:
        raise NotFound(item_id)
    return ImportType(rows[0]["type"]), rows[0]["job_id"]


@retried
def exhaust(item_id: str) -> str | None:
    """Fail one item whose three claims ran out unconfirmed; returns its child, None if it moved on.

    One transaction sets the item's error_message and the child's status. A child that a worker
    has started is proof of dispatch, so it is left alone.
    """
    with transaction():
        row = lock(*_type_of(item_id))
        spent = fetch(
            f"""SELECT 1 AS spent FROM batch_item WHERE id = %s AND {outbox.PENDING}
                AND lease_until < clock_timestamp() AND dispatch_attempts >= %s""",
            (item_id, outbox.MAX_ATTEMPTS),
        )
        if not spent or row.status is not ChildStatus.QUEUED:
            return None
        _fail(row, "exhausted", EXHAUSTED_MESSAGE)
        return row.child_id


@retried
def reject(fence: outbox.Fence, code: str) -> bool:
    """Fail one claimed item at once: SQS will never take its message. False when it moved on."""
    with transaction():
        row = lock(*_type_of(fence.id))
        held = fetch(
            f"""SELECT 1 AS held FROM batch_item WHERE id = %s AND {outbox.PENDING}
                AND dispatch_attempts = %s AND lease_until = %s""",
            (fence.id, fence.dispatch_attempts, fence.lease_until),
        )
        if not held or row.status is not ChildStatus.QUEUED:
            return False
        _fail(row, "exhausted", f"the queue refuses this message: {code}")
        return True


def _fail(row: Locked, code: str, message: str, *, actor: str | None = None) -> None:
    """Fail a live child; an item that was not dispatched yet never will be.

    `actor` is the operator who says so, None for a machine.
    """
    if not row.dispatched:
        execute(
            """UPDATE batch_item SET error_message = %s, updated_at = clock_timestamp(),
                   updated_by = %s
               WHERE id = %s AND error_message IS NULL""",
            (message, actor or outbox.COMPONENT, row.item_id),
        )
    move(
        row,
        ChildStatus.FAILED,
        "failed",
        component="operator" if actor else outbox.COMPONENT,
        actor=actor,
        detail=code,
        stamps=("completed_at",),
        error_code=code,
        error_message=message,
    )


@dataclass(frozen=True, kw_only=True)
class Suspect:
    """A child that looked lost, and the version of its row that looked so."""

    type: ImportType
    child_id: str
    updated_at: datetime


@retried
def start_new_run(suspect: Suspect, *, reason: str, for_a_person: bool = False) -> str | None:
    """Begin a new dispatch cycle for lost work; after three by machines call it failed instead.

    Returns "new_run", "failed", or None when the row has changed since it was suspected: a report
    came, or another sweeper was faster. `reason` is recorded; a run that a person or a start asked
    for is never refused.
    """
    with transaction():
        try:
            row = lock(suspect.type, suspect.child_id)
        except NotFound:
            return None
        if not row.live or row.updated_at != suspect.updated_at:
            return None
        if for_a_person:
            reopen_all([row], "resumed", component=outbox.COMPONENT, reason=reason)
            return "new_run"
        return _restart(row, "stalled", reason)


def _restart(row: Locked, code: str, reason: str) -> str:
    if _machine_runs(row.child_id) >= MAX_MACHINE_RUNS:
        _fail(row, code, f"no result after {row.run} runs: {reason}")
        return "failed"
    reopen_all([row], "new_run", component=outbox.COMPONENT, reason=reason)
    return "new_run"


def _machine_runs(child_id: str) -> int:
    """Return how many runs machines have started since a person last had a say."""
    rows = fetch(
        """SELECT count(*) FILTER (WHERE event = 'new_run') AS started FROM job_event
           WHERE child_id = %(id)s AND created_at >= coalesce(
               (SELECT max(created_at) FROM job_event WHERE child_id = %(id)s
                AND event IN ('retried', 'redriven')), '-infinity')""",
        {"id": child_id},
    )
    return int(rows[0]["started"])


@retried
def settle_dead_letter(
    import_type: ImportType, child_id: str, *, sent_at: float | None = None
) -> str:
    """Give an import whose message was dead-lettered a new run, or after three of them a verdict.

    A letter of an earlier run decides nothing: the item waits for dispatch again, or its run began
    after the letter was sent (`sent_at`, seconds since 1970 by SQS). Returns "new_run", "failed"
    or "settled". Raises NotFound.
    """
    with transaction():
        row = lock(import_type, child_id)
        if not row.live or not row.dispatched or _began_after(child_id, sent_at):
            return "settled"
        return _restart(row, "dead_lettered", "dead_lettered")


def _began_after(child_id: str, sent_at: float | None) -> bool:
    """Tell whether the current run began after a message was sent, for sure on two clocks."""
    if sent_at is None:
        return False
    rows = fetch(
        """SELECT max(extract(epoch FROM created_at))::float AS began FROM job_event
           WHERE child_id = %s AND event IN ('new_run', 'resumed', 'retried', 'redriven')""",
        (child_id,),
    )
    began = rows[0]["began"]
    return began is not None and began > sent_at + CLOCK_SKEW_SECONDS


@retried
def fail(
    import_type: ImportType, child_id: str, *, code: str, message: str, actor: str | None = None
) -> bool:
    """Give a live import up with a code; False when it is settled already."""
    with transaction():
        try:
            row = lock(import_type, child_id)
        except NotFound:
            return False
        if not row.live:
            return False
        _fail(row, code, message, actor=actor)
        return True


@retried
def expire(suspect: Suspect) -> bool:
    """Give up an import of a queue that has not moved for a day; False when it has moved since."""
    with transaction():
        try:
            row = lock(suspect.type, suspect.child_id)
        except NotFound:
            return False
        if not row.live or row.updated_at != suspect.updated_at:
            return False
        _fail(row, "expired", "nothing in its queue has moved for a day")
        return True


def aged_children(import_type: ImportType, *, hours: float, limit: int) -> list[Suspect]:
    """Return live children whose current run has not changed for that long, dispatched or not."""
    with connection():
        rows = fetch(
            f"""SELECT c.id, c.updated_at FROM {import_type} c JOIN batch_item i ON i.job_id = c.id
                WHERE c.status IN ('queued', 'processing') AND i.cancelled_at IS NULL
                  AND i.deleted_at IS NULL AND i.error_message IS NULL
                  AND c.updated_at < clock_timestamp() - %s * interval '1 hour'
                ORDER BY c.updated_at LIMIT %s""",
            (hours, limit),
        )
    return _suspects(import_type, rows)


def last_movement(import_type: ImportType) -> str:
    """Return when a worker last reported about any import of this type, as text, or ""."""
    with connection():
        rows = fetch(f"SELECT max(last_report_at)::text AS reported FROM {import_type}")
    return rows[0]["reported"] or ""


def silent_children(import_type: ImportType, *, stall_seconds: float, limit: int) -> list[Suspect]:
    """Return children that are processing but have not reported for `stall_seconds`."""
    with connection():
        rows = fetch(
            f"""SELECT c.id, c.updated_at FROM {import_type} c JOIN batch_item i ON i.job_id = c.id
                WHERE c.status = 'processing' AND i.cancelled_at IS NULL AND i.deleted_at IS NULL
                  AND c.last_report_at < clock_timestamp() - %s * interval '1 second'
                ORDER BY c.last_report_at LIMIT %s""",
            (stall_seconds, limit),
        )
    return _suspects(import_type, rows)


def unstarted_children(
    import_type: ImportType, *, waited_seconds: float, limit: int
) -> list[Suspect]:
    """Return children whose message was sent `waited_seconds` ago and that no worker started."""
    with connection():
        rows = fetch(
            f"""SELECT c.id, c.updated_at FROM {import_type} c JOIN batch_item i ON i.job_id = c.id
                WHERE c.status = 'queued' AND i.cancelled_at IS NULL AND i.deleted_at IS NULL
                  AND i.error_message IS NULL
                  AND i.dispatched_at < clock_timestamp() - %s * interval '1 second'
                ORDER BY i.dispatched_at LIMIT %s""",
            (waited_seconds, limit),
        )
    return _suspects(import_type, rows)


def observed_wait(import_type: ImportType) -> float | None:
    """Return the longest wait (s) between send and start that the last ten minutes have seen.

    None when nothing was started: then nobody knows how long the queue is. The statement's time and
    not clock_timestamp(): no index serves a condition whose value may change from row to row.
    """
    with connection():
        rows = fetch(
            f"""SELECT max(extract(epoch FROM c.started_at - i.dispatched_at))::float AS seconds
                FROM {import_type} c JOIN batch_item i ON i.job_id = c.id
                WHERE c.last_report_at > statement_timestamp() - interval '10 minutes'
                  AND c.started_at > statement_timestamp() - interval '10 minutes'"""
        )
    seconds = rows[0]["seconds"]
    return None if seconds is None else max(0.0, float(seconds))


def in_flight_children(import_type: ImportType) -> list[Suspect]:
    """Return live children whose message was sent, for a start that finds everything dead."""
    with connection():
        rows = fetch(
            f"""SELECT c.id, c.updated_at FROM {import_type} c JOIN batch_item i ON i.job_id = c.id
                WHERE c.status IN ('queued', 'processing') AND i.cancelled_at IS NULL
                  AND i.deleted_at IS NULL AND i.error_message IS NULL
                  AND (i.dispatched_at IS NOT NULL OR i.dispatch_attempts > 0)
                ORDER BY c.id"""
        )
    return _suspects(import_type, rows)


def _suspects(import_type: ImportType, rows: list[dict[str, Any]]) -> list[Suspect]:
    return [
        Suspect(type=import_type, child_id=row["id"], updated_at=row["updated_at"]) for row in rows
    ]
