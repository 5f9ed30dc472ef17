"""What an operator sees of all subjects: what is silent, what machines gave up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from models.database import connection, fetch
from models.states import ImportType

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
