"""One multipart upload to S3, part after part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog

from jobs import s3
from jobs.errors import JobsError, StorageUnavailable

log = structlog.get_logger(__name__)


class MultipartUpload:
    """Sequential parts of one object; complete or abort it."""

    def __init__(self, call: Callable[..., dict[str, Any]], about: dict[str, Any]) -> None:
        self._call = call
        self._parts: list[dict[str, Any]] = []
        created = self._call("create_multipart_upload", **about)
        self._name = {"Key": about["Key"], "UploadId": created["UploadId"]}

    def send(self, part: bytes) -> int:
        """Send the next part; return its size."""
        number = len(self._parts) + 1
        answer = self._call("upload_part", **self._name, PartNumber=number, Body=part)
        self._parts.append({"PartNumber": number, "ETag": answer["ETag"]})
        return len(part)

    def complete(self) -> str | None:
        """Make the object, unless the key is taken; return its version."""
        try:
            answer = self._call(
                "complete_multipart_upload",
                **self._name,
                MultipartUpload={"Parts": self._parts},
                IfNoneMatch="*",
            )
        except s3.AlreadyStored as error:
            raise StorageUnavailable("the key is taken") from error
        return answer.get("VersionId")

    def abort(self) -> None:
        """Remove the parts; what fails is left to the bucket's own clean-up rule."""
        try:
            self._call("abort_multipart_upload", **self._name)
        except JobsError as error:
            log.warning("upload_not_aborted", object_key=self._name["Key"], error_code=error.code)
