"""JSON answers: 202 with its headers, status with ETag, paging values of the query."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from flask import Response, json, request

from models.ids import is_id
from web.errors import RETRY_AFTER_SECONDS, WebError

MAX_LIMIT = 100
DEFAULT_LIMIT = 50
_MAX_CURSOR_CHARS = 512


def json_answer(body: Mapping[str, Any], status: int = 200) -> Response:
    """Return `body` as JSON; a GET carries an ETag and becomes 304 when the caller has it."""
    raw = _encode(body)
    response = Response(raw, status=status, content_type="application/json")
    response.vary.add("Accept-Language")
    if request.method in ("GET", "HEAD") and status == 200:
        response.set_etag(_digest(raw))
        response.make_conditional(request)
    return response


def etag_of(body: Mapping[str, Any]) -> str:
    """Return the ETag that `json_answer` gives to `body`."""
    return _digest(_encode(body))


def _encode(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:32]


def negotiated(*kinds: str) -> str:
    """Return the media type to answer with; the first when the caller does not care.

    Raises WebError("not_acceptable").
    """
    if not request.accept_mimetypes:
        return kinds[0]
    best = request.accept_mimetypes.best_match(kinds)
    if best is None:
        raise WebError("not_acceptable")
    return best


def accepted_answer(body: Mapping[str, Any]) -> Response:
    """Return the 202 of an upload."""
    response = json_answer(body, 202)
    response.headers["Location"] = body["links"]["self"]
    response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


def checked_id(text: str) -> str:
    """Return `text` when it can be an id at all, else 404."""
    if not is_id(text):
        raise WebError("not_found")
    return text


def paging() -> tuple[str | None, int]:
    """Return (cursor, limit) of the query. Raises WebError("cursor_invalid")."""
    cursor = request.args.get("cursor")
    text = request.args.get("limit", str(DEFAULT_LIMIT))
    plain = text.isascii() and text.isdigit() and len(text) <= 3
    if not plain or not 1 <= int(text) <= MAX_LIMIT:
        raise WebError("cursor_invalid", errors=[{"pointer": "/limit"}])
    if cursor is not None and len(cursor) > _MAX_CURSOR_CHARS:
        raise WebError("cursor_invalid", errors=[{"pointer": "/cursor"}])
    return cursor, int(text)
