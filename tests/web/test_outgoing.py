"""Events that wait while a newer version is deployed are still told."""

from datetime import UTC, datetime

import pytest

from models.endpoints import EventType
from web import outgoing

WHEN = datetime(2026, 11, 30, 20, 2, 1, 5, tzinfo=UTC)
EVENT_ID = "01a22e24-d34f-7bce-a6a8-7019b73b9d1d"
#: What the first version remembered of a page import, a batch and an endpoint. Never change these:
#: rows like them may be waiting. A field that is new since then is None for them.
IMPORT = {
    "id": "01a22e24-d5f8-7dc7-ad0c-cc1bc394981a",
    "batch_id": "01a22e24-d624-7f96-ade1-434902e755f9",
    "item_id": "01a22e24-d624-7f96-ade1-434902e755f8",
    "type": "page_import",
    "position": 0,
    "status": "failed",
    "file_name": "設計書.pdf",
    "content_type": "application/pdf",
    "detected_type": None,
    "size_bytes": 11,
    "sha256": "0" * 64,
    "page_count": None,
    "progress_done": None,
    "progress_total": None,
    "error_code": "file_corrupt",
    "error_message": "broken",
    "run": 1,
    "dispatched_at": "2026-11-30T20:01:01.5+00:00",
    "dispatch_attempts": 1,
    "lease_until": None,
    "created_at": "2026-11-30T20:01:00+00:00",
    "started_at": "2026-11-30T20:01:59+00:00",
    "completed_at": "2026-11-30T20:02:00+00:00",
    "cancelled_at": None,
    "last_report_at": "2026-11-30T20:02:00+00:00",
    "bucket": "torikomi",
    "object_key": "imports/x/source",
    "object_version": "v1",
    "result_sha256": None,
    "source_expired_at": None,
    "result_expired_at": None,
    "created_by": "somebody",
    "custom_id": "row-1",
}
BATCH = {
    "id": "01a22e24-d624-7f96-ade1-434902e755f9",
    "type": "page_import",
    "name": None,
    "status": "2",
    "counts": {"total": 1, "queued": 0, "running": 0, "completed": 0, "failed": 1, "cancelled": 0},
    "partial": False,
    "created_at": "2026-11-30T20:01:00+00:00",
}
ENDPOINT = {
    "id": "01a22e24-d34f-7bce-a6a8-7019b73b9d10",
    "url": "https://hooks.example.com/",
    "event_types": ["import.failed"],
    "description": None,
    "language": "en",
    "enabled": False,
    "disabled_at": "2026-11-30T20:02:00+00:00",
    "disabled_reason": "gone",
    "failing_since": None,
    "previous_secret_until": None,
    "created_at": "2026-11-30T20:01:00+00:00",
    "updated_at": "2026-11-30T20:02:00+00:00",
}


@pytest.mark.parametrize(
    ("event_type", "snapshot", "expected"),
    [
        (
            "import.failed",
            IMPORT,
            {"import_id": IMPORT["id"], "status": "failed", "custom_id": "row-1", "run": 1},
        ),
        ("import.cancelled", {**IMPORT, "type": "code2des"}, {"code2des_id": IMPORT["id"]}),
        ("batch.completed", BATCH, {"batch_id": BATCH["id"], "counts": BATCH["counts"]}),
        ("endpoint.test", ENDPOINT, {"endpoint_id": ENDPOINT["id"]}),
        ("endpoint.disabled", ENDPOINT, {"disabled_reason": "gone", "events": ["import.failed"]}),
    ],
)
def test_what_the_first_version_remembered_is_a_body_of_this_one(event_type, snapshot, expected):
    body = outgoing.event(EVENT_ID, event_type, WHEN, snapshot, "ja")
    assert body["timestamp"] == "2026-11-30T20:02:01.000005Z"
    assert (body["event_id"], body["type"]) == (EVENT_ID, event_type)
    assert expected.items() <= body["data"].items()
    assert outgoing.EVENTS[event_type].model_validate(body)


def test_a_time_is_written_as_the_api_writes_it():
    data = outgoing.event(EVENT_ID, EventType.IMPORT_FAILED, WHEN, IMPORT, "ja")["data"]
    assert data["dispatched_at"] == "2026-11-30T20:01:01.500000Z"
    assert data["error"]["message"] == "ファイルが壊れています"
    assert "bucket" not in data
    assert "created_by" not in data
