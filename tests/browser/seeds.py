"""Imports in every state for one person, written into the product's database past the worker."""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

from local.stack import Stack
from models.ids import uuid7
from tests.browser.conftest import run_sql


def add_import(
    stack: Stack,
    subject: str,
    *,
    name: str = "設計書.pdf",
    type: str = "page_import",
    batch_id: str | None = None,
    position: int = 0,
    cancelled: bool = False,
    **columns: Any,
) -> tuple[str, str]:
    """Insert one import (`columns` of its child); return (batch ID, child ID)."""
    is_new, batch_id, child_id = batch_id is None, batch_id or uuid7(), uuid7()
    now = datetime.now(UTC)
    signed = {"created_by": subject, "updated_by": subject}
    if is_new:
        _insert(stack, "batch", id=batch_id, type=type, **signed)
    child = {
        "status": "queued",
        "content_type": "application/pdf",
        "bucket": "torikomi",
        "object_key": f"imports/{child_id}/source",
        "object_version": "v1",
        "size_bytes": 1_234_567,
        "sha256": hashlib.sha256(child_id.encode()).hexdigest(),
        "stored_at": now,
        "last_report_at": now,
        **columns,
    }
    about = {"id": child_id, "batch_id": batch_id, "file_name": name}
    _insert(stack, type, **about, **child, **signed)
    item = {"id": uuid7(), "batch_id": batch_id, "position": position, "job_id": child_id}
    sent = {"request": {}, "message": {}, "dispatch_attempts": 1, "dispatched_at": now}
    ended = {"cancelled_at": now} if cancelled else {}
    _insert(stack, "batch_item", **item, **sent, **ended, **signed)
    event = {"component": "web", "event": "accepted", "to_status": "queued", "run": 1}
    ids = {"id": uuid7(), "batch_id": batch_id, "child_id": child_id}
    _insert(stack, "job_event", **ids, **event, **signed)
    return batch_id, child_id


def add_pages(stack: Stack, subject: str, *pages: dict[str, Any], **columns: Any) -> str:
    """Insert a completed page import with these pages; return its ID."""
    done = {"status": "completed", "page_count": len(pages), "result_sha256": "0" * 64}
    now = datetime.now(UTC)
    _, child_id = add_import(stack, subject, **{**done, "completed_at": now, **columns})
    for number, page in enumerate(pages, 1):
        content = {"text": "", "markdown": "", "tables": [], "warnings": [], **page}
        signed = {"created_by": subject, "updated_by": "worker"}
        _insert(stack, "page", page_import_id=child_id, number=number, **content, **signed)
    return child_id


def add_design(stack: Stack, subject: str, design: dict[str, Any], ja: str, en: str) -> str:
    """Insert a completed design document; return its import's ID."""
    done = {"status": "completed", "result_sha256": "0" * 64, "completed_at": datetime.now(UTC)}
    _, child_id = add_import(stack, subject, name="app.py", type="code2des", **done)
    texts = {"design": design, "markdown_ja": ja, "markdown_en": en}
    signed = {"created_by": subject, "updated_by": "worker"}
    _insert(stack, "code2des_design", code2des_id=child_id, **texts, **signed)
    return child_id


def _insert(stack: Stack, table: str, **columns: Any) -> None:
    values = [
        json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
        for value in columns.values()
    ]
    places = ", ".join(["%s"] * len(values))
    run_sql(stack, f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", *values)
