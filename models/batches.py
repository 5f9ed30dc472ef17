"""Batches and their items as their subject may see them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from models.children import CHILD_COLUMNS, ChildView
from models.cursors import decode_cursor, encode_cursor
from models.database import connection, fetch
from models.errors import Conflict, NotFound
from models.states import ODD, ImportType, ItemState, batch_summaries, item_state

#: How many more items one page of a state looks at when the first ones are not in it.
_FURTHER = (150, 350)


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many items are where; the five parts sum to total."""

    total: int
    queued: int
    running: int
    completed: int
    failed: int
    cancelled: int


@dataclass(frozen=True, kw_only=True)
class BatchView:
    """One batch with its derived status ("0"–"3") and counts."""

    id: str
    type: str
    name: str | None
    status: str
    counts: Counts
    partial: bool
    created_at: datetime


def _views(batches: list[dict[str, object]]) -> list[BatchView]:
    """Add the derived part to rows of `batch`, one query a type, in the given order."""
    summaries: dict[str, dict[str, object]] = {}
    for import_type in ImportType:
        ids = [row["id"] for row in batches if row["type"] == import_type]
        if ids:
            for row in fetch(batch_summaries(import_type), (ids,)):
                summaries[row["batch_id"]] = row
    views = []
    for row in batches:
        summary = summaries[str(row["id"])]
        counts = Counts(**{name: summary[name] for name in Counts.__dataclass_fields__})  # type: ignore[arg-type]  # columns of our own SQL
        views.append(
            BatchView(status=summary["status"], partial=summary["partial"], counts=counts, **row)  # type: ignore[arg-type]  # columns of our own SQL
        )
    return views


def get_batch(subject: str, batch_id: str) -> BatchView:
    """Return one of the subject's batches. Raises NotFound for strangers and deleted ones."""
    with connection():
        rows = fetch(
            """SELECT id, type, name, created_at FROM batch
               WHERE id = %s AND created_by = %s AND deleted_at IS NULL""",
            (batch_id, subject),
        )
        if not rows:
            raise NotFound(batch_id)
        return _views(rows)[0]


def list_batches(
    subject: str, *, cursor: str | None = None, limit: int = 50
) -> tuple[list[BatchView], str | None]:
    """Return a page of the subject's batches, newest first, and the next cursor or None.

    Raises Conflict("cursor_invalid").
    """
    after, params = "", [subject]
    if cursor is not None:
        created_at, last_id = decode_cursor(cursor, (str, str))
        after = "AND (created_at, id) < (%s::timestamptz, %s)"
        params += [_instant(str(created_at)), str(last_id)]
    with connection():
        rows = fetch(
            f"""SELECT id, type, name, created_at FROM batch
                WHERE created_by = %s AND deleted_at IS NULL {after}
                ORDER BY created_at DESC, id DESC LIMIT %s""",
            (*params, limit + 1),
        )
        views = _views(rows[:limit])
    following = None
    if len(rows) > limit:
        following = encode_cursor(views[-1].created_at.isoformat(), views[-1].id)
    return views, following


def _instant(text: str) -> str:
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError as error:
        raise Conflict("cursor_invalid") from error


def list_items(
    subject: str,
    batch_id: str,
    *,
    state: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> tuple[list[ChildView], str | None]:
    """Return a page of a batch's items, and the next cursor or None.

    All items come in input order, those of one state in the order of their IDs; such a page may be
    short, or empty, before the last one. Raises NotFound, Conflict("cursor_invalid") and
    Conflict("state_unknown").
    """
    if state is not None and state not in set(ItemState):
        raise Conflict("state_unknown")
    with connection():
        batch = fetch(
            "SELECT type FROM batch WHERE id = %s AND created_by = %s AND deleted_at IS NULL",
            (batch_id, subject),
        )
        if not batch:
            raise NotFound(batch_id)
        import_type = ImportType(batch[0]["type"])
        if state is not None:
            return _list_in_state(import_type, batch_id, ItemState(state), cursor, limit)
        position = decode_cursor(cursor, (int,))[0] if cursor is not None else -1
        after = min(int(position), 2**31 - 1 - limit - 1)
        # Positions have no gaps, so a page is a range: no plan can read more than that.
        rows = fetch(
            f"""SELECT {CHILD_COLUMNS}
                FROM batch_item i JOIN {import_type} c ON c.id = i.job_id
                WHERE i.batch_id = %s AND i.position > %s AND i.position <= %s
                ORDER BY i.position LIMIT %s""",
            (batch_id, after, after + limit + 1, limit + 1),
        )
    views = [ChildView(type=import_type, **row) for row in rows[:limit]]
    return views, encode_cursor(views[-1].position) if len(rows) > limit else None


def _list_in_state(
    import_type: ImportType, batch_id: str, state: ItemState, cursor: str | None, limit: int
) -> tuple[list[ChildView], str | None]:
    """Look at items that may be in the state, more and more of them, until a page is full.

    Nearly all that an index offers are; but a batch cancelled half way has any number of children
    that are still queued, and one page is not to walk through them all.
    """
    last = str(decode_cursor(cursor, (str,))[0]) if cursor is not None else ""
    rows: list[dict[str, Any]] = []
    for count in (limit + 1, *_FURTHER):
        ids = [row["id"] for row in fetch(*_candidates(import_type, batch_id, state, last, count))]
        rows += fetch(
            # The limits keep a planner that knows nothing of a new batch from reading all of it.
            f"""SELECT {CHILD_COLUMNS} FROM unnest(%s::varchar[]) AS k (id)
                CROSS JOIN LATERAL (SELECT * FROM {import_type} WHERE id = k.id LIMIT 1) c
                CROSS JOIN LATERAL (SELECT * FROM batch_item WHERE job_id = k.id LIMIT 1) i
                WHERE ({item_state()}) = %s ORDER BY k.id LIMIT %s""",
            (ids, state, limit + 1 - len(rows)),
        )
        if len(rows) > limit or len(ids) < count:
            break
        last = ids[-1]
    views = [ChildView(type=import_type, **row) for row in rows[:limit]]
    if len(rows) > limit:
        return views, encode_cursor(views[-1].id)
    return views, None if len(ids) < count else encode_cursor(last)


def _candidates(
    import_type: ImportType, batch_id: str, state: ItemState, last: str, count: int
) -> tuple[str, tuple[object, ...]]:
    """Return the query for the next `count` IDs of children that may be in the state."""
    parts, params = [], []
    if state is not ItemState.CANCELLED:
        parts.append(
            f"""(SELECT id FROM {import_type} WHERE batch_id = %s AND status = %s AND id > %s
                 ORDER BY id LIMIT %s)"""
        )
        params += [batch_id, state, last, count]
    if state in (ItemState.CANCELLED, ItemState.FAILED):
        odd = ODD if state is ItemState.CANCELLED else "i.error_message IS NOT NULL"
        parts.append(
            f"""(SELECT i.job_id AS id FROM batch_item i
                 WHERE i.batch_id = %s AND i.job_id > %s AND {odd}
                 ORDER BY i.job_id LIMIT %s)"""
        )
        params += [batch_id, last, count]
    found = " UNION ".join(parts)
    return f"SELECT id FROM ({found}) AS found ORDER BY id LIMIT %s", (*params, count)
