"""A result as one file to take away: Markdown, plain text or JSON, streamed page by page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from flask import Response, json, stream_with_context

from models.children import ChildView
from models.results import DesignView
from web import payloads
from web.downloads import attachment
from web.errors import WebError
from web.results import pages_of

_KINDS = {
    "markdown": ("md", "text/markdown; charset=utf-8"),
    "text": ("txt", "text/plain; charset=utf-8"),
    "json": ("json", "application/json"),
}


def page_export(subject: str, view: ChildView, kind: str) -> Response:
    """Return all pages of one import. Raises WebError for an unknown kind."""
    if kind == "json":
        parts = _as_json(subject, view)
    elif kind in _KINDS:
        parts = _as_text(subject, view, kind)
    else:
        raise WebError("not_found")
    return _download(view, kind, stream_with_context(parts))


def design_export(view: ChildView, design: DesignView, kind: str, written: str) -> Response:
    """Return a design document. Raises WebError for an unknown kind."""
    if kind == "json":
        return _download(view, kind, iter([_line(design.design)]))
    if kind != "markdown":
        raise WebError("not_found")
    text = design.markdown_ja if written == "ja" else design.markdown_en
    return _download(view, kind, iter([text.encode()]))


def _as_text(subject: str, view: ChildView, kind: str) -> Iterator[bytes]:
    separator = ""
    for page in pages_of(subject, view.id):
        body = page.markdown if kind == "markdown" and page.markdown.strip() else page.text
        yield f"{separator}{body.rstrip()}\n".encode()
        separator = "\n" if kind == "markdown" else "\f"


def _as_json(subject: str, view: ChildView) -> Iterator[bytes]:
    about = {"file_name": view.file_name, "sha256": view.sha256, "document": view.document}
    yield _line(about)[:-2] + b',"pages":['
    separator = b""
    for page in pages_of(subject, view.id):
        yield separator + _line(payloads.page(page)).rstrip()
        separator = b",\n"
    yield b"]}\n"


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _download(view: ChildView, kind: str, parts: Iterator[bytes]) -> Response:
    extension, content_type = _KINDS[kind]
    response = Response(parts, content_type=content_type)
    name = f"{PurePosixPath(view.file_name).stem}.{extension}"
    response.headers["Content-Disposition"] = attachment(name)
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response
