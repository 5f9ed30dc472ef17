"""The original file back to its owner: streamed, always a download, never shown by the browser."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import quote

from werkzeug.wrappers import Response

from jobs.errors import ObjectMissing
from models.children import ChildView
from web.errors import WebError
from web.services import services


def source_download(view: ChildView) -> Response:
    """Stream the source of one import under its own name.

    Raises WebError("source_expired"), StorageUnavailable.
    """
    if view.source_expired_at is not None:
        raise WebError("source_expired")
    try:
        chunks = services().storage.open_source(view.object_key, view.object_version)
    except ObjectMissing as error:
        raise WebError("source_expired") from error
    response = Response(chunks, content_type="application/octet-stream")
    response.content_length = view.size_bytes
    response.headers["Content-Disposition"] = attachment(view.file_name)
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response


def attachment(name: str) -> str:
    """Return a Content-Disposition (RFC 6266) with an ASCII fallback that keeps the extension."""
    fallback = name if name.isascii() else f"file{_ascii_suffix(name)}"
    quoted = fallback.replace("\\", "\\\\").replace('"', '\\"')
    return f"attachment; filename=\"{quoted}\"; filename*=UTF-8''{quote(name, safe='')}"


def _ascii_suffix(name: str) -> str:
    suffix = PurePosixPath(name).suffix
    return suffix if suffix.isascii() else ""
