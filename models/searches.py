"""What the screens look for: newest files, batches by state and file name, words in a result."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from models.batches import BatchView, Counts
from models.children import CHILD_COLUMNS, ChildView, get_child
from models.cursors import decode_cursor, encode_cursor
from models.database import connection, fetch
from models.errors import Conflict
from models.states import BatchStatus, ImportType, batch_summary, item_state

_SNIPPET_CHARS = 60


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One page in which a text was found, with the words around its first place."""

    number: int
    before: str
    found: str
    after: str


def recent_children(subject: str, *, limit: int) -> list[ChildView]:
    """Return the subject's newest imports of both types, newest batch first."""
    views: list[ChildView] = []
    with connection():
        for import_type in ImportType:
            rows = fetch(
                f"""SELECT files.* FROM
                        (SELECT id, created_at FROM batch
                         WHERE created_by = %s AND deleted_at IS NULL AND type = %s
                         ORDER BY created_at DESC, id DESC LIMIT %s) b
                    CROSS JOIN LATERAL
                        (SELECT {CHILD_COLUMNS}
                         FROM batch_item i JOIN {import_type} c ON c.id = i.job_id
                         WHERE i.batch_id = b.id ORDER BY i.position LIMIT %s) files
                    ORDER BY b.created_at DESC, b.id DESC, files.position LIMIT %s""",
                (subject, str(import_type), limit, limit, limit),
            )
            views += [ChildView(type=import_type, **row) for row in rows]
    # A batch's files stay in the order in which they were given.
    views.sort(key=lambda view: view.position)
    views.sort(key=lambda view: (view.created_at, view.batch_id), reverse=True)
    return views[:limit]


def search_batches(
    subject: str,
    *,
    text: str = "",
    status: BatchStatus | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> tuple[list[BatchView], str | None]:
    """Return a page of the subject's batches, newest first, and the next cursor or None.

    `text` is looked for in file names and batch names, without regard to case. Raises
    Conflict("cursor_invalid").
    """
    conditions, params = ["b.created_by = %s", "b.deleted_at IS NULL"], [subject]
    if cursor is not None:
        created_at, last_id = decode_cursor(cursor, (str, str))
        conditions.append("(b.created_at, b.id) < (%s::timestamptz, %s)")
        params += [_instant(str(created_at)), str(last_id)]
    if text:
        names = " OR ".join(
            f"EXISTS (SELECT 1 FROM {kind} n WHERE n.batch_id = b.id AND n.file_name ILIKE %s)"
            for kind in ImportType
        )
        conditions.append(f"(b.name ILIKE %s OR {names})")
        params += [_pattern(text)] * (1 + len(ImportType))
    if status is not None:
        conditions.append("s.status = %s")
        params.append(str(status))
    children = " UNION ALL ".join(f"SELECT id, status FROM {kind}" for kind in ImportType)
    items = f"""SELECT i.batch_id, ({item_state()}) AS state FROM batch_item i
                LEFT JOIN ({children}) c ON c.id = i.job_id WHERE i.batch_id = b.id"""
    with connection():
        rows = fetch(
            f"""SELECT b.id, b.type, b.name, b.created_at, s.*
                FROM batch b CROSS JOIN LATERAL ({batch_summary(items)}) s
                WHERE {" AND ".join(conditions)}
                ORDER BY b.created_at DESC, b.id DESC LIMIT %s""",
            (*params, limit + 1),
        )
    views = [_view(row) for row in rows[:limit]]
    following = None
    if len(rows) > limit:
        following = encode_cursor(views[-1].created_at.isoformat(), views[-1].id)
    return views, following


def first_names(batch_ids: list[str]) -> dict[str, str]:
    """Return the name of each batch's first file."""
    found: dict[str, str] = {}
    with connection():
        for import_type in ImportType:
            rows = fetch(
                f"""SELECT i.batch_id, c.file_name FROM batch_item i
                    JOIN {import_type} c ON c.id = i.job_id
                    WHERE i.batch_id = ANY(%s) AND i.position = 0""",
                (batch_ids,),
            )
            found.update((row["batch_id"], row["file_name"]) for row in rows)
    return found


def find_pages(subject: str, child_id: str, text: str, *, limit: int = 100) -> list[Hit]:
    """Return the pages of one import in which `text` stands, in order. Raises NotFound."""
    with connection():
        get_child(subject, ImportType.PAGE_IMPORT, child_id)
        rows = fetch(
            """SELECT number, text FROM page
               WHERE page_import_id = %s AND text ILIKE %s ORDER BY number LIMIT %s""",
            (child_id, _pattern(text), limit),
        )
    return [_hit(row["number"], row["text"], text) for row in rows]


def _view(row: dict[str, Any]) -> BatchView:
    return BatchView(
        id=row["id"],
        type=row["type"],
        name=row["name"],
        status=row["status"],
        counts=Counts(**{name: row[name] for name in Counts.__dataclass_fields__}),
        partial=row["partial"],
        created_at=row["created_at"],
    )


def _hit(number: int, page: str, text: str) -> Hit:
    at = max(page.lower().find(text.lower()), 0)
    end = at + len(text)
    return Hit(
        number=number,
        before=page[max(0, at - _SNIPPET_CHARS) : at],
        found=page[at:end],
        after=page[end : end + _SNIPPET_CHARS],
    )


def _pattern(text: str) -> str:
    """Return the ILIKE pattern that finds `text` itself anywhere."""
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def _instant(text: str) -> str:
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError as error:
        raise Conflict("cursor_invalid") from error
