"""A result as one file to take away: Markdown, text, JSON, HTML or Excel, streamed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from flask import Response, json, stream_with_context

from models.children import ChildView
from models.results import DesignView
from web.designs.document import stream_document
from web.designs.workbook import write_workbook
from web.downloads import attachment
from web.errors import WebError
from web.markdown import Locate
from web.results import PAGE_RENDERS

_KINDS = {
    "markdown": ("md", "text/markdown; charset=utf-8"),
    "text": ("txt", "text/plain; charset=utf-8"),
    "json": ("json", "application/json"),
    "html": ("html", "text/html; charset=utf-8"),
    "xlsx": ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
}
_COPY_BYTES = 256 * 1024


def page_export(subject: str, view: ChildView, kind: str) -> Response:
    """Return all pages of one import. Raises WebError for an unknown kind."""
    if kind not in PAGE_RENDERS:
        raise WebError("not_found")
    return _download(view, kind, PAGE_RENDERS[kind](subject, view))


def design_export(
    view: ChildView, design: DesignView, kind: str, *, written: str, locate: Locate
) -> Response:
    """Return a design document, written in `ja` or `en`. Raises WebError for an unknown kind."""
    text = design.markdown_ja if written == "ja" else design.markdown_en
    if kind == "json":
        return _download(view, kind, iter([_line(design.design)]))
    if kind == "markdown":
        return _download(view, kind, iter([text.encode()]))
    if kind == "html":
        title = str(design.design["project"]["name"])
        document = stream_document(text, language=written, title=title, locate=locate)
        return _download(view, kind, _encoded(document))
    if kind == "xlsx":
        return _download(view, kind, _workbook(view, design, written, locate))
    raise WebError("not_found")


def _encoded(parts: Iterator[str]) -> Iterator[bytes]:
    return (part.encode() for part in parts)


def _workbook(view: ChildView, design: DesignView, written: str, locate: Locate) -> Iterator[bytes]:
    """Write the workbook beside, then yield it; the file is gone when the reader is."""
    with tempfile.TemporaryDirectory(prefix="torikomi-workbook-") as directory:
        path = Path(directory) / "design.xlsx"
        made = view.completed_at or view.created_at
        write_workbook(design.design, path, language=written, made=made, link=locate)
        with path.open("rb") as book:
            while chunk := book.read(_COPY_BYTES):
                yield chunk


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _download(view: ChildView, kind: str, parts: Iterator[bytes]) -> Response:
    """Return the parts as a download; they are made in the request that asked, while it is sent."""
    extension, content_type = _KINDS[kind]
    response = Response(stream_with_context(parts), content_type=content_type)
    stem = PurePosixPath(view.file_name).stem
    # Of app.tar.gz too only the name is kept.
    name = f"{stem.removesuffix('.tar') or stem}.{extension}"
    response.headers["Content-Disposition"] = attachment(name)
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response
