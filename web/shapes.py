"""Bodies around those of web.payloads: lists, the answers of an upload, problems, designs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from models.states import BatchStatus, ImportType, ItemState
from web.payloads import Batch, Body, Code2Des, Event, Page, PageImport


class Fault(Body):
    """One place at fault: a JSON pointer into the request, and what more is known about it."""

    pointer: str
    code: str | None = None
    file_name: str | None = None
    extension: str | None = None


class Problem(Body):
    """RFC 9457. `code` is stable; title and detail are in the caller's language."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    retryable: bool
    request_id: str
    errors: list[Fault]


class AlreadyImported(Body):
    """The caller's newest earlier import of the same bytes, unless it failed or was cancelled."""

    import_id: str | None = None
    code2des_id: str | None = None
    status: ItemState
    created_at: datetime
    link: str


class Accepted(Body):
    """One file that was taken in, before any parsing."""

    batch_id: str
    type: ImportType
    status: ItemState
    file_name: str
    custom_id: str | None
    size_bytes: int
    sha256: str
    already_imported: AlreadyImported | None
    links: dict[str, str]


class AcceptedPageImport(Accepted):
    """A document that was taken in."""

    import_id: str


class AcceptedCode2Des(Accepted):
    """Source code that was taken in."""

    code2des_id: str


class AcceptedBatch(Body):
    """A batch that was taken in; `items` are its first 500 children in input order."""

    batch_id: str
    type: ImportType
    status: BatchStatus
    total: int
    items: list[AcceptedPageImport | AcceptedCode2Des]
    links: dict[str, str]


class BatchList(Body):
    """Batches, newest first."""

    batches: list[Batch]
    next_cursor: str | None


class ItemList(Body):
    """A batch's children in input order."""

    items: list[PageImport | Code2Des]
    next_cursor: str | None


class PageList(Body):
    """Pages in order."""

    pages: list[Page]
    next_cursor: str | None


class EventList(Body):
    """An import's history, oldest first."""

    events: list[Event]


class DesignMarkdown(Body):
    """The design document as Markdown."""

    ja: str
    en: str


class Design(Body):
    """A design document: the code2des/1 model and its Markdown."""

    design: dict[str, Any] = Field(description="The model code2des/1.")
    markdown: DesignMarkdown


class PageImportResult(Body):
    """A whole page import: what is known about the document, and all its pages."""

    import_id: str
    file_name: str
    sha256: str
    document: dict[str, Any] | None
    pages: list[Page]


class Code2DesResult(Body):
    """A whole code2des: what is known about the document, and its design."""

    code2des_id: str
    document: dict[str, Any] | None
    design: dict[str, Any]
    markdown: DesignMarkdown


class PromisedUpload(Body):
    """Where and how to send one file: PUT it to `url` with exactly these headers."""

    upload_id: str
    file_name: str
    method: str
    url: str
    headers: dict[str, str]


class PromisedUploads(Body):
    """What was promised, in the order of the request. Unused uploads are gone at `expires_at`."""

    uploads: list[PromisedUpload]
    put_before: datetime
    expires_at: datetime


class VerifiedUpload(Body):
    """One upload that has arrived as promised."""

    upload_id: str
    file_name: str
    size_bytes: int
    sha256: str
    used: bool


class VerifiedUploads(Body):
    """Uploads that have arrived, in the order of the request."""

    uploads: list[VerifiedUpload]
