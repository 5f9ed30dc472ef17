"""Characters and lines of a PDF page as pdfium sees them, with just enough geometry.

Boxes cost a call each, so lines measure only their first and last character.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

import pypdfium2.raw as raw

from jobs.parsing.cleaning import clean

_WINDOWS = 4
_WINDOW_CHARACTERS = 40
_FIRST_CJK = 0x2E80
#: how far a line may lean, as a part of its advance
_DRIFT = 0.3


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of text; lengths in points, `size` 0 where the geometry is of no use.

    `broken` marks a word that pdfium says goes on in the next line.
    """

    text: str
    left: float = 0.0
    right: float = 0.0
    bottom: float = 0.0
    top: float = 0.0
    size: float = 0.0
    broken: bool = False


class Character(NamedTuple):
    """One character with the box of its em square."""

    text: str
    left: float
    right: float
    bottom: float
    top: float

    @property
    def center_x(self) -> float:
        return (self.left + self.right) / 2

    @property
    def center_y(self) -> float:
        return (self.bottom + self.top) / 2


def read_lines(textpage: Any, content: str) -> list[Line]:
    """Return the lines of a page, whose whole text is `content`, without empty ones."""
    units = len if not content or max(content) < "\U00010000" else _units
    lines, offset = [], 0
    for part in content.split("\n"):
        text = part.removesuffix("\r")
        if text.strip():
            lines.append(_line(textpage.raw, text, offset, units))
        offset += units(part) + 1
    return lines


def _line(handle: Any, text: str, offset: int, units: Callable[[str], int]) -> Line:
    stripped = text.lstrip()
    start = offset + units(text[: len(text) - len(stripped)])
    end = offset + units(text.rstrip()) - 1
    broken = stripped.rstrip().endswith(("\ufffe", "\u00ad", "\x02"))
    cleaned = text if text.isprintable() else _without_marks(text)
    first_index = raw.FPDFText_GetCharIndexFromTextIndex(handle, start)
    last_index = raw.FPDFText_GetCharIndexFromTextIndex(handle, end)
    first, last = raw.FS_RECTF(), raw.FS_RECTF()
    found = (
        first_index >= 0
        and last_index >= 0
        and raw.FPDFText_GetLooseCharBox(handle, first_index, first)
        and raw.FPDFText_GetLooseCharBox(handle, last_index, last)
    )
    if not found or last.right < first.left:
        return Line(text=cleaned, broken=broken)
    return Line(
        text=cleaned,
        left=first.left,
        right=last.right,
        bottom=min(first.bottom, last.bottom),
        top=max(first.top, last.top),
        size=_size(handle, first_index, last_index),
        broken=broken,
    )


def _without_marks(text: str) -> str:
    return clean(text.replace("\x02", "").replace("\u00ad", "")).strip("\n")


def _size(handle: Any, first: int, last: int) -> float:
    """Return the size of the middle and the first character, or of three that differ."""
    sizes: list[float] = []
    for index in ((first + last) // 2, first, last):
        if raw.FPDFText_IsGenerated(handle, index) == 1:
            continue
        matrix = raw.FS_MATRIX()
        if raw.FPDFText_GetMatrix(handle, index, matrix):
            scale = math.hypot(matrix.c, matrix.d)
            sizes.append(round(2 * raw.FPDFText_GetFontSize(handle, index) * scale) / 2)
        if len(sizes) == 2 and sizes[0] == sizes[1]:
            break
    return median(sizes) if sizes else 0.0


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _box(textpage: Any, index: int) -> Character | None:
    rectangle = raw.FS_RECTF()
    if index < 0 or not raw.FPDFText_GetLooseCharBox(textpage, index, rectangle):
        return None
    text = chr(raw.FPDFText_GetUnicode(textpage, index) or 0xFFFE)
    return Character(text, rectangle.left, rectangle.right, rectangle.bottom, rectangle.top)


def characters(textpage: Any, start: int = 0, count: int | None = None) -> Iterator[Character]:
    """Yield the visible characters of a page in stream order, without generated ones."""
    total = raw.FPDFText_CountChars(textpage)
    stop = total if count is None else min(total, start + count)
    for index in range(start, stop):
        if raw.FPDFText_IsGenerated(textpage, index) == 1:
            continue
        box = _box(textpage, index)
        if box is not None and box.text.strip() and clean(box.text):
            yield box


def is_vertical(textpage: Any, content: str) -> bool:
    """Say whether most Japanese text of the page, whose text is `content`, advances downwards."""
    if not content or max(content) < chr(_FIRST_CJK):
        return False
    handle = textpage.raw
    total = raw.FPDFText_CountChars(handle)
    down = across = 0
    step = max(_WINDOW_CHARACTERS, total // _WINDOWS)
    for start in range(0, total, step):
        places = _places(handle, start, min(total, start + _WINDOW_CHARACTERS))
        for (x1, y1), (x2, y2) in zip(places, places[1:], strict=False):
            right, fall = x2 - x1, y1 - y2
            down += fall > 0 and abs(right) < _DRIFT * fall
            across += right > 0 and abs(fall) < _DRIFT * right
    return down > across and down >= 3


def _places(handle: Any, start: int, stop: int) -> list[tuple[float, float]]:
    """Return the origins of the Japanese characters between two indices."""
    x, y = ctypes.c_double(), ctypes.c_double()
    found = []
    for index in range(start, stop):
        if raw.FPDFText_GetUnicode(handle, index) >= _FIRST_CJK:
            raw.FPDFText_GetCharOrigin(handle, index, x, y)
            found.append((x.value, y.value))
    return found
