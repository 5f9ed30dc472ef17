"""Ruled tables of a PDF page: lines that cross make a grid, text falls into its cells.

Only tables with drawn lines are found. Cells without a line between them are one cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from ctypes import byref, c_float, c_int, c_ushort, sizeof
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from jobs.parsing.page_import import pdfium_calls as calls
from jobs.parsing.page_import.pdf_blocks import join
from jobs.parsing.page_import.pdf_characters import Line
from jobs.parsing.page_import.pdfium_calls import Address

_TOLERANCE = 3.0
_THIN = 2.5
_MIN_LENGTH = 6.0
_MAX_RULES = 1_000
_MAX_PATHS = 20_000
#: forms may hold forms
_MAX_DEPTH = 3
_MAX_CELLS = 5_000
_MIN_FILLED = 4
#: a cell with more lines is no cell: the table has borders around it but none inside
_MAX_CELL_LINES = 8
#: more UTF-16 units than most cells have
_USUAL_UNITS = 1_024
_PATH, _FORM = raw.FPDF_PAGEOBJ_PATH, raw.FPDF_PAGEOBJ_FORM


class Rule(NamedTuple):
    """A drawn line along one axis: at `at` on the other axis, from `start` to `end`."""

    across: bool
    at: float
    start: float
    end: float


@dataclass(frozen=True)
class RuledTable:
    """A table with its place on the page; `rows` are cell texts from the top."""

    left: float
    bottom: float
    right: float
    top: float
    rows: list[list[str]]

    def holds(self, line: Line) -> bool:
        """Say whether the middle of `line` is inside the table."""
        x, y = (line.left + line.right) / 2, (line.bottom + line.top) / 2
        return line.size > 0 and self.left <= x <= self.right and self.bottom <= y <= self.top


def find_tables(page: Any, textpage: Any) -> list[RuledTable]:
    """Return the ruled tables of a page, from the top; nothing when it has too many lines."""
    rules = list(islice(_rules(page), _MAX_RULES + 1))
    if len(rules) > _MAX_RULES:
        return []
    found = (_table(group, textpage) for group in _connected(rules))
    return sorted((t for t in found if t is not None), key=lambda t: (-t.top, t.left))


def split_at_tables(
    lines: Sequence[Line], tables: Sequence[RuledTable]
) -> Iterator[tuple[list[Line], RuledTable | None]]:
    """Yield runs of lines outside tables, each with the table that follows it.

    The lines inside a table are dropped: its cells have their text.
    """
    waiting = list(tables)
    run: list[Line] = []
    for line in lines:
        table = next((t for t in tables if t.holds(line)), None)
        if table is None:
            run.append(line)
        elif table in waiting:
            waiting.remove(table)
            yield run, table
            run = []
    yield run, None


def _rules(page: Any) -> Iterator[Rule]:
    box = (c_float * 4)()
    edges = [byref(box, index * sizeof(c_float)) for index in range(4)]
    holder = calls.address(page.raw)
    paths = _paths(holder, calls.page_object, calls.count_page_objects(holder))
    for path in islice(paths, _MAX_PATHS):
        if not calls.object_bounds(path, *edges):
            continue
        left, bottom, right, top = box
        if top - bottom <= _THIN and right - left >= _MIN_LENGTH:
            yield Rule(True, (top + bottom) / 2, left, right)
        elif right - left <= _THIN and top - bottom >= _MIN_LENGTH:
            yield Rule(False, (left + right) / 2, bottom, top)
        elif _is_stroked(path):
            yield from _segments(path)


def _paths(
    holder: Address, get: Callable[[Address, int], Address], count: int, depth: int = 1
) -> Iterator[Address]:
    """Yield the paths of a page or a form, those of the forms in it too."""
    type_of = calls.object_type
    for index in range(count):
        found = get(holder, index)
        kind = type_of(found)
        if kind == _PATH:
            yield found
        elif kind == _FORM and depth < _MAX_DEPTH:
            inside = calls.count_form_objects(found)
            yield from _paths(found, calls.form_object, inside, depth + 1)


def _is_stroked(path: Address) -> bool:
    fill, stroke = c_int(), c_int()
    calls.path_mode(path, byref(fill), byref(stroke))
    return bool(stroke.value)


def _segments(path: Address) -> Iterator[Rule]:
    matrix, x, y = raw.FS_MATRIX(), c_float(), c_float()
    calls.object_matrix(path, byref(matrix))
    to_page = pdfium.PdfMatrix.from_raw(matrix)
    start = here = (0.0, 0.0)
    for index in range(calls.count_segments(path)):
        segment = calls.path_segment(path, index)
        calls.segment_point(segment, byref(x), byref(y))
        point = to_page.on_point(x.value, y.value)
        kind = calls.segment_type(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            start = point
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield from _rule(here, point)
        here = point
        if calls.segment_closes(segment):
            yield from _rule(here, start)


def _rule(one: tuple[float, float], two: tuple[float, float]) -> Iterator[Rule]:
    (x1, y1), (x2, y2) = one, two
    if abs(y1 - y2) < 0.5 and abs(x1 - x2) >= _MIN_LENGTH:
        yield Rule(True, (y1 + y2) / 2, min(x1, x2), max(x1, x2))
    elif abs(x1 - x2) < 0.5 and abs(y1 - y2) >= _MIN_LENGTH:
        yield Rule(False, (x1 + x2) / 2, min(y1, y2), max(y1, y2))


def _touch(one: Rule, two: Rule) -> bool:
    if one.across == two.across:
        near = abs(one.at - two.at) <= _TOLERANCE
        return near and one.start <= two.end + _TOLERANCE and two.start <= one.end + _TOLERANCE
    return (
        one.start - _TOLERANCE <= two.at <= one.end + _TOLERANCE
        and two.start - _TOLERANCE <= one.at <= two.end + _TOLERANCE
    )


def _connected(rules: Sequence[Rule]) -> list[list[Rule]]:
    groups: list[list[Rule]] = []
    for rule in rules:
        joined = [group for group in groups if any(_touch(rule, other) for other in group)]
        merged = [rule, *(other for group in joined for other in group)]
        groups = [group for group in groups if group not in joined]
        groups.append(merged)
    return groups


def _positions(values: Sequence[float]) -> list[float]:
    found: list[float] = []
    for value in sorted(values):
        if not found or value - found[-1] > _TOLERANCE:
            found.append(value)
    return found


def _table(group: Sequence[Rule], textpage: Any) -> RuledTable | None:
    xs = _positions([rule.at for rule in group if not rule.across])
    ys = _positions([rule.at for rule in group if rule.across])[::-1]
    if len(xs) < 3 or len(ys) < 3 or (len(xs) - 1) * (len(ys) - 1) > _MAX_CELLS:
        return None
    grid = _Grid(group, textpage, xs)
    rows = [grid.read_row(top, bottom) for top, bottom in zip(ys, ys[1:], strict=False)]
    rows = [row for row in rows if any(row)]
    filled = sum(bool(cell) for row in rows for cell in row)
    if len(rows) < 2 or filled < _MIN_FILLED or grid.most_lines > _MAX_CELL_LINES:
        return None
    return RuledTable(xs[0], ys[-1], xs[-1], ys[0], rows)


class _Grid:
    """Reads the cells of one table; `most_lines` tells whether rows are missing their rules."""

    def __init__(self, group: Sequence[Rule], textpage: Any, xs: Sequence[float]) -> None:
        self._group = group
        self._textpage = textpage
        self._page = calls.address(textpage.raw)
        self._room = (c_ushort * _USUAL_UNITS)()
        self._xs = xs
        self.most_lines = 0

    def read_row(self, top: float, bottom: float) -> list[str]:
        """Return the cells between two horizontal rules; a wide cell is followed by empty ones."""
        texts: list[str] = []
        last = len(self._xs) - 1
        while len(texts) < last:
            start = end = len(texts)
            end += 1
            while end < last and not self._is_border(self._xs[end], top, bottom):
                end += 1
            texts.append(self._cell(self._xs[start], bottom, self._xs[end], top))
            texts.extend([""] * (end - start - 1))
        return texts

    def _is_border(self, x: float, top: float, bottom: float) -> bool:
        """Say whether cells part at `x`: by a rule, or where the rule above or below is cut."""
        middle = (top + bottom) / 2
        cut = False
        for rule in self._group:
            if not rule.across and abs(rule.at - x) <= _TOLERANCE:
                if rule.start - _TOLERANCE <= middle <= rule.end + _TOLERANCE:
                    return True
            elif rule.across and min(abs(rule.at - top), abs(rule.at - bottom)) <= _TOLERANCE:
                cut = cut or abs(rule.end - x) <= _TOLERANCE
        return cut and not self._text(x - 1, bottom, x + 1, top).strip()

    def _cell(self, left: float, bottom: float, right: float, top: float) -> str:
        content = self._text(left + 0.5, bottom + 0.5, right - 0.5, top - 0.5)
        lines = [line for line in content.replace("\r", "").split("\n") if line.strip()]
        self.most_lines = max(self.most_lines, len(lines))
        text = ""
        for line in lines:
            text = join(text, line) if text else line
        return text.strip()

    def _text(self, left: float, bottom: float, right: float, top: float) -> str:
        """Return the text of a part of the page; pypdfium2 asks for its length first."""
        count = calls.bounded_text(self._page, left, top, right, bottom, self._room, _USUAL_UNITS)
        if count >= _USUAL_UNITS:
            found: str = self._textpage.get_text_bounded(left, bottom, right, top)
            return found
        text = bytes(memoryview(self._room)[: max(0, count - 1)])  # without the NUL at its end
        return text.decode("utf-16-le", errors="ignore")
