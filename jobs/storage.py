"""The object store: source files in, results in, both out again, verified.

Every trouble of S3 or the way to it is StorageUnavailable; only S3's own word that a key or
version does not exist is ObjectMissing. Without ListBucket S3 answers 403 for a missing key, so
403 is trouble of ours, never "missing".
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, unquote

import structlog

from jobs import s3
from jobs.bucket import Bucket, source_key
from jobs.errors import JobsError, ObjectCorrupt, StorageUnavailable
from jobs.multipart import MultipartUpload

#: Size of the parts of a multipart upload; up to one part the upload is one PutObject. The everyday
#: 10 MB fit into one, which spares the requests around the parts. Larger costs more memory.
PART_BYTES = 10 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
_READ_BYTES = 256 * 1024

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class StoredObject:
    """Where a source file is and what its bytes are."""

    bucket: str
    key: str
    version: str | None
    size_bytes: int
    sha256: str


@dataclass(frozen=True)
class SourceMetadata:
    """What the uploader called a source file."""

    file_name: str
    content_type: str


@dataclass(frozen=True)
class ListedObject:
    """One key found by `list_older_than`."""

    key: str
    size_bytes: int
    modified_at: datetime


class Readable(Protocol):
    """A stream of bytes; `read` returns b"" at the end and may return less than asked."""

    def read(self, size: int, /) -> bytes: ...


def result_key(child_id: str, parser_version: str, sha256: str) -> str:
    """Return the key of a result, derived from what it is; never taken from a request."""
    return f"imports/{child_id}/results/{parser_version}-{sha256}"


def picture_key(child_id: str, number: int, sha256: str) -> str:
    """Return the key of a page's picture: bytes that differ never share one."""
    return f"imports/{child_id}/pages/{number}-{sha256}"


class Storage(Bucket):
    """The product's objects in its bucket."""

    def put_source(
        self, child_id: str, stream: Readable, *, file_name: str, content_type: str
    ) -> StoredObject:
        """Store a stream of unknown length, hashing on the way; memory is two parts at most.

        Raises StorageUnavailable, or whatever the stream raises; nothing of a multipart upload is
        left behind then.
        """
        key = source_key(child_id)
        about = {
            "Key": key,
            "ContentType": content_type if content_type.isascii() else "application/octet-stream",
            "Metadata": {"import-id": child_id, "file-name": quote(file_name, safe="")},
        }
        digest = hashlib.sha256()
        part = _read_part(stream)
        digest.update(part)
        # A short look ahead decides, so that two whole parts are never held at once.
        ahead = stream.read(_READ_BYTES) if len(part) == PART_BYTES else b""
        if not ahead:
            version = self._call("put_object", **about, Body=part).get("VersionId")
            return StoredObject(self.bucket, key, version, len(part), digest.hexdigest())
        upload = MultipartUpload(self._call, about)
        try:
            size = upload.send(part)
            while ahead:
                del part
                part = _read_part(stream, ahead)
                digest.update(part)
                size += upload.send(part)
                ahead = stream.read(_READ_BYTES)
            version = upload.complete()
        except BaseException:
            upload.abort()
            raise
        return StoredObject(self.bucket, key, version, size, digest.hexdigest())

    def fetch_source(
        self, key: str, version: str | None, destination: Path, *, size_bytes: int, sha256: str
    ) -> SourceMetadata:
        """Download to `destination` in chunks and check length and digest.

        Raises ObjectMissing, ObjectCorrupt, StorageUnavailable.
        """
        answer = self._get(key, version)
        self._download(answer, destination, size_bytes=size_bytes, sha256=sha256)
        name = unquote(answer.get("Metadata", {}).get("file-name", ""))
        return SourceMetadata(name, str(answer.get("ContentType", "")))

    def open_source(self, key: str, version: str | None) -> Iterator[bytes]:
        """Return the bytes in chunks; the request is made before the first one is asked for.

        Raises ObjectMissing at once, StorageUnavailable also while iterating.
        """
        return _chunks(self._get(key, version))

    def put_result(self, child_id: str, parser_version: str, path: Path) -> tuple[str, int]:
        """Store a result under its own digest, once; return (sha256, size).

        Repeatable: the same bytes already there are as good. Raises StorageUnavailable.
        """
        with path.open("rb") as body:
            digest = hashlib.file_digest(body, "sha256").hexdigest()
        key = result_key(child_id, parser_version, digest)
        with path.open("rb") as body:
            self._create(key, body, "application/gzip")
        return digest, path.stat().st_size

    def put_picture(
        self, child_id: str, number: int, data: bytes, sha256: str, media_type: str
    ) -> None:
        """Store the picture of a page under its own digest, once. Repeatable.

        Raises StorageUnavailable.
        """
        self._create(picture_key(child_id, number, sha256), data, media_type)

    def open_picture(self, child_id: str, number: int, sha256: str) -> Iterator[bytes]:
        """Return the bytes in chunks. Raises ObjectMissing, StorageUnavailable (also late)."""
        return _chunks(self._get(picture_key(child_id, number, sha256), None))

    def _create(self, key: str, body: Any, content_type: str) -> None:
        """Write an object whose key names its bytes; one that is there already is as good."""
        try:
            self._call("put_object", Key=key, Body=body, ContentType=content_type, IfNoneMatch="*")
        except s3.AlreadyStored:
            log.info("object_already_stored", object_key=key)

    def find_result(self, child_id: str, parser_version: str) -> tuple[str, int] | None:
        """Return (sha256, size) of a stored result of this parser version, or None."""
        prefix = result_key(child_id, parser_version, "")
        answer = self._call("list_objects_v2", Prefix=prefix, MaxKeys=1)
        for entry in answer.get("Contents", []):
            return str(entry["Key"]).removeprefix(prefix), int(entry["Size"])
        return None

    def list_results(self, child_id: str) -> Iterator[tuple[str, str, int]]:
        """Yield (parser version, sha256, size) of every stored result of a child."""
        prefix = f"imports/{child_id}/results/"
        for entry in self._list(Prefix=prefix):
            version, _, sha256 = str(entry["Key"]).removeprefix(prefix).rpartition("-")
            yield version, sha256, int(entry["Size"])

    def fetch_result(
        self,
        child_id: str,
        parser_version: str,
        sha256: str,
        size_bytes: int,
        destination: Path,
    ) -> None:
        """Download and check. Raises ObjectMissing, ObjectCorrupt, StorageUnavailable."""
        answer = self._get(result_key(child_id, parser_version, sha256), None)
        self._download(answer, destination, size_bytes=size_bytes, sha256=sha256)

    def delete_source(self, key: str, version: str | None) -> None:
        """Remove a source after a refused request; what fails is left to the orphan collection."""
        try:
            self._call("delete_object", Key=key, **_version(version))
        except JobsError as error:
            log.warning("source_not_removed", object_key=key, error_code=error.code)

    def list_older_than(self, cutoff: datetime, *, after: str = "") -> Iterator[ListedObject]:
        """Yield objects last modified before `cutoff` (aware), in key order, from key `after` on.

        Raises StorageUnavailable while iterating.
        """
        for entry in self._list(Prefix="imports/", StartAfter=after):
            if entry["LastModified"] < cutoff:
                yield ListedObject(entry["Key"], int(entry["Size"]), entry["LastModified"])

    def list_keys(self, prefix: str) -> Iterator[str]:
        """Yield every key under a prefix. Raises StorageUnavailable while iterating."""
        return (str(entry["Key"]) for entry in self._list(Prefix=prefix))

    def _list(self, **request: str) -> Iterator[dict[str, Any]]:
        while True:
            answer = self._call("list_objects_v2", **request)
            yield from answer.get("Contents", [])
            if not answer.get("IsTruncated"):
                return
            request["ContinuationToken"] = answer["NextContinuationToken"]

    def delete(self, key: str) -> int:
        """Remove every version of one key for good; return how many. Raises StorageUnavailable."""
        answer = self._call("list_object_versions", Prefix=key)
        entries = [*answer.get("Versions", []), *answer.get("DeleteMarkers", [])]
        versions = [entry["VersionId"] for entry in entries if entry["Key"] == key]
        for version in versions:
            self._call("delete_object", Key=key, VersionId=version)
        return len(versions)

    def delete_tree(self, prefix: str) -> int:
        """Remove every version of every key under a prefix for good; return how many.

        Raises StorageUnavailable.
        """
        deleted = 0
        while True:
            answer = self._call("list_object_versions", Prefix=prefix)
            entries = [*answer.get("Versions", []), *answer.get("DeleteMarkers", [])]
            if not entries:
                return deleted
            named = [{"Key": e["Key"], "VersionId": e["VersionId"]} for e in entries]
            done = self._call("delete_objects", Delete={"Objects": named, "Quiet": True})
            if done.get("Errors"):
                raise StorageUnavailable(f"delete_objects: {done['Errors'][0].get('Code')}")
            deleted += len(named)

    def _get(self, key: str, version: str | None) -> dict[str, Any]:
        return self._call("get_object", Key=key, **_version(version))

    def _download(
        self, answer: dict[str, Any], destination: Path, *, size_bytes: int, sha256: str
    ) -> None:
        chunks = _chunks(answer)
        with closing(chunks), destination.open("wb") as file:
            if answer.get("ContentLength") != size_bytes:
                raise ObjectCorrupt("object has another length than recorded")
            digest = hashlib.sha256()
            for chunk in chunks:
                digest.update(chunk)
                file.write(chunk)
        if digest.hexdigest() != sha256:
            raise ObjectCorrupt("object has another digest than recorded")


def _version(version: str | None) -> dict[str, str]:
    return {} if version is None else {"VersionId": version}


def _read_part(stream: Readable, ahead: bytes = b"") -> bytes:
    part = io.BytesIO()
    if ahead:  # a whole part is likely: one allocation instead of many that grow
        part.seek(PART_BYTES - 1)
        part.write(b"\0")
        part.seek(0)
        part.write(ahead)
    while (missing := PART_BYTES - part.tell()) > 0:
        chunk = stream.read(min(_READ_BYTES, missing))
        if not chunk:
            break
        part.write(chunk)
    part.truncate()
    return part.getvalue()


def _chunks(answer: dict[str, Any]) -> Generator[bytes, None, None]:
    body = answer["Body"]
    try:
        while True:
            with s3.translated("get_object"):
                chunk = body.read(_CHUNK_BYTES)
            if not chunk:
                return
            yield chunk
    finally:
        body.close()
