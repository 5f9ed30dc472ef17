"""A batch as a zip: every completed result, and a manifest of all items, streamed.

Nothing is collected on the way but the manifest, which stands last because it tells what the
others are; beyond a megabyte it waits on disk. A failure breaks the transfer off, and a zip
without its end does not open.
"""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import IO

from flask import Response, json

from models import batches
from models.children import ChildView
from models.states import ImportType, ItemState
from web import results
from web.downloads import attachment
from web.payloads import NAMES, item_error

ITEMS_AT_A_TIME = 100
MANIFEST = "manifest.json"
_FLUSH_BYTES = 64 * 1024
_MEMORY_BYTES = 1 << 20
_MAX_NAME_BYTES = 200
#: What Windows takes in no name, and separators, though none should have come this far.
_AWKWARD = re.compile(r'[<>:"|?*/\\]')
#: A fixed date: equal batches give equal entries.
_DATE = (1980, 1, 1, 0, 0, 0)

Render = Callable[[str, ChildView], Iterable[bytes]]

_RENDERS: dict[ImportType, dict[str, Render]] = {
    ImportType.PAGE_IMPORT: {
        "md": results.pages_as_markdown,
        "json": results.pages_as_json,
    },
    ImportType.CODE2DES: {
        "ja.md": partial(results.design_as_markdown, language="ja"),
        "en.md": partial(results.design_as_markdown, language="en"),
        "json": results.design_as_json,
    },
}


class _Sink:
    """Takes what zipfile writes until it is handed on; it cannot seek, so zipfile streams."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.size_bytes = 0

    def write(self, data: bytes) -> int:
        """Keep some bytes."""
        self._parts.append(bytes(data))
        self.size_bytes += len(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: what is kept is kept."""

    def take(self) -> bytes:
        """Hand on all that is there."""
        data, self._parts, self.size_bytes = b"".join(self._parts), [], 0
        return data


def archive_download(subject: str, batch_id: str, language: str) -> Response:
    """Return the zip of one batch as a download. Raises NotFound, DatabaseUnavailable."""
    batches.get_batch(subject, batch_id)
    response = Response(batch_archive(subject, batch_id, language), content_type="application/zip")
    response.headers["Content-Disposition"] = attachment(f"torikomi-{batch_id}.zip")
    return response


def batch_archive(subject: str, batch_id: str, language: str) -> Iterator[bytes]:
    """Yield the zip. Raises NotFound, DatabaseUnavailable while iterating."""
    sink = _Sink()
    with (
        tempfile.SpooledTemporaryFile(_MEMORY_BYTES) as manifest,
        zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive,  # type: ignore[call-overload]  # it needs no more than write and flush
    ):
        manifest.write(b'{"batch_id": "%s", "items": [' % batch_id.encode())
        gap = b"\n"
        for view in _items(subject, batch_id):
            names = []
            for ending, render in _renders(view).items():
                names.append(entry_name(view, ending))
                yield from _entry(archive, sink, names[-1], render(subject, view))
            manifest.write(
                gap + json.dumps(_about(view, names, language), ensure_ascii=False).encode()
            )
            gap = b",\n"
        manifest.write(b"\n]}\n")
        manifest.seek(0)
        yield from _entry(archive, sink, MANIFEST, _chunks(manifest))
    yield sink.take()


def _items(subject: str, batch_id: str) -> Iterator[ChildView]:
    cursor = None
    while True:
        found, cursor = batches.list_items(subject, batch_id, cursor=cursor, limit=ITEMS_AT_A_TIME)
        yield from found
        if cursor is None:
            return


def _renders(view: ChildView) -> dict[str, Render]:
    if view.status != ItemState.COMPLETED or view.result_expired_at is not None:
        return {}
    return _RENDERS[ImportType(view.type)]


def _entry(
    archive: zipfile.ZipFile, sink: _Sink, name: str, content: Iterable[bytes]
) -> Iterator[bytes]:
    about = zipfile.ZipInfo(name, _DATE)
    about.compress_type = zipfile.ZIP_DEFLATED
    about.external_attr = 0o600 << 16
    with closing(archive.open(about, "w", force_zip64=True)) as entry:
        for chunk in content:
            entry.write(chunk)
            if sink.size_bytes >= _FLUSH_BYTES:
                yield sink.take()
    yield sink.take()


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(_FLUSH_BYTES):
        yield chunk


def entry_name(view: ChildView, ending: str) -> str:
    """Return the name of an item's file in the zip: its position, then what it was called."""
    name = _AWKWARD.sub("_", view.file_name)
    if len(name.encode()) > _MAX_NAME_BYTES:
        name = view.id
    return f"{view.position + 1:06} {name}.{ending}"


def _about(view: ChildView, names: list[str], language: str) -> dict[str, object]:
    error = item_error(view, language)
    return {
        NAMES[view.type][0]: view.id,
        "custom_id": view.custom_id,
        "file_name": view.file_name,
        "size_bytes": view.size_bytes,
        "sha256": view.sha256,
        "status": str(view.status),
        "error": error.model_dump(mode="json") if error else None,
        "files": names,
    }
