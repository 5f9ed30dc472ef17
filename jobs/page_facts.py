"""What a result's page may say of its picture and of where its text comes from."""

from __future__ import annotations

import re
from typing import Any

from jobs.errors import ReportInvalid

SOURCES = ("text", "ocr")
IMAGE_KEYS = frozenset({"sha256", "media_type", "width", "height", "size_bytes"})
_MEDIA_TYPES = ("image/webp",)
_DIGEST = re.compile("[0-9a-f]{64}")


def check_page(page: Any) -> None:  # any JSON value
    """Raise ReportInvalid for a page whose facts are not of the form agreed on."""
    if not isinstance(page, dict):
        raise ReportInvalid("page line is not an object")
    image, confidence = page.get("image"), page.get("confidence")
    if image is not None and not (isinstance(image, dict) and _is_image(image)):
        raise ReportInvalid("a page says impossible things of its picture")
    if page.get("source", "text") not in SOURCES:
        raise ReportInvalid("a page says its text comes from nowhere known")
    if confidence is not None and not (type(confidence) in (int, float) and 0 <= confidence <= 1):
        raise ReportInvalid("a page is impossibly sure of its text")


def _is_image(image: dict[str, Any]) -> bool:
    if image.keys() != IMAGE_KEYS or image["media_type"] not in _MEDIA_TYPES:
        return False
    sizes = [image[name] for name in ("width", "height", "size_bytes")]
    numbers = all(type(value) is int and 0 < value < 2**31 for value in sizes)
    return numbers and bool(_DIGEST.fullmatch(str(image["sha256"])))
