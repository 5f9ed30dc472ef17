"""Files that clients put into S3 themselves: promise them, verify them, make a batch of them.

Verifying asks S3 about each object (HEAD), sixteen at a time. A client with many files has them
verified as they arrive, a thousand a request; then a batch of 100,000 asks S3 nothing at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import structlog

from jobs.bucket import source_key
from jobs.messages import canonical_json
from jobs.storage import Storage, StoredObject
from models import uploads
from models.idempotency import Completed
from models.ids import uuid7
from models.intake import NewImport
from models.states import ImportType
from models.uploads import NewUpload, UploadView
from web.errors import WebError
from web.formats import check_extension
from web.intake import Upload, clean_content_type, job_message, register
from web.json_body import MAX_FAULTS, pointer
from web.names import clean_name
from web.requests import BatchItem, UploadPromise
from web.reservations import reserved
from web.tracing import traced

log = structlog.get_logger(__name__)

#: Objects that one request may ask S3 about.
MAX_VERIFIED = 1000
_THREADS = 16


@dataclass(frozen=True)
class Chosen:
    """One item of a batch with the upload that it names."""

    item: BatchItem
    upload: UploadView


class Faults:
    """Collects what is wrong with the parts of one request, each with its place and code."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._found: list[dict[str, str]] = []

    def add(self, place: str, code: str) -> None:
        """Note one fault."""
        self._found.append({"pointer": place, "code": code})

    def check(self, place: str, check: Callable[[], object], *, precise: bool = False) -> None:
        """Note what `check` refuses, `precise` at the place that it names itself."""
        try:
            check()
        except WebError as error:
            self.add(error.errors[0]["pointer"] if precise else place, error.code)

    def raise_if_any(self) -> None:
        """Refuse the whole request, naming at most a hundred places."""
        if self._found:
            raise WebError(self._code, errors=self._found[:MAX_FAULTS])


def promise(
    subject: str, promises: Sequence[UploadPromise], *, max_bytes: int
) -> tuple[list[NewUpload], datetime]:
    """Record what will be sent, and until when it must be used.

    Raises WebError("items_invalid") for all or none.
    """
    faults = Faults("items_invalid")
    for index, each in enumerate(promises):
        faults.check(pointer("files", index, "file_name"), partial(clean_name, each.file_name))
        if each.size_bytes > max_bytes:
            faults.add(pointer("files", index, "size_bytes"), "file_too_large")
    faults.raise_if_any()
    news = [
        NewUpload(
            id=uuid7(),
            file_name=clean_name(each.file_name),
            content_type=clean_content_type(each.content_type),
            size_bytes=each.size_bytes,
            sha256=each.sha256,
        )
        for each in promises
    ]
    return news, uploads.promise(subject, news)


def verify(
    subject: str, storage: Storage, wanted: Iterable[tuple[str, UploadView]], faults: Faults
) -> dict[str, UploadView]:
    """Ask S3 about (place, upload) pairs, pin the version of each that is as promised.

    What is missing or differs is noted in `faults`. Raises StorageUnavailable.
    """
    pairs = list(wanted)
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="verify") as pool:
        found = list(pool.map(storage.find_source, (upload.id for _, upload in pairs)))
    good: dict[str, UploadView] = {}
    for (place, upload), there in zip(pairs, found, strict=True):
        if there is None:
            faults.add(place, "upload_missing")
        elif (there.size_bytes, there.sha256) != (upload.size_bytes, upload.sha256):
            faults.add(place, "upload_mismatch")
        else:
            good[upload.id] = replace(
                upload, object_version=there.version, verified_at=datetime.now(UTC)
            )
    uploads.mark_verified(subject, {each.id: each.object_version for each in good.values()})
    log.info("uploads_verified", verified=len(good), refused=len(pairs) - len(good))
    return good


def complete(subject: str, storage: Storage, ids: Sequence[str]) -> list[UploadView]:
    """Verify uploads that have arrived. Raises WebError("items_invalid"); the good ones stay so."""
    known = uploads.find_uploads(subject, ids)
    faults = Faults("items_invalid")
    for index, each in enumerate(ids):
        if each not in known:
            faults.add(pointer("upload_ids", index), "upload_unknown")
    faults.raise_if_any()
    open_ones = [
        (pointer("upload_ids", index), known[each])
        for index, each in enumerate(ids)
        if known[each].verified_at is None
    ]
    known |= verify(subject, storage, open_ones, faults)
    faults.raise_if_any()
    return [known[each] for each in ids]


def choose(
    subject: str, storage: Storage, type: ImportType, items: Sequence[BatchItem]
) -> list[Chosen]:
    """Find the upload of every item of a batch, each verified. Raises WebError for all or none."""
    known = uploads.find_uploads(subject, [item.upload_id for item in items])
    faults = Faults("items_invalid")
    _check_items(type, items, known, faults)
    faults.raise_if_any()
    open_ones = [
        (pointer("items", index, "upload_id"), known[item.upload_id])
        for index, item in enumerate(items)
        if known[item.upload_id].verified_at is None
    ]
    if len(open_ones) > MAX_VERIFIED:
        raise WebError("uploads_unverified")
    if open_ones:
        verify(subject, storage, open_ones, faults)
        faults.raise_if_any()
        # Another request may have pinned another version first: what is stored counts.
        known = uploads.find_uploads(subject, [item.upload_id for item in items])
    return [Chosen(item, known[item.upload_id]) for item in items]


def _check_items(
    type: ImportType,
    items: Sequence[BatchItem],
    known: dict[str, UploadView],
    faults: Faults,
) -> None:
    seen_uploads: set[str] = set()
    seen_names: set[str] = set()
    for index, item in enumerate(items):
        repeated = item.upload_id in seen_uploads
        if code := _upload_fault(type, known.get(item.upload_id), repeated=repeated):
            faults.add(pointer("items", index, "upload_id"), code)
        seen_uploads.add(item.upload_id)
        if item.options.model_fields_set:
            place = pointer("items", index, "options")
            faults.check(place, partial(item.options.check, type, place), precise=True)
        if item.custom_id is not None:
            if item.custom_id in seen_names:
                faults.add(pointer("items", index, "custom_id"), "custom_id_repeated")
            seen_names.add(item.custom_id)


def _upload_fault(type: ImportType, upload: UploadView | None, *, repeated: bool) -> str | None:
    """Return the code of what is wrong with an item's upload."""
    if upload is None:
        return "upload_unknown"
    if upload.used_at is not None:
        return "upload_used"
    if repeated:
        return "upload_repeated"
    try:
        check_extension(type, upload.file_name)
    except WebError as error:
        return error.code
    return None


@traced
def accept_uploads(upload: Upload, items: Sequence[BatchItem], storage: Storage) -> dict[str, Any]:
    """Make a batch of uploads and return the body of the 202; a replay returns the first one's.

    Raises WebError, Conflict("upload_used"), StorageUnavailable, DatabaseUnavailable,
    CommitUnknown, KeyInProgress.
    """
    content = [[item.upload_id, *item.print()] for item in items]
    about = ["uploads", str(upload.type), upload.name, content]
    fingerprint = hashlib.sha256(canonical_json(about)).hexdigest()
    with reserved(upload.subject, upload.key) as held:
        if isinstance(held, Completed):
            if held.fingerprint != fingerprint:
                raise WebError("idempotency_key_reused")
            return held.response
        chosen = choose(upload.subject, storage, upload.type, items)
        imports = [_new_import(upload, each, storage.bucket) for each in chosen]
        return register(upload, imports, held, fingerprint, from_uploads=True)


def _new_import(upload: Upload, chosen: Chosen, bucket: str) -> NewImport:
    item, sent = chosen.item, chosen.upload
    key = source_key(sent.id)
    stored = StoredObject(bucket, key, sent.object_version, sent.size_bytes, sent.sha256)
    stored_at = sent.verified_at or datetime.now(UTC)
    options = item.options.told(upload.type, sent.id)
    message = job_message(upload, sent.id, stored, sent.content_type, stored_at, options)
    request = {"file_name": sent.file_name, "type": str(upload.type), "upload_id": sent.id}
    return NewImport(
        child_id=sent.id,
        file_name=sent.file_name,
        content_type=sent.content_type,
        bucket=bucket,
        object_key=key,
        object_version=sent.object_version,
        size_bytes=sent.size_bytes,
        sha256=sent.sha256,
        stored_at=stored_at,
        request={**request, **item.request(upload.type)},
        message=message.to_json(),
    )
