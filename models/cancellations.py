"""Cancelling and deleting: a person's word, final for whatever is still live.

A cancelled child keeps its status; the item's cancelled_at says it all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from models.children import find_type
from models.database import execute, retried, transaction
from models.errors import Conflict
from models.locks import Locked, lock, lock_batch, lock_own
from models.states import ImportType, ItemState
from models.transitions import note_all

COMPONENT = "web"


@retried
def cancel_import(subject: str, import_type: ImportType, child_id: str) -> None:
    """Cancel one live import for good. Raises NotFound, Conflict("already_terminal")."""
    with transaction():
        row = lock_own(subject, import_type, child_id)
        if not row.live:
            raise Conflict("already_terminal")
        _cancel([row], subject)


@retried
def cancel_any(child_id: str, *, actor: str) -> None:
    """Cancel any live import for an operator. Raises NotFound, Conflict("already_terminal")."""
    import_type = find_type(child_id)
    with transaction():
        row = lock(import_type, child_id)
        if not row.live:
            raise Conflict("already_terminal")
        _cancel([row], actor, component="operator")


@retried
def cancel_batch(subject: str, batch_id: str) -> int:
    """Cancel what still runs of a batch; returns how many items that were.

    Raises NotFound, Conflict("already_terminal") when nothing was left to cancel.
    """
    with transaction():
        _, rows = lock_batch(subject, batch_id)
        live = [row for row in rows if row.live]
        if not live:
            raise Conflict("already_terminal")
        _cancel(live, subject)
        return len(live)


def _cancel(live: Sequence[Locked], subject: str, *, component: str = COMPONENT) -> None:
    execute(
        """UPDATE batch_item SET cancelled_at = clock_timestamp(),
               updated_at = clock_timestamp(), updated_by = %s
           WHERE id = ANY(%s) AND cancelled_at IS NULL""",
        (subject, [row.item_id for row in live]),
    )
    note_all(live, "cancelled", to=ItemState.CANCELLED, component=component, actor=subject)


@retried
def delete_batch(subject: str, batch_id: str) -> int:
    """Hide a batch for good and cancel what still runs of it, in one transaction.

    Returns how many items that were. Raises NotFound. Objects and rows go later, by retention.
    """
    with transaction():
        import_type, rows = lock_batch(subject, batch_id)
        live = [row for row in rows if row.live]
        _cancel(live, subject)
        rows = [replace(row, state=ItemState.CANCELLED) if row.live else row for row in rows]
        for table in ("batch_item", import_type):
            execute(
                f"""UPDATE {table} SET deleted_at = clock_timestamp(), deleted_by = %s,
                       updated_at = clock_timestamp(), updated_by = %s
                   WHERE batch_id = %s AND deleted_at IS NULL""",
                (subject, subject, batch_id),
            )
        execute(
            """UPDATE batch SET deleted_at = clock_timestamp(), deleted_by = %s,
                   updated_at = clock_timestamp(), updated_by = %s
               WHERE id = %s AND deleted_at IS NULL""",
            (subject, subject, batch_id),
        )
        note_all(rows, "deleted", to="deleted", component=COMPONENT, actor=subject)
        return len(live)
