"""Bodies around those of web.payloads: lists, the answers of an upload, problems, designs."""

from __future__ import annotations

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


class Accepted(Body):
    """One file that was taken in, before any parsing."""

    batch_id: str
    type: ImportType
    status: ItemState
    file_name: str
    size_bytes: int
    sha256: str
    links: dict[str, str]


class AcceptedPageImport(Accepted):
    """A document that was taken in."""

    import_id: str


class AcceptedCode2Des(Accepted):
    """Source code that was taken in."""

    code2des_id: str


class AcceptedBatch(Body):
    """A batch that was taken in, with its children in input order."""

    batch_id: str
    type: ImportType
    status: BatchStatus
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
    document: dict[str, Any] | None
    pages: list[Page]


class Code2DesResult(Body):
    """A whole code2des: what is known about the document, and its design."""

    code2des_id: str
    document: dict[str, Any] | None
    design: dict[str, Any]
    markdown: DesignMarkdown
