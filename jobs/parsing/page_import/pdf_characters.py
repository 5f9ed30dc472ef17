"""Characters and lines of a PDF page as pdfium sees them, with just enough geometry.

Boxes cost a call each, so lines measure only their first and last character.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import pypdfium2.raw as raw

from jobs.parsing.cleaning import clean

_WINDOWS = 4
_WINDOW_CHARACTERS = 60


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


@dataclass(frozen=True)
class Character:
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


def read_lines(textpage: Any) -> list[Line]:
    """Return the lines of a page in pdfium's order, without empty ones."""
    content = textpage.get_text_range()
    lines, offset = [], 0
    for part in content.split("\n"):
        text = part.removesuffix("\r")
        if text.strip():
            lines.append(_line(textpage, text, offset))
        offset += len(part.encode("utf-16-le", "surrogatepass")) // 2 + 1
    return lines


def _line(textpage: Any, text: str, offset: int) -> Line:
    stripped = text.lstrip()
    start = offset + _units(text[: len(text) - len(stripped)])
    end = offset + _units(text.rstrip()) - 1
    first = _box(textpage, raw.FPDFText_GetCharIndexFromTextIndex(textpage, start))
    last = _box(textpage, raw.FPDFText_GetCharIndexFromTextIndex(textpage, end))
    broken = text.rstrip().endswith(("\ufffe", "\u00ad", "\x02"))
    cleaned = clean(text.replace("\x02", "").replace("\u00ad", "")).strip("\n")
    if first is None or last is None or last.right < first.left:
        return Line(text=cleaned, broken=broken)
    return Line(
        text=cleaned,
        left=first.left,
        right=last.right,
        bottom=min(first.bottom, last.bottom),
        top=max(first.top, last.top),
        size=_size(textpage, start, end),
        broken=broken,
    )


def _size(textpage: Any, start: int, end: int) -> float:
    """Return the median size of three characters, to half a point."""
    sizes = []
    for position in (start, (start + end) // 2, end):
        index = raw.FPDFText_GetCharIndexFromTextIndex(textpage, position)
        matrix = raw.FS_MATRIX()
        generated = raw.FPDFText_IsGenerated(textpage, index) == 1
        if index >= 0 and not generated and raw.FPDFText_GetMatrix(textpage, index, matrix):
            scale = math.hypot(matrix.c, matrix.d)
            sizes.append(raw.FPDFText_GetFontSize(textpage, index) * scale)
    return round(2 * median(sizes)) / 2 if sizes else 0.0


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


def is_vertical(textpage: Any) -> bool:
    """Say whether most Japanese text of the page advances downwards."""
    total = raw.FPDFText_CountChars(textpage)
    down = across = 0
    step = max(_WINDOW_CHARACTERS, total // _WINDOWS)
    for start in range(0, total, step):
        window = [(c, _origin(textpage, i)) for i, c in _window(textpage, start, total)]
        for (one, (x1, y1)), (two, (x2, y2)) in zip(window, window[1:], strict=False):
            if ord(one.text) < 0x2E80 or ord(two.text) < 0x2E80:
                continue
            em = max(one.top - one.bottom, 1.0)
            down += abs(x2 - x1) < 0.6 * em and 0.5 * em < y1 - y2 < 2 * em
            across += abs(y2 - y1) < 0.3 * em and 0.3 * em < x2 - x1 < 2 * em
    return down > across and down >= 3


def _window(textpage: Any, start: int, total: int) -> Iterator[tuple[int, Character]]:
    for index in range(start, min(total, start + _WINDOW_CHARACTERS)):
        if raw.FPDFText_IsGenerated(textpage, index) == 1:
            continue
        box = _box(textpage, index)
        if box is not None:
            yield index, box


def _origin(textpage: Any, index: int) -> tuple[float, float]:
    x, y = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(textpage, index, x, y)
    return x.value, y.value
