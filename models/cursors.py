"""Opaque cursors of keyset paging: the sort key of the last row shown."""

from __future__ import annotations

import base64
import binascii
import json

from models.errors import Conflict


def encode_cursor(*key: str | int) -> str:
    """Return a URL-safe cursor for the given sort key."""
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def decode_cursor(cursor: str, shape: tuple[type, ...]) -> tuple[str | int, ...]:
    """Return the sort key behind a cursor. Raises Conflict("cursor_invalid") for any other text."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        key = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError) as error:
        raise Conflict("cursor_invalid") from error
    if not isinstance(key, list) or [type(part) for part in key] != list(shape):
        raise Conflict("cursor_invalid")
    if any("\x00" in part for part in key if isinstance(part, str)):
        raise Conflict("cursor_invalid")
    return tuple(key)
