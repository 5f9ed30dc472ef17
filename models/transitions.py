"""The only writer of a child's status.

Every transition locks the item, then the child (batch before both, ids sorted), looks again, and
writes child, item and event in one transaction. Each UPDATE names the status it leaves and its
row count is checked, so a verdict can never land on a row that has moved on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models import announcements, events, outbox, results, sources
from models.database import connection, execute, fetch, retried, transaction
from models.errors import Conflict, NotFound
from models.events import NewEvent
from models.locks import Locked, lock
from models.states import ARROWS, TERMINAL, ChildStatus, ImportType, ItemState, item_state


@dataclass(frozen=True, kw_only=True)
class ReportedResult:
    """A verified result about to be stored.

    `pages` and `sources` are read anew if the transaction is retried.
    """

    sha256: str
    detected_type: str
    page_count: int | None
    document: Mapping[str, Any]
    pages: Iterable[Mapping[str, Any]] | None = None
    design: Mapping[str, Any] | None = None
    markdown: Mapping[str, str] | None = None
    sources: Iterable[Mapping[str, Any]] = ()


@dataclass(frozen=True, kw_only=True)
class Applied:
    """What a report changed. `conflict` tells the worker to stop: the import is settled."""

    applied: bool
    status: str
    run: int
    conflict: bool = False
    age_seconds: float = 0.0  # since the import was accepted


def move(
    row: Locked,
    to: ChildStatus,
    event: str,
    *,
    component: str,
    actor: str | None = None,
    detail: str | None = None,
    stamps: tuple[str, ...] = (),
    **columns: Any,  # values of child columns; names are ours, never input
) -> None:
    """Write one arrow of the state diagram with its event. Needs the locks of `row`.

    `stamps` are timestamp columns to set to the database clock unless they are set already.
    """
    if (row.status, to, event) not in ARROWS:
        raise ValueError(f"no arrow {event} from {row.status} to {to}")
    assignments = "".join(f", {name} = %({name})s" for name in columns) + "".join(
        f", {name} = coalesce({name}, clock_timestamp())" for name in stamps
    )
    moved = execute(
        f"""UPDATE {row.type} SET status = %(to)s, updated_at = clock_timestamp(),
                updated_by = %(actor)s{assignments}
            WHERE id = %(id)s AND status = %(from)s AND run = %(old_run)s""",
        {
            **columns,
            "to": to,
            "actor": actor or component,
            "id": row.child_id,
            "from": row.status,
            "old_run": row.run,
        },
    )
    if moved != 1:
        raise Conflict("state_changed")
    note_all([row], event, to=to, component=component, actor=actor, detail=detail)


def note_all(
    rows: Sequence[Locked],
    event: str,
    *,
    to: str,
    component: str,
    actor: str | None = None,
    detail: str | None = None,
    runs: int = 0,
) -> None:
    """Record one event about each locked child, in its run plus `runs`, and announce endings."""
    events.record(
        NewEvent(
            batch_id=row.batch_id,
            child_id=row.child_id,
            run=row.run + runs,
            component=component,
            event=event,
            from_status=str(row.state),
            to_status=str(to),
            owner=row.owner,
            actor=actor or component,
            detail=detail,
        )
        for row in rows
    )
    if to in TERMINAL:  # what has ended has no use for its password
        outbox.erase_passwords([row.item_id for row in rows if row.sealed])
    if to in TERMINAL:
        announcements.announce(rows, to, component=component)


def reopen_all(
    rows: Sequence[Locked], event: str, *, component: str, reason: str, actor: str | None = None
) -> None:
    """Send locked children of one type and status back to `queued` for one run more.

    Needs the locks; an item whose child moves is due again from its first attempt.
    """
    if not rows:
        return
    first = rows[0]
    if (first.status, ChildStatus.QUEUED, event) not in ARROWS:
        raise ValueError(f"no arrow {event} from {first.status}")
    moved = execute(
        f"""UPDATE {first.type} c SET status = %s, run = c.run + 1, started_at = NULL,
                completed_at = NULL, error_code = NULL, error_message = NULL,
                progress_done = NULL, progress_total = NULL, last_report_at = NULL,
                updated_at = clock_timestamp(), updated_by = %s
            FROM unnest(%s::text[], %s::int[]) AS seen (id, run)
            WHERE c.id = seen.id AND c.run = seen.run AND c.status = %s""",
        (
            ChildStatus.QUEUED,
            actor or component,
            [row.child_id for row in rows],
            [row.run for row in rows],
            first.status,
        ),
    )
    if moved != len(rows):
        raise Conflict("state_changed")
    outbox.reopen([row.item_id for row in rows], actor=actor or component)
    note_all(
        rows,
        event,
        to=ChildStatus.QUEUED,
        component=component,
        actor=actor,
        detail=reason,
        runs=1,
    )


@retried
def apply_report(
    *,
    type: ImportType,
    child_id: str,
    event: str,
    run: int | None,
    done: int | None = None,
    total: int | None = None,
    result: ReportedResult | None = None,
    error_code: str | None = None,
    error_message: str | None = None,
) -> Applied:
    """Apply one verified worker report in one transaction. State decides, not a receipt.

    `completed` of any run is taken while the import is live; `failed` and `progress` only of the
    current run. The same completion again changes nothing; anything else on a settled import is
    a conflict. Raises NotFound, DatabaseUnavailable.
    """
    with transaction():
        row = lock(type, child_id)
        if not row.live:
            same = event == "completed" and result is not None
            same = same and row.result_sha256 == result.sha256  # type: ignore[union-attr]  # checked on the line above
            same = same and row.state is ItemState.COMPLETED
            return Applied(applied=False, status=row.state, run=row.run, conflict=not same)
        if event in {"failed", "progress"} and run != row.run:
            return Applied(applied=False, status=row.state, run=row.run, conflict=True)
        if not row.dispatched:
            outbox.acknowledge(row.item_id)
        if event == "processing":
            status = _start(row)
        elif event == "progress":
            status = _progress(row, done, total)
        elif event == "failed":
            status = _fail(row, error_code or "parse_crashed", error_message or "")
        elif event == "completed" and result is not None:
            status = _complete(row, result)
        else:
            raise ValueError(f"unknown report {event}")
        return Applied(applied=True, status=status, run=row.run, age_seconds=row.age_seconds)


def _start(row: Locked) -> str:
    event = "started" if row.status is ChildStatus.QUEUED else "restarted"
    move(row, ChildStatus.PROCESSING, event, component="worker", stamps=("started_at",))
    _touch(row)
    return ItemState.PROCESSING


def _touch(row: Locked, done: int | None = None, total: int | None = None) -> None:
    execute(
        f"""UPDATE {row.type} SET last_report_at = clock_timestamp(),
                updated_at = clock_timestamp(), updated_by = 'worker',
                progress_done = coalesce(%s, progress_done),
                progress_total = coalesce(%s, progress_total)
            WHERE id = %s""",
        (done, total, row.child_id),
    )


def _progress(row: Locked, done: int | None, total: int | None) -> str:
    if row.status is ChildStatus.QUEUED:
        return _start(row)
    _touch(row, done, total)
    return ItemState.PROCESSING


def _fail(row: Locked, code: str, message: str) -> str:
    move(
        row,
        ChildStatus.FAILED,
        "failed",
        component="worker",
        detail=code,
        stamps=("started_at", "completed_at", "last_report_at"),
        error_code=code,
        error_message=message or code,
    )
    return ItemState.FAILED


def _complete(row: Locked, result: ReportedResult) -> str:
    page_count = result.page_count
    if result.pages is not None:
        page_count = results.insert_pages(row.child_id, result.pages, owner=row.owner)
    if result.design is not None and result.markdown is not None:
        results.insert_design(row.child_id, result.design, result.markdown, owner=row.owner)
        sources.insert_sources(row.child_id, result.sources, owner=row.owner)
    move(
        row,
        ChildStatus.COMPLETED,
        "completed",
        component="worker",
        stamps=("started_at", "completed_at", "last_report_at"),
        result_sha256=result.sha256,
        detected_type=result.detected_type,
        page_count=page_count,
        document=json.dumps(result.document),
        progress_done=page_count,
        progress_total=page_count,
    )
    return ItemState.COMPLETED


@dataclass(frozen=True, kw_only=True)
class Current:
    """Where an import is, for a web process about to fetch its result."""

    status: str
    terminal: bool
    run: int
    result_sha256: str | None


def current(import_type: ImportType, child_id: str) -> Current:
    """Look without locking. For reports only: it asks for no subject. Raises NotFound."""
    with connection():
        rows = fetch(
            f"""SELECT ({item_state()}) AS status, c.run, c.result_sha256,
                       i.deleted_at IS NOT NULL AS deleted
                FROM {import_type} c JOIN batch_item i ON i.job_id = c.id WHERE c.id = %s""",
            (child_id,),
        )
    if not rows:
        raise NotFound(child_id)
    row = rows[0]
    return Current(
        status=row["status"],
        terminal=row["deleted"] or row["status"] in TERMINAL,
        run=row["run"],
        result_sha256=row["result_sha256"],
    )
