"""A whole result as one streamed answer: JSON, Markdown or plain text.

Pages are read from PostgreSQL a hundred at a time, each time with a connection of its own, so
neither memory nor the pool feels a long result or a slow reader. A failure on the way breaks the
transfer off: a part never looks like the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flask import json

from models import results
from models.children import ChildView
from models.results import PageView
from web import payloads

PAGES_AT_A_TIME = 100


def pages_of(subject: str, child_id: str) -> Iterator[PageView]:
    """Yield every page of a page import, in order."""
    cursor = None
    while True:
        found, cursor = results.list_pages(subject, child_id, cursor=cursor, limit=PAGES_AT_A_TIME)
        yield from found
        if cursor is None:
            return


def pages_as_json(subject: str, view: ChildView) -> Iterator[bytes]:
    """Yield the body of a page import's result: its document and all its pages."""
    about = {
        "import_id": view.id,
        "file_name": view.file_name,
        "sha256": view.sha256,
        "document": view.document,
    }
    head = json.dumps(about, ensure_ascii=False)
    yield f'{head[:-1]}, "pages": ['.encode()
    comma = ""
    for page in pages_of(subject, view.id):
        yield f"{comma}{json.dumps(payloads.page(page), ensure_ascii=False)}".encode()
        comma = ","
    yield b"]}"


def pages_as_markdown(subject: str, view: ChildView) -> Iterator[bytes]:
    """Yield the Markdown of all pages, an empty line between two; the text where there is none."""
    return _joined(
        subject, view, lambda page: page.markdown if page.markdown.strip() else page.text, "\n\n"
    )


def pages_as_text(subject: str, view: ChildView) -> Iterator[bytes]:
    """Yield the text of all pages, a form feed between two."""
    return _joined(subject, view, lambda page: page.text, "\n\f")


#: The formats of a page import's result by their names.
PAGE_RENDERS: dict[str, Callable[[str, ChildView], Iterator[bytes]]] = {
    "json": pages_as_json,
    "markdown": pages_as_markdown,
    "text": pages_as_text,
}


def _joined(
    subject: str, view: ChildView, part: Callable[[PageView], str], between: str
) -> Iterator[bytes]:
    gap = ""
    for page in pages_of(subject, view.id):
        yield f"{gap}{part(page).rstrip()}".encode()
        gap = between
    yield b"\n"


def design_as_json(subject: str, view: ChildView) -> Iterator[bytes]:
    """Yield the body of a code2des's result: its document, its design, its Markdown."""
    found = results.get_design(subject, view.id)
    body = {
        "code2des_id": view.id,
        "document": view.document,
        "design": found.design,
        "markdown": {"ja": found.markdown_ja, "en": found.markdown_en},
    }
    yield json.dumps(body, ensure_ascii=False).encode()


def design_as_markdown(subject: str, view: ChildView, language: str) -> Iterator[bytes]:
    """Yield the design document's Markdown in one language."""
    found = results.get_design(subject, view.id)
    yield (found.markdown_ja if language == "ja" else found.markdown_en).encode()
