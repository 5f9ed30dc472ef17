"""/api/v1/uploads: files that go straight to S3, many at once, to be used in a batch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from flask import Blueprint
from werkzeug.wrappers import Response

from jobs.bucket import PUT_SECONDS
from models.uploads import NewUpload
from web import direct, shapes
from web.answers import json_answer
from web.api.describing import JSON, JSON_CODES, Answer, described, ok
from web.auth import bearer, current_subject
from web.json_body import json_body
from web.requests import CompleteRequest, UploadRequest
from web.services import services

blueprint = Blueprint("api_uploads", __name__, url_prefix="/api/v1/uploads")


@blueprint.post("")
@bearer
@described(
    ja="S3 へ直接送るための URL を発行する(まとめて 1,000 件まで)",
    body={JSON: UploadRequest},
    answers={201: Answer(content={JSON: shapes.PromisedUploads})},
    codes=(*JSON_CODES, "commit_unknown", "items_invalid", "storage_unavailable"),
)
def create() -> Response:
    """Promise files by name, size and SHA-256, and get a presigned PUT for each."""
    wanted = json_body(UploadRequest)
    began = datetime.now(UTC)
    limit_bytes = services().settings.max_direct_bytes
    made, expires_at = direct.promise(current_subject().id, wanted.files, max_bytes=limit_bytes)
    body = {
        "uploads": [_promised(upload) for upload in made],
        "put_before": (began + timedelta(seconds=PUT_SECONDS)).isoformat(),
        "expires_at": expires_at.isoformat(),
    }
    return json_answer(body, 201)


def _promised(upload: NewUpload) -> dict[str, Any]:
    signed = services().storage.presign_source(
        upload.id,
        file_name=upload.file_name,
        content_type=upload.content_type,
        size_bytes=upload.size_bytes,
        sha256=upload.sha256,
    )
    return {
        "upload_id": upload.id,
        "file_name": upload.file_name,
        "method": "PUT",
        "url": signed.url,
        "headers": dict(signed.headers),
    }


@blueprint.post("/complete")
@bearer
@described(
    ja="届いたファイルを確認する(まとめて 1,000 件まで)",
    body={JSON: CompleteRequest},
    answers=ok(shapes.VerifiedUploads),
    codes=(*JSON_CODES, "commit_unknown", "items_invalid", "storage_unavailable"),
)
def complete() -> Response:
    """Verify uploads that have arrived, so that a large batch of them is made quickly."""
    wanted = json_body(CompleteRequest)
    found = direct.complete(current_subject().id, services().storage, wanted.upload_ids)
    body = [
        {
            "upload_id": each.id,
            "file_name": each.file_name,
            "size_bytes": each.size_bytes,
            "sha256": each.sha256,
            "used": each.used_at is not None,
        }
        for each in found
    ]
    return json_answer({"uploads": body})
