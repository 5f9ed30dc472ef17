"""Bodies of the JSON API. Fields may be added, never renamed."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from models.batches import BatchView
from models.children import ChildView
from models.events import EventView
from models.results import PageView
from models.states import BatchStatus, ImportType, ItemState
from web.catalogue import item_entry

#: type → (name of its id in bodies, its collection in paths)
NAMES: dict[str, tuple[str, str]] = {
    ImportType.PAGE_IMPORT: ("import_id", "imports"),
    ImportType.CODE2DES: ("code2des_id", "code2des"),
}


class Body(BaseModel):
    """Base of every body: frozen, and built from the views by attribute."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


class Progress(Body):
    """How far the worker is, in pages or steps."""

    done: int
    total: int | None


class ItemError(Body):
    """Why an import failed. `message` is in the caller's language.

    `detail` is for whoever looks into it: the worker's own words, in English whatever the caller's
    language; null where there are none.
    """

    code: str
    message: str
    detail: str | None
    retryable: bool


class Child(Body):
    """One import; the id's field name depends on the type."""

    batch_id: str
    type: ImportType
    status: ItemState
    file_name: str
    content_type: str
    size_bytes: int
    sha256: str
    detected_type: str | None
    page_count: int | None
    progress: Progress | None
    error: ItemError | None
    run: int
    created_at: datetime
    dispatched_at: datetime | None
    started_at: datetime | None
    completed_at: datetime | None
    cancelled_at: datetime | None
    custom_id: str | None
    links: dict[str, str]


class PageImport(Child):
    """A document on its way to pages."""

    import_id: str


class Code2Des(Child):
    """Source code on its way to a design document."""

    code2des_id: str


#: The body of a child of each type.
CHILDREN: dict[ImportType, type[Child]] = {
    ImportType.PAGE_IMPORT: PageImport,
    ImportType.CODE2DES: Code2Des,
}


class Counts(Body):
    """How many items are where; the last five sum to total."""

    total: int
    queued: int
    running: int
    completed: int
    failed: int
    cancelled: int


class Batch(Body):
    """One request and what became of it. `status` is "0" running, "1" completed, "2", "3"."""

    batch_id: str
    type: ImportType
    name: str | None
    status: BatchStatus
    counts: Counts
    partial: bool
    created_at: datetime
    links: dict[str, str]


class PageImage(Body):
    """The picture of a page; its bytes never change under this address."""

    url: str
    media_type: str
    width: int
    height: int
    size_bytes: int


class Page(Body):
    """One page of a result. `source` is "ocr" when its text was read from a picture."""

    number: int
    text: str
    markdown: str
    tables: list[list[list[str]]]
    warnings: list[str]
    width: float | None
    height: float | None
    image: PageImage | None
    source: Literal["text", "ocr"]
    confidence: float | None


class Event(Body):
    """One line of an import's history."""

    at: datetime
    component: str
    event: str
    from_status: str | None
    to_status: str
    detail: str | None
    run: int


def child_links(type: str, child_id: str, batch_id: str) -> dict[str, str]:
    """Return where everything about a child is."""
    collection = NAMES[type][1]
    base = f"/api/v1/{collection}/{child_id}"
    result = "pages" if type == ImportType.PAGE_IMPORT else "design"
    return {
        "self": base,
        "batch": f"/api/v1/batches/{batch_id}",
        result: f"{base}/{result}",
        "result": f"{base}/result",
        "source": f"{base}/source",
        "events": f"{base}/events",
        "cancel": f"{base}/cancel",
        "retry": f"{base}/retry",
        "html": f"/{collection}/{child_id}",
    }


def batch_links(batch_id: str) -> dict[str, str]:
    """Return where everything about a batch is."""
    base = f"/api/v1/batches/{batch_id}"
    return {
        "self": base,
        "items": f"{base}/items",
        "export": f"{base}/export",
        "cancel": f"{base}/cancel",
        "retry": f"{base}/retry",
        "html": f"/batches/{batch_id}",
    }


def item_error(view: ChildView, language: str) -> ItemError | None:
    """Return why the child failed, in words."""
    if view.status != ItemState.FAILED:
        return None
    # An item without a child's code was given up by dispatch.
    entry = item_entry(view.error_code or "exhausted")
    words = entry.text(language)
    return ItemError(
        code=view.error_code or entry.code,
        message=words.title,
        detail=view.error_message,
        retryable=entry.retryable,
    )


def child(view: ChildView, language: str) -> dict[str, Any]:
    """Return the body of one child."""
    progress = None
    if view.progress_done is not None:
        progress = Progress(done=view.progress_done, total=view.progress_total)
    fields = {name: getattr(view, name) for name in Child.model_fields if hasattr(view, name)}
    id_name = NAMES[view.type][0]
    body = CHILDREN[ImportType(view.type)](
        **fields,
        **{id_name: view.id},
        progress=progress,
        error=item_error(view, language),
        links=child_links(view.type, view.id, view.batch_id),
    )
    return {id_name: view.id, **body.model_dump(mode="json")}


def batch(view: BatchView) -> dict[str, Any]:
    """Return the body of one batch."""
    body = Batch(
        batch_id=view.id,
        type=view.type,
        name=view.name,
        status=view.status,
        counts=Counts.model_validate(view.counts),
        partial=view.partial,
        created_at=view.created_at,
        links=batch_links(view.id),
    )
    return body.model_dump(mode="json")


def page(view: PageView) -> dict[str, Any]:
    """Return the body of one page."""
    image = None
    if view.image is not None:
        url = f"/api/v1/imports/{view.import_id}/pages/{view.number}/image"
        image = PageImage(url=url, **_fields(view.image, PageImage))
    return Page(**_fields(view, Page), image=image).model_dump(mode="json")


def _fields(view: object, body: type[Body]) -> dict[str, Any]:
    """Return what a view says plainly of a body's fields."""
    names = body.model_fields.keys() - {"image", "url"}
    return {name: getattr(view, name) for name in names}


def event(view: EventView) -> dict[str, Any]:
    """Return the body of one event."""
    return Event.model_validate(view).model_dump(mode="json")
