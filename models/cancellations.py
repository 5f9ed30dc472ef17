"""Cancelling: a person's word, final for whatever is still live. The child keeps its status."""

from __future__ import annotations

from models import events
from models.database import execute, fetch, retried, transaction
from models.errors import Conflict, NotFound
from models.events import NewEvent
from models.locks import Locked, lock
from models.states import ImportType, ItemState, item_state
from models.transitions import note


@retried
def cancel_import(subject: str, import_type: ImportType, child_id: str) -> None:
    """Cancel one live import for good. Raises NotFound, Conflict("already_terminal")."""
    with transaction():
        row = lock(import_type, child_id)
        if row.owner != subject or row.deleted:
            raise NotFound(child_id)
        if not row.live:
            raise Conflict("already_terminal")
        _cancel(row, subject)


@retried
def cancel_batch(subject: str, batch_id: str) -> int:
    """Cancel what still runs of a batch; returns how many items that were.

    Raises NotFound, Conflict("already_terminal") when nothing was left to cancel.
    """
    with transaction():
        batches = fetch(
            """SELECT type FROM batch
               WHERE id = %s AND created_by = %s AND deleted_at IS NULL FOR UPDATE""",
            (batch_id, subject),
        )
        if not batches:
            raise NotFound(batch_id)
        import_type = ImportType(batches[0]["type"])
        cancelled = _cancel_live(import_type, batch_id, subject)
        if not cancelled:
            raise Conflict("already_terminal")
        return cancelled


def _cancel(row: Locked, subject: str) -> None:
    execute(
        """UPDATE batch_item SET cancelled_at = clock_timestamp(),
               updated_at = clock_timestamp(), updated_by = %s
           WHERE id = %s AND cancelled_at IS NULL""",
        (subject, row.item_id),
    )
    note(row, "cancelled", to=ItemState.CANCELLED, component="web", actor=subject)


def _cancel_live(import_type: ImportType, batch_id: str, subject: str) -> int:
    """Lock a batch's items, then its children, and cancel the live ones in one statement each."""
    fetch("SELECT id FROM batch_item WHERE batch_id = %s ORDER BY id FOR UPDATE", (batch_id,))
    live = fetch(
        f"""SELECT i.id AS item_id, c.id AS child_id, c.run, ({item_state()}) AS state
            FROM batch_item i JOIN {import_type} c ON c.id = i.job_id
            WHERE i.batch_id = %s AND ({item_state()}) IN ('queued', 'processing')
            ORDER BY c.id FOR UPDATE OF c""",
        (batch_id,),
    )
    execute(
        """UPDATE batch_item SET cancelled_at = clock_timestamp(),
               updated_at = clock_timestamp(), updated_by = %s
           WHERE id = ANY(%s) AND cancelled_at IS NULL""",
        (subject, [row["item_id"] for row in live]),
    )
    events.record(
        NewEvent(
            batch_id=batch_id,
            child_id=row["child_id"],
            run=row["run"],
            component="web",
            event="cancelled",
            from_status=row["state"],
            to_status=ItemState.CANCELLED,
            owner=subject,
            actor=subject,
        )
        for row in live
    )
    return len(live)
