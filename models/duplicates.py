"""Whether a subject has imported the same bytes before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from models.database import connection, fetch
from models.states import ImportType, ItemState, item_state


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """The newest import of the same bytes that has not failed and was not cancelled."""

    id: str
    status: str
    created_at: datetime


def find_earlier(
    subject: str, import_type: ImportType, digests: Sequence[str]
) -> dict[str, Earlier]:
    """Return the earlier import of each SHA-256 that has one."""
    with connection():
        rows = fetch(
            f"""SELECT DISTINCT ON (sha256) sha256, id, status, created_at FROM (
                    SELECT c.sha256, c.id, c.created_at, ({item_state()}) AS status
                    FROM {import_type} c JOIN batch_item i ON i.job_id = c.id
                    WHERE c.created_by = %s AND c.sha256 = ANY(%s) AND c.deleted_at IS NULL
                ) AS same
                WHERE status NOT IN (%s, %s)
                ORDER BY sha256, created_at DESC, id DESC""",
            (subject, list(set(digests)), ItemState.FAILED, ItemState.CANCELLED),
        )
    return {row.pop("sha256"): Earlier(**row) for row in rows}
