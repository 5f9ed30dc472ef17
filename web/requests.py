"""JSON bodies that come in."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from models.states import ImportType
from web.json_body import RequestBody
from web.options import Wish

UploadId = Annotated[str, StringConstraints(min_length=36, max_length=36)]

MAX_PROMISES = 1000
MAX_ITEMS = 100_000


class UploadPromise(RequestBody):
    """One file that the client will PUT into S3: exactly these bytes."""

    file_name: Annotated[str, StringConstraints(min_length=1, max_length=255)]
    size_bytes: Annotated[int, Field(ge=1, le=2**53)]
    sha256: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
    content_type: Annotated[str, StringConstraints(max_length=255)] = "application/octet-stream"


class UploadRequest(RequestBody):
    """Files to send, many at once."""

    files: Annotated[list[UploadPromise], Field(min_length=1, max_length=MAX_PROMISES)]


class CompleteRequest(RequestBody):
    """Uploads that have arrived."""

    upload_ids: Annotated[list[UploadId], Field(min_length=1, max_length=MAX_PROMISES)]


class BatchItem(Wish):
    """One upload to import, what the caller calls it, and how it is to be read."""

    upload_id: UploadId


class BatchRequest(RequestBody):
    """A batch made of uploads: all of them or none."""

    type: Annotated[ImportType, Field(strict=False)]
    name: Annotated[str, StringConstraints(min_length=1, max_length=255)] | None = None
    items: Annotated[list[BatchItem], Field(min_length=1, max_length=MAX_ITEMS)]
