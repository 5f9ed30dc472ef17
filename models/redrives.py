"""Redrives: the one way out of `failed`, by the owner of an import or by an operator.

Same child ID, same message, one run more; the event says who. What is done stays done.
"""

from __future__ import annotations

from collections.abc import Sequence

from models.children import find_type
from models.database import retried, transaction
from models.errors import Conflict
from models.locks import Locked, lock, lock_batch, lock_own
from models.states import ChildStatus, ImportType, ItemState
from models.transitions import reopen_all


@retried
def retry_import(subject: str, import_type: ImportType, child_id: str) -> None:
    """Start one of the subject's failed imports anew.

    Raises NotFound, Conflict("not_failed"), Conflict("source_expired").
    """
    with transaction():
        _reopen_failed([lock_own(subject, import_type, child_id)], "retried", "web", subject)


@retried
def retry_batch(subject: str, batch_id: str) -> int:
    """Start a batch's failed items anew; returns how many.

    Raises NotFound, Conflict("not_failed") when nothing has failed, Conflict("source_expired").
    """
    with transaction():
        _, rows = lock_batch(subject, batch_id)
        return _reopen_failed(rows, "retried", "web", subject)


@retried
def redrive(child_id: str, *, actor: str) -> None:
    """Start any failed import anew for an operator.

    Raises NotFound, Conflict("not_failed"), Conflict("source_expired").
    """
    import_type = find_type(child_id)
    with transaction():
        _reopen_failed([lock(import_type, child_id)], "redriven", "operator", actor)


def _reopen_failed(rows: Sequence[Locked], event: str, component: str, actor: str) -> int:
    failed = [
        row
        for row in rows
        if row.state is ItemState.FAILED and row.status is ChildStatus.FAILED and not row.deleted
    ]
    if not failed:
        raise Conflict("not_failed")
    kept = [row for row in failed if not row.source_expired]
    if not kept:
        raise Conflict("source_expired")
    reopen_all(kept, event, component=component, reason="by a person", actor=actor)
    return len(kept)
