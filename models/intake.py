"""The one transaction that makes an upload true: rows, messages, answer and wake-up together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from models import events, idempotency, outbox, uploads
from models.database import transaction
from models.events import NewEvent
from models.idempotency import Reservation
from models.states import ChildStatus, ImportType
from models.tables import CHILD_TABLES, Batch, insert_rows


@dataclass(frozen=True, kw_only=True)
class NewImport:
    """One stored file about to be registered. `message` is what the worker will be sent."""

    child_id: str
    file_name: str
    content_type: str
    bucket: str
    object_key: str
    object_version: str | None
    size_bytes: int
    sha256: str
    stored_at: datetime
    request: Mapping[str, Any]
    message: Mapping[str, Any]


def register(
    *,
    subject: str,
    batch_id: str,
    type: ImportType,
    name: str | None,
    imports: Sequence[NewImport],
    reservation: Reservation | None = None,
    fingerprint: str | None = None,
    response: Mapping[str, Any] | None = None,
    from_uploads: bool = False,
) -> None:
    """Commit a batch with its children, items, events and idempotency answer, and wake dispatch.

    `from_uploads`: the imports are uploads of the same IDs, which are used up. Opens its own
    transaction; nothing is sent from here. Raises DatabaseUnavailable, ReservationLost or
    Conflict("upload_used") (nothing was written), or CommitUnknown (the rows may be there).
    """
    if not imports:
        raise ValueError("an empty batch cannot exist")
    audit = {"created_by": subject, "updated_by": subject}
    with transaction():
        if from_uploads:
            uploads.use(subject, [new.child_id for new in imports])
        insert_rows(Batch, [{"id": batch_id, "type": type, "name": name, **audit}])
        insert_rows(
            CHILD_TABLES[type],
            (
                {
                    "id": new.child_id,
                    "batch_id": batch_id,
                    "status": ChildStatus.QUEUED,
                    "bucket": new.bucket,
                    "object_key": new.object_key,
                    "object_version": new.object_version,
                    "file_name": new.file_name,
                    "content_type": new.content_type,
                    "size_bytes": new.size_bytes,
                    "sha256": new.sha256,
                    "stored_at": new.stored_at,
                    **audit,
                }
                for new in imports
            ),
        )
        outbox.enqueue(
            subject=subject,
            batch_id=batch_id,
            items=[(new.child_id, new.request, new.message) for new in imports],
        )
        events.record(
            NewEvent(
                batch_id=batch_id,
                child_id=new.child_id,
                run=1,
                component="web",
                event="accepted",
                from_status=None,
                to_status=ChildStatus.QUEUED,
                owner=subject,
                actor=subject,
            )
            for new in imports
        )
        if reservation is not None:
            idempotency.complete(
                reservation, fingerprint=fingerprint or "", response=response or {}
            )
