"""The bucket, and files that clients put into it themselves by presigned requests.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/PresignedUrlUploadObject.html
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from jobs import metrics, s3
from jobs.errors import ObjectMissing, StorageUnavailable
from jobs.findings import offset_of_answer
from jobs.settings import StorageSettings

#: How long a client has to begin its PUT.
PUT_SECONDS = 3600


def source_key(child_id: str) -> str:
    """Return the key of a child's source file."""
    return f"imports/{child_id}/source"


@dataclass(frozen=True, kw_only=True)
class PresignedPut:
    """A PUT that a client may send as it is; S3 refuses another length or other bytes."""

    url: str
    headers: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class FoundObject:
    """What S3 says about an object: `sha256` is hex, None when it was stored without one."""

    version: str | None
    size_bytes: int
    sha256: str | None


@dataclass(frozen=True, kw_only=True)
class BucketFacts:
    """What S3 says about the bucket itself."""

    versioned: bool
    clock_offset_seconds: float | None


class Bucket:
    """One bucket through one boto3 client, for all threads. Building it needs no network."""

    def __init__(self, settings: StorageSettings) -> None:
        self.bucket = settings.s3_bucket
        self._client = s3.client(settings)

    def check(self) -> None:
        """Ask S3 whether the bucket answers. Raises StorageUnavailable."""
        try:
            self._call("head_bucket")
        except ObjectMissing as error:
            raise StorageUnavailable("bucket does not exist") from error

    def facts(self) -> BucketFacts:
        """Ask S3 about the bucket, for `doctor`. Raises StorageUnavailable."""
        self.check()
        answer = self._call("get_bucket_versioning")
        return BucketFacts(
            versioned=answer.get("Status") == "Enabled",
            clock_offset_seconds=offset_of_answer(answer),
        )

    def presign_source(
        self, child_id: str, *, file_name: str, content_type: str, size_bytes: int, sha256: str
    ) -> PresignedPut:
        """Sign one PUT of exactly these bytes. No network. Raises StorageUnavailable."""
        checksum = base64.b64encode(bytes.fromhex(sha256)).decode("ascii")
        request = {
            "Bucket": self.bucket,
            "Key": source_key(child_id),
            "ContentLength": size_bytes,
            "ContentType": content_type,
            "ChecksumSHA256": checksum,
            "Metadata": {"import-id": child_id, "file-name": quote(file_name, safe="")},
        }
        with s3.translated("presign"):
            url = self._client.generate_presigned_url(
                "put_object", Params=request, ExpiresIn=PUT_SECONDS, HttpMethod="PUT"
            )
        headers = {
            "Content-Length": str(size_bytes),
            "Content-Type": content_type,
            "x-amz-checksum-sha256": checksum,
            "x-amz-meta-import-id": child_id,
            "x-amz-meta-file-name": quote(file_name, safe=""),
        }
        return PresignedPut(url=url, headers=headers)

    def find_source(self, child_id: str) -> FoundObject | None:
        """Return what S3 holds of a child's source, or None. Raises StorageUnavailable."""
        try:
            answer = self._call("head_object", Key=source_key(child_id), ChecksumMode="ENABLED")
        except ObjectMissing:
            return None
        checksum = answer.get("ChecksumSHA256")
        return FoundObject(
            version=answer.get("VersionId"),
            size_bytes=int(answer["ContentLength"]),
            sha256=base64.b64decode(checksum).hex() if checksum else None,
        )

    def _call(self, operation: str, **request: Any) -> dict[str, Any]:
        with metrics.storage_call(operation), s3.translated(operation):
            answer: dict[str, Any] = getattr(self._client, operation)(Bucket=self.bucket, **request)
            return answer
