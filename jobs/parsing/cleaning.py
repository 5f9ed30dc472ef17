"""Strip from text what neither JSON nor PostgreSQL nor a reader can use.

PostgreSQL refuses U+0000 in text and jsonb, and jsonb refuses lone surrogates; pdfium gives both,
plus control characters and U+FFFE at hyphenated line ends.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

#: what either expression below may change: one look instead of two
_SUSPECT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufdd0-\ufdef\ufeff\ufffe\uffff]"
)
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_UNWANTED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufeff\ufffe\uffff]")


def clean(text: str) -> str:
    """Return `text` with line ends as \\n and without control characters except \\n and \\t."""
    # most strings are printable, which is seen much faster than by expression
    if text.isprintable() or not _SUSPECT.search(text):
        return text
    return _UNWANTED.sub("", _LINE_ENDS.sub("\n", text))


def clean_name(name: str) -> str:
    """Return a file or member name cleaned, on one line and in NFC, as Macs send NFD."""
    return unicodedata.normalize("NFC", clean(name).replace("\n", " "))


def clean_tree(value: Any) -> Any:  # any JSON value
    """Clean every string of a JSON value, keys included."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): clean_tree(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean_tree(item) for item in value]
    return value


def count_removed(text: str) -> int:
    """Return how many characters `clean` would drop from `text`."""
    return len(_UNWANTED.findall(text))
