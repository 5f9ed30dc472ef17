"""What page imports and code2des jobs share: the view of one child with its derived state."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from models.database import connection, fetch
from models.errors import NotFound
from models.states import ImportType, item_state


@dataclass(frozen=True, kw_only=True)
class ChildView:
    """One child as its subject may see it. `status` is an ItemState word; sizes are bytes."""

    id: str
    batch_id: str
    item_id: str
    position: int
    type: str
    status: str
    file_name: str
    content_type: str
    detected_type: str | None
    size_bytes: int
    sha256: str
    page_count: int | None
    progress_done: int | None
    progress_total: int | None
    error_code: str | None
    error_message: str | None
    run: int
    dispatched_at: datetime | None
    dispatch_attempts: int
    lease_until: datetime | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    cancelled_at: datetime | None
    last_report_at: datetime | None
    bucket: str
    object_key: str
    object_version: str | None
    result_sha256: str | None
    document: dict[str, Any] | None
    source_expired_at: datetime | None
    result_expired_at: datetime | None
    created_by: str
    custom_id: str | None


#: The columns of ChildView over `i` (batch_item) and `c` (the child's table).
CHILD_COLUMNS = f"""
    c.id, i.batch_id, i.id AS item_id, i.position, ({item_state()}) AS status,
    c.file_name, c.content_type, c.detected_type, c.size_bytes, c.sha256, c.page_count,
    c.progress_done, c.progress_total, c.error_code,
    coalesce(c.error_message, i.error_message) AS error_message, c.run, i.dispatched_at,
    i.dispatch_attempts, i.lease_until, c.created_at, c.started_at, c.completed_at,
    i.cancelled_at, c.last_report_at, c.bucket, c.object_key, c.object_version,
    c.result_sha256, c.document, c.source_expired_at, c.result_expired_at, c.created_by,
    i.request->>'custom_id' AS custom_id
"""


def get_child(subject: str, import_type: ImportType, child_id: str) -> ChildView:
    """Return one of the subject's children. Raises NotFound for strangers and deleted batches."""
    with connection():
        rows = fetch(
            f"""SELECT {CHILD_COLUMNS} FROM {import_type} c JOIN batch_item i ON i.job_id = c.id
                JOIN batch b ON b.id = i.batch_id
                WHERE c.id = %s AND c.created_by = %s AND b.deleted_at IS NULL""",
            (child_id, subject),
        )
    if not rows:
        raise NotFound(child_id)
    return ChildView(type=import_type, **rows[0])


def find_type(child_id: str) -> ImportType:
    """Return the type of any child, for operators. Raises NotFound."""
    with connection():
        for import_type in ImportType:
            if fetch(f"SELECT 1 AS found FROM {import_type} WHERE id = %s", (child_id,)):
                return import_type
    raise NotFound(child_id)
