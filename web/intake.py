"""accept(): the only way in, shared by the form and the API.

Each file is streamed to S3 with no transaction open; then one transaction makes all of it true.
Refused or failed, nothing is left but, at worst, an orphan object that the janitor collects.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import structlog
from structlog.contextvars import bind_contextvars, unbind_contextvars

from jobs.errors import StorageUnavailable
from jobs.messages import JobMessage, canonical_json, encode_message
from jobs.storage import Readable, Storage, StoredObject
from models import intake
from models.duplicates import find_earlier
from models.errors import CommitUnknown
from models.idempotency import Completed, Reservation
from models.ids import uuid7
from models.intake import NewImport
from models.states import ImportType
from web.accepted import MAX_SHOWN, accepted
from web.body import READ_BYTES
from web.errors import WebError
from web.formats import check_extension
from web.metrics import UPLOAD_BYTES
from web.multipart_form import IncomingFile
from web.options import Wish, Wishes
from web.reservations import Renewal, reserved
from web.tracing import traced

log = structlog.get_logger(__name__)

_HASH_BYTES = 256 * 1024


@dataclass(frozen=True, kw_only=True)
class Upload:
    """One request to take files in, before a byte of them has moved. `type` rules all files."""

    subject: str
    type: ImportType
    files: Iterable[IncomingFile]
    many: bool
    wishes: Wishes = field(default_factory=Wishes)
    key: str | None = None
    wait_seconds: float = 0
    name: str | None = None
    traceparent: str | None = None


@dataclass(frozen=True)
class Received:
    """One file that has moved: its bytes are in S3, or were only hashed for a replay."""

    file_name: str
    content_type: str
    size_bytes: int
    sha256: str


@traced
def accept(upload: Upload, storage: Storage, *, max_file_bytes: int) -> dict[str, Any]:
    """Take the files in and return the body of the 202; a replay returns the first one's.

    Raises WebError for what is wrong with the request, StorageUnavailable, DatabaseUnavailable,
    CommitUnknown, KeyInProgress.
    """
    with reserved(upload.subject, upload.key, wait_seconds=upload.wait_seconds) as held:
        if isinstance(held, Completed):
            return _replay(upload, held, max_file_bytes)
        renewal = Renewal(held)
        imports: list[NewImport] = []
        try:
            for file in upload.files:
                stream = Checked(file.stream, max_file_bytes, renewal)
                wish = upload.wishes.of(len(imports))
                with _named(file, len(imports)):
                    imports.append(_store(upload, file, wish, stream, storage))
            if not imports:
                raise WebError("file_missing")
            upload.wishes.check_count(len(imports))
            return register(upload, imports, held, _fingerprint(upload, imports))
        except CommitUnknown:
            raise  # the rows may be there, and then they need their objects
        except BaseException:
            for new in imports:
                storage.delete_source(new.object_key, new.object_version)
            raise


@contextmanager
def _named(file: IncomingFile, index: int) -> Iterator[None]:
    """Say of which file a refusal speaks."""
    try:
        yield
    except WebError as error:
        error.errors = [{"pointer": f"/files/{index}", "file_name": file.file_name}]
        raise


def _store(
    upload: Upload, file: IncomingFile, wish: Wish, stream: Checked, storage: Storage
) -> NewImport:
    """Stream one file to S3 under its new child id, which every log line carries from here on."""
    child_id = uuid7()
    bind_contextvars(import_id=child_id)
    check_extension(upload.type, file.file_name)
    stream.prime()
    content_type = clean_content_type(file.content_type)
    try:
        stored = storage.put_source(
            child_id, stream, file_name=file.file_name, content_type=content_type
        )
    except StorageUnavailable as error:
        log.error("source_not_stored", reason=str(error))
        raise
    UPLOAD_BYTES.observe(stored.size_bytes)
    log.info("source_stored", size_bytes=stored.size_bytes)
    stored_at = datetime.now(UTC)
    options = wish.options.told(upload.type, child_id)
    message = job_message(upload, child_id, stored, content_type, stored_at, options)
    return NewImport(
        child_id=child_id,
        file_name=file.file_name,
        content_type=content_type,
        bucket=stored.bucket,
        object_key=stored.key,
        object_version=stored.version,
        size_bytes=stored.size_bytes,
        sha256=stored.sha256,
        stored_at=stored_at,
        request={
            "file_name": file.file_name,
            "type": str(upload.type),
            **wish.request(upload.type),
        },
        message=message.to_json(),
    )


def job_message(
    upload: Upload,
    child_id: str,
    stored: StoredObject,
    content_type: str,
    created_at: datetime,
    options: Mapping[str, Any],
) -> JobMessage:
    """Build what the worker will be told; encoding it here proves that SQS will take it."""
    message = JobMessage(
        import_id=child_id,
        type=str(upload.type),
        bucket=stored.bucket,
        object_key=stored.key,
        object_version=stored.version,
        content_type=content_type,
        size_bytes=stored.size_bytes,
        sha256=stored.sha256,
        created_at=created_at.isoformat(),
        traceparent=upload.traceparent,
        options=options,
    )
    encode_message(message)
    return message


def register(
    upload: Upload,
    imports: list[NewImport],
    held: Reservation | None,
    fingerprint: str,
    *,
    from_uploads: bool = False,
) -> dict[str, Any]:
    """Make the stored files true in one transaction and return the body of the 202."""
    batch_id = uuid7()
    shown = [new.sha256 for new in imports[:MAX_SHOWN]]
    earlier = find_earlier(upload.subject, upload.type, shown)
    body = accepted(upload.type, batch_id, imports, many=upload.many, earlier=earlier)
    if upload.many:
        unbind_contextvars("import_id")
    bind_contextvars(batch_id=batch_id)
    try:
        intake.register(
            subject=upload.subject,
            batch_id=batch_id,
            type=upload.type,
            name=upload.name,
            imports=imports,
            reservation=held,
            fingerprint=fingerprint if held else None,
            response=body if held else None,
            from_uploads=from_uploads,
        )
    except CommitUnknown:
        log.error("commit_unknown", import_ids=[new.child_id for new in imports[:MAX_SHOWN]])
        raise
    if from_uploads:
        log.info("batch_accepted", imports=len(imports))
        return body
    for new in imports:
        log.info("import_accepted", import_id=new.child_id)
    return body


def _replay(upload: Upload, held: Completed, max_file_bytes: int) -> dict[str, Any]:
    """Hash the files without storing them; the same ones get the first request's answer."""
    received = []
    for file in upload.files:
        stream = Checked(file.stream, max_file_bytes, Renewal(None))
        stream.prime()
        digest, size_bytes = hashlib.sha256(), 0
        while chunk := stream.read(_HASH_BYTES):
            digest.update(chunk)
            size_bytes += len(chunk)
        content_type = clean_content_type(file.content_type)
        received.append(Received(file.file_name, content_type, size_bytes, digest.hexdigest()))
    if _fingerprint(upload, received) != held.fingerprint:
        raise WebError("idempotency_key_reused")
    log.info("upload_replayed")
    return held.response


def _fingerprint(upload: Upload, files: Iterable[Received | NewImport]) -> str:
    """Return the digest of everything that makes two requests the same one."""
    content = [[f.file_name, f.content_type, f.size_bytes, f.sha256] for f in files]
    about = [str(upload.type), upload.many, upload.name, content]
    if wished := upload.wishes.print():
        about.append(wished)
    return hashlib.sha256(canonical_json(about)).hexdigest()


def clean_content_type(declared: str) -> str:
    """Return the declared type when it is short printable ASCII; it is data, nothing trusts it."""
    plain = declared.isascii() and declared.isprintable() and 0 < len(declared) <= 255
    return declared if plain else "application/octet-stream"


class Checked:
    """One file's bytes on their way: never empty, never over the limit, the key kept alive."""

    def __init__(self, stream: Readable, max_bytes: int, renewal: Renewal) -> None:
        self._stream, self._max_bytes, self._renewal = stream, max_bytes, renewal
        self._first = b""
        self._size_bytes = 0

    def prime(self) -> None:
        """Read the first bytes. Raises WebError("file_empty") before anything is stored."""
        self._first = self._next(READ_BYTES)
        if not self._first:
            raise WebError("file_empty")

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes. Raises WebError("file_too_large")."""
        if self._first:
            chunk, self._first = self._first[:size], self._first[size:]
            return chunk
        return self._next(size)

    def _next(self, size: int) -> bytes:
        chunk = self._stream.read(size)
        self._size_bytes += len(chunk)
        if self._size_bytes > self._max_bytes:
            raise WebError("file_too_large")
        self._renewal.tick()
        return chunk
