"""process_status: heartbeats, the breaker's state, sampled queue depths. One row a name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.database import connection, execute, fetch, transaction


@dataclass(frozen=True, kw_only=True)
class StatusRow:
    """One row; `age_seconds` is on the database clock."""

    name: str
    kind: str
    data: dict[str, Any]
    age_seconds: float


def put(name: str, kind: str, data: Mapping[str, Any]) -> None:
    """Write a row and stamp it."""
    with connection():
        _put(name, kind, data)


def _put(name: str, kind: str, data: Mapping[str, Any]) -> None:
    execute(
        """INSERT INTO process_status (name, kind, data, seen_at, updated_by)
           VALUES (%s, %s, %s::jsonb, clock_timestamp(), 'scheduler')
           ON CONFLICT (name) DO UPDATE SET data = excluded.data, seen_at = excluded.seen_at,
               updated_at = clock_timestamp()""",
        (name, kind, json.dumps(data)),
    )


def get(name: str) -> StatusRow | None:
    """Return one row, or None."""
    with connection():
        rows = fetch(
            """SELECT name, kind, data,
                      extract(epoch FROM clock_timestamp() - seen_at)::float AS age_seconds
               FROM process_status WHERE name = %s""",
            (name,),
        )
    return StatusRow(**rows[0]) if rows else None


def list_kind(kind: str) -> list[StatusRow]:
    """Return all rows of a kind, the freshest first."""
    with connection():
        rows = fetch(
            """SELECT name, kind, data,
                      extract(epoch FROM clock_timestamp() - seen_at)::float AS age_seconds
               FROM process_status WHERE kind = %s ORDER BY seen_at DESC""",
            (kind,),
        )
    return [StatusRow(**row) for row in rows]


def swap(name: str, kind: str, data: Mapping[str, Any], *, expected: Mapping[str, Any]) -> bool:
    """Write a row only while it still holds `expected` (or is missing); tells whether it did.

    Opens its own transaction. Two schedulers that both leave a state cannot both win.
    """
    with transaction():
        rows = fetch("SELECT data FROM process_status WHERE name = %s FOR UPDATE", (name,))
        if rows and rows[0]["data"] != dict(expected):
            return False
        _put(name, kind, data)
        return True


def database_epoch() -> float:
    """Return the database clock in seconds since 1970."""
    with connection():
        return float(fetch("SELECT extract(epoch FROM clock_timestamp())::float AS now")[0]["now"])
