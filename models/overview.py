"""What an operator sees of all subjects: what is silent, what machines gave up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from models.cursors import decode_cursor, encode_cursor
from models.database import connection, fetch
from models.states import ImportType, item_state

#: Failures of the machinery, not of the file.
MACHINE_CODES = ("exhausted", "dispatch_rejected", "dead_lettered", "stalled", "expired")


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """One import that needs a look. `at` is its last sign of life."""

    id: str
    type: str
    file_name: str
    subject: str
    status: str
    error_code: str | None
    run: int
    at: datetime


_COLUMNS = """c.id, c.file_name, c.created_by AS subject, c.status, c.error_code, c.run,
              coalesce(c.last_report_at, i.dispatched_at, c.created_at) AS at"""


def silent(*, longer_than_seconds: float, limit: int) -> list[Trouble]:
    """Return started imports that have not been heard of, the longest silent first."""
    return _both(
        """c.status = 'processing' AND i.cancelled_at IS NULL
           AND c.last_report_at < clock_timestamp() - %s * interval '1 second'""",
        longer_than_seconds,
        limit,
    )


def given_up(*, limit: int) -> list[Trouble]:
    """Return imports that failed by the machinery and not by their file, the newest first."""
    found = _both(
        """c.status = 'failed' AND i.cancelled_at IS NULL AND i.deleted_at IS NULL
           AND (i.error_message IS NOT NULL OR c.error_code = ANY(%s))""",
        list(MACHINE_CODES),
        limit,
        order="c.updated_at DESC",
    )
    return sorted(found, key=lambda trouble: trouble.at, reverse=True)


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One import of anybody, as a list shows it; `status` is an ItemState word."""

    id: str
    type: str
    status: str
    error_code: str | None
    run: int
    batch_id: str
    subject: str
    file_name: str
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which imports a list shows; what is None does not matter."""

    state: str | None = None
    import_type: str | None = None
    subject: str | None = None
    batch_id: str | None = None
    error_code: str | None = None


#: The ways to what is in a state, each by an index of its own; together they miss nothing.
_WAYS: dict[str | None, tuple[str, ...]] = {
    "queued": ("c.status = 'queued'",),
    "processing": ("c.status = 'processing'",),
    "completed": ("c.status = 'completed'",),
    "failed": ("c.status = 'failed'", "i.error_message IS NOT NULL AND c.status <> 'failed'"),
    "cancelled": ("i.cancelled_at IS NOT NULL",),
}


def list_imports(
    wanted: Wanted, *, cursor: str | None, limit: int
) -> tuple[list[Listed], str | None]:
    """Return a page of all subjects' imports, newest first, and the next cursor or None.

    Raises Conflict("cursor_invalid").
    """
    conditions, params = ["i.deleted_at IS NULL"], []
    chosen = {
        f"({item_state()})": wanted.state,
        "c.created_by": wanted.subject,
        "c.batch_id": wanted.batch_id,
        "c.error_code": wanted.error_code,
    }
    for column, value in chosen.items():
        if value is not None:
            conditions.append(f"{column} = %s")
            params.append(value)
    if cursor is not None:
        conditions.append("c.id < %s")
        params.append(str(decode_cursor(cursor, (str,))[0]))
    found: list[Listed] = []
    with connection():
        for import_type in ImportType:
            if wanted.import_type in (None, import_type):
                for way in _WAYS.get(wanted.state, ("true",)):
                    where = " AND ".join([way, *conditions])
                    found += _listed(import_type, where, [*params, limit + 1])
    found.sort(key=lambda listed: listed.id, reverse=True)
    following = encode_cursor(found[limit - 1].id) if len(found) > limit else None
    return found[:limit], following


def _listed(import_type: ImportType, where: str, params: list[object]) -> list[Listed]:
    rows = fetch(
        f"""SELECT c.id, ({item_state()}) AS status, c.error_code, c.run, i.batch_id,
                   c.created_by AS subject, c.file_name, c.created_at
            FROM {import_type} c JOIN batch_item i ON i.job_id = c.id
            WHERE {where} ORDER BY c.id DESC LIMIT %s""",
        params,
    )
    return [Listed(type=str(import_type), **row) for row in rows]


def _both(where: str, value: object, limit: int, *, order: str = "at") -> list[Trouble]:
    found: list[Trouble] = []
    with connection():
        for import_type in ImportType:
            rows = fetch(
                f"""SELECT {_COLUMNS} FROM {import_type} c JOIN batch_item i ON i.job_id = c.id
                    WHERE {where} ORDER BY {order} LIMIT %s""",
                (value, limit),
            )
            found += [Trouble(type=str(import_type), **row) for row in rows]
    return found
