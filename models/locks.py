"""The one way to lock an import: the item first, then the child, then look again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from models.database import fetch
from models.errors import NotFound
from models.states import TERMINAL, ChildStatus, ImportType, ItemState, item_state


@dataclass(frozen=True, kw_only=True)
class Locked:
    """One item with its child, both locked for update; `state` is the derived one.

    `sealed` tells that the message still carries a password.
    """

    item_id: str
    batch_id: str
    child_id: str
    type: ImportType
    status: ChildStatus
    state: ItemState
    run: int
    result_sha256: str | None
    owner: str
    dispatched: bool
    deleted: bool
    source_expired: bool
    sealed: bool
    updated_at: datetime
    age_seconds: float

    @property
    def live(self) -> bool:
        """Whether a report or a machine's verdict may still move it."""
        return self.state not in TERMINAL and not self.deleted


#: The columns of Locked over `i` (batch_item) and `c` (the child's table).
_COLUMNS = f"""i.id AS item_id, i.batch_id, c.id AS child_id, c.status, ({item_state()}) AS state,
    c.run, c.result_sha256, c.created_by AS owner, i.dispatched_at IS NOT NULL AS dispatched,
    i.deleted_at IS NOT NULL AS deleted, c.source_expired_at IS NOT NULL AS source_expired,
    coalesce(i.message->'options' ? 'password', false) AS sealed,
    c.updated_at,
    extract(epoch FROM clock_timestamp() - c.created_at)::float AS age_seconds"""


def lock(import_type: ImportType, child_id: str) -> Locked:
    """Lock the item, then the child. Needs an open transaction. Raises NotFound."""
    if not fetch("SELECT id FROM batch_item WHERE job_id = %s FOR UPDATE", (child_id,)):
        raise NotFound(child_id)
    rows = fetch(
        f"""SELECT {_COLUMNS} FROM {import_type} c JOIN batch_item i ON i.job_id = c.id
            WHERE c.id = %s FOR UPDATE OF c""",
        (child_id,),
    )
    if not rows:
        raise NotFound(child_id)
    return _locked(import_type, rows[0])


def lock_own(subject: str, import_type: ImportType, child_id: str) -> Locked:
    """Lock one of the subject's imports. Raises NotFound for strangers and deleted ones."""
    row = lock(import_type, child_id)
    if row.owner != subject or row.deleted:
        raise NotFound(child_id)
    return row


def lock_batch(subject: str, batch_id: str) -> tuple[ImportType, list[Locked]]:
    """Lock one of the subject's batches, then all its items, then their children, ids sorted.

    Needs an open transaction. Raises NotFound for strangers and deleted batches.
    """
    # Not FOR UPDATE: whoever holds an item writes events, whose foreign key shares the batch's key.
    batches = fetch(
        """SELECT type FROM batch
           WHERE id = %s AND created_by = %s AND deleted_at IS NULL FOR NO KEY UPDATE""",
        (batch_id, subject),
    )
    if not batches:
        raise NotFound(batch_id)
    import_type = ImportType(batches[0]["type"])
    fetch("SELECT id FROM batch_item WHERE batch_id = %s ORDER BY id FOR UPDATE", (batch_id,))
    rows = fetch(
        f"""SELECT {_COLUMNS} FROM {import_type} c JOIN batch_item i ON i.job_id = c.id
            WHERE i.batch_id = %s ORDER BY c.id FOR UPDATE OF c""",
        (batch_id,),
    )
    return import_type, [_locked(import_type, row) for row in rows]


def _locked(import_type: ImportType, row: dict[str, Any]) -> Locked:
    return Locked(
        **{
            **row,
            "type": import_type,
            "status": ChildStatus(row["status"]),
            "state": ItemState(row["state"]),
        }
    )
