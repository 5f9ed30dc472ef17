"""File names as they come in: decoded strictly, kept as data, refused when they could deceive."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote_to_bytes

from web.errors import WebError

MAX_NAME_BYTES = 255

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_SEPARATORS = frozenset("/\\")
#: One `; name=value` of a header, quoted strings skipped as a whole (RFC 6266).
_PARAMETER = re.compile(r';\s*([\w!#$%&+^`|~.-]+\*?)\s*=\s*("(?:[^"\\]|\\.)*"|[^;"]*)')


def clean_name(raw: str) -> str:
    """Return the name in NFC, else raise WebError with the code of what is wrong with it."""
    try:
        name = unicodedata.normalize("NFC", raw).strip()
        size_bytes = len(name.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise WebError("file_name_undecodable") from error
    if any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in raw):
        raise WebError("file_name_control")
    if _BIDI & set(name):
        raise WebError("file_name_bidi")
    if _SEPARATORS & set(name) or name in (".", ".."):
        raise WebError("file_name_path")
    if not name:
        raise WebError("file_name_missing")
    if size_bytes > MAX_NAME_BYTES:
        raise WebError("file_name_too_long")
    return name


def header_text(value: str) -> str:
    """Undo WSGI's latin-1 reading of a header. Raises WebError when it is not UTF-8."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError) as error:
        raise WebError("file_name_undecodable") from error


def extended_name(header: str) -> str | None:
    """Return the `filename*` (RFC 8187) of a Content-Disposition header, or None."""
    for key, value in _PARAMETER.findall(header):
        if key.lower() == "filename*":
            return _decode_extended(value.strip())
    return None


def plain_name(header: str) -> str | None:
    """Return the `filename` of a Content-Disposition header, or None."""
    for key, value in _PARAMETER.findall(header):
        if key.lower() == "filename":
            value = value.strip()
            if value.startswith('"'):
                return re.sub(r"\\(.)", r"\1", value[1:-1])
            return str(value)
    return None


def _decode_extended(value: str) -> str:
    charset, _, rest = value.partition("'")
    _, quote, encoded = rest.partition("'")
    if not quote or charset.lower() not in ("utf-8", "iso-8859-1"):
        raise WebError("file_name_undecodable")
    try:
        return unquote_to_bytes(encoded).decode(charset)
    except UnicodeDecodeError as error:
        raise WebError("file_name_undecodable") from error
