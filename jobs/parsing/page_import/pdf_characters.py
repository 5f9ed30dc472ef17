"""Characters and lines of a PDF page as pdfium sees them, with just enough geometry.

Boxes cost a call each, so lines measure only their first and last character.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from ctypes import byref, c_double
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

import pypdfium2.raw as raw

from jobs.parsing.cleaning import clean
from jobs.parsing.page_import import pdfium_calls as calls

_WINDOWS = 4
_WINDOW_CHARACTERS = 40
_FIRST_CJK = 0x2E80
_CJK = re.compile("[\u2e80-\U0010ffff]")
#: how far a line may lean, as a part of its advance
_DRIFT = 0.3


class Line(NamedTuple):
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
    units = len if _units(content) == len(content) else _units
    ruler = _Ruler(textpage, content)
    lines, offset = [], 0
    for part in content.split("\n"):
        text = part.removesuffix("\r")
        seen = text.strip()
        if seen:
            start = offset + units(text[: text.index(seen)])
            lines.append(_line(ruler, text, seen, start, start + units(seen) - 1))
        offset += units(part) + 1
    return lines


def _line(ruler: _Ruler, text: str, seen: str, start: int, end: int) -> Line:
    """Return the line `text`, whose visible part runs from place `start` to `end` of the page."""
    first, last = ruler.index(start), ruler.index(end)
    cleaned = text if text.isprintable() else _without_marks(text)
    broken = seen.endswith(("\ufffe", "\u00ad", "\x02"))
    box = ruler.box(first, last)
    if box is None:
        return Line(cleaned, broken=broken)
    return Line(cleaned, *box, ruler.size(first, last), broken)


def _without_marks(text: str) -> str:
    return clean(text.replace("\x02", "").replace("\u00ad", "")).strip("\n")


class _Ruler:
    """Measures the characters of one page; pdfium fills the same structures over and over."""

    def __init__(self, textpage: Any, content: str) -> None:
        self._page = calls.address(textpage.raw)
        self._first, self._last, self._matrix = raw.FS_RECTF(), raw.FS_RECTF(), raw.FS_MATRIX()
        self._to_first, self._to_last = byref(self._first), byref(self._last)
        self._to_matrix = byref(self._matrix)
        # pdfium leaves some characters out of the text; where it left none, both count alike
        is_whole = textpage.count_chars() == len(content) == _units(content)
        self._content = content if is_whole else ""

    def index(self, place: int) -> int:
        """Return the index of the character at a place in the text, negative if there is none."""
        if self._content:
            return place
        found: int = calls.character_index(self._page, place)
        return found

    def box(self, first: int, last: int) -> tuple[float, float, float, float] | None:
        """Return left, right, bottom and top of a line from its ends; None if they are no use."""
        one, two = self._first, self._last
        found = (
            first >= 0
            and last >= 0
            and calls.character_box(self._page, first, self._to_first)
            and calls.character_box(self._page, last, self._to_last)
        )
        if not found or two.right < one.left:
            return None
        return one.left, two.right, min(one.bottom, two.bottom), max(one.top, two.top)

    def size(self, first: int, last: int) -> float:
        """Return the size of the middle and the first character, or of three that differ."""
        middle, start = self._size_at((first + last) // 2), self._size_at(first)
        if middle == start and middle is not None:
            return middle
        known = [s for s in (middle, start, self._size_at(last)) if s is not None]
        return median(known) if known else 0.0

    def _size_at(self, index: int) -> float | None:
        page, matrix = self._page, self._matrix
        # pdfium makes up spaces and line ends, nothing else
        may_be_made = not self._content or self._content[index].isspace()
        if may_be_made and calls.is_generated(page, index) == 1:
            return None
        if not calls.character_matrix(page, index, self._to_matrix):
            return None
        size: float = calls.font_size(page, index) * math.hypot(matrix.c, matrix.d)
        return round(2 * size) / 2


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def characters(textpage: Any) -> Iterator[Character]:
    """Yield the visible characters of a page in stream order, without generated ones."""
    page, box = calls.address(textpage.raw), raw.FS_RECTF()
    for index in range(textpage.count_chars()):
        if calls.is_generated(page, index) == 1:
            continue
        if not calls.character_box(page, index, byref(box)):
            continue
        text = chr(calls.code_point(page, index) or 0xFFFE)
        if text.strip() and clean(text):
            yield Character(text, box.left, box.right, box.bottom, box.top)


def is_vertical(textpage: Any, content: str) -> bool:
    """Say whether most Japanese text of the page, whose text is `content`, advances downwards."""
    if not _CJK.search(content):
        return False
    total = textpage.count_chars()
    down = across = 0
    for start in range(0, total, max(_WINDOW_CHARACTERS, total // _WINDOWS)):
        places = _places(textpage, start, min(total, start + _WINDOW_CHARACTERS))
        for (x1, y1), (x2, y2) in pairwise(places):
            right, fall = x2 - x1, y1 - y2
            down += fall > 0 and abs(right) < _DRIFT * fall
            across += right > 0 and abs(fall) < _DRIFT * right
        if across > _WINDOWS * _WINDOW_CHARACTERS // 2:
            return False
    return down > across and down >= 3


def _places(textpage: Any, start: int, stop: int) -> list[tuple[float, float]]:
    """Return the origins of the Japanese characters between two indices."""
    page, x, y = calls.address(textpage.raw), c_double(), c_double()
    found = []
    for index in range(start, stop):
        if calls.code_point(page, index) >= _FIRST_CJK:
            calls.character_origin(page, index, byref(x), byref(y))
            found.append((x.value, y.value))
    return found
