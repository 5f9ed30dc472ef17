"""Ruled tables of a PDF page: lines that cross make a grid, text falls into its cells.

Only tables with drawn lines are found. Cells without a line between them are one cell.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from jobs.parsing.page_import.pdf_blocks import join
from jobs.parsing.page_import.pdf_characters import Line

_TOLERANCE = 3.0
_THIN = 2.5
_MIN_LENGTH = 6.0
_MAX_RULES = 1_000
_MAX_PATHS = 20_000
_MAX_CELLS = 5_000
_MIN_FILLED = 4
#: a cell with more lines is no cell: the table has borders around it but none inside
_MAX_CELL_LINES = 8


@dataclass(frozen=True)
class Rule:
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
    rules = []
    try:
        for rule in _rules(page):
            rules.append(rule)
            if len(rules) > _MAX_RULES:
                return []
    except pdfium.PdfiumError:
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
    for path in islice(_paths(page), _MAX_PATHS):
        left, bottom, right, top = path.get_bounds()
        if top - bottom <= _THIN and right - left >= _MIN_LENGTH:
            yield Rule(True, (top + bottom) / 2, left, right)
        elif right - left <= _THIN and top - bottom >= _MIN_LENGTH:
            yield Rule(False, (left + right) / 2, bottom, top)
        elif _is_stroked(path):
            yield from _segments(path)


def _paths(page: Any) -> Iterator[Any]:
    """Yield the paths of a page; those inside forms only where there are forms."""
    handle = page.raw
    objects = (
        raw.FPDFPage_GetObject(handle, index) for index in range(raw.FPDFPage_CountObjects(handle))
    )
    typed = [(raw.FPDFPageObj_GetType(found), found) for found in objects if found]
    if any(kind == raw.FPDF_PAGEOBJ_FORM for kind, _ in typed):
        yield from page.get_objects(filter=[raw.FPDF_PAGEOBJ_PATH], max_depth=3)
        return
    for kind, found in typed:
        if kind == raw.FPDF_PAGEOBJ_PATH:
            yield pdfium.PdfObject(found, page=page)


def _is_stroked(path: Any) -> bool:
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPath_GetDrawMode(path, fill, stroke)
    return bool(stroke.value)


def _segments(path: Any) -> Iterator[Rule]:
    matrix = path.get_matrix()
    start = here = (0.0, 0.0)
    for index in range(raw.FPDFPath_CountSegments(path)):
        segment = raw.FPDFPath_GetPathSegment(path, index)
        x, y = ctypes.c_float(), ctypes.c_float()
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        point = matrix.on_point(x.value, y.value)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            start = point
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield from _rule(here, point)
        here = point
        if raw.FPDFPathSegment_GetClose(segment):
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
        return cut and not self._textpage.get_text_bounded(x - 1, bottom, x + 1, top).strip()

    def _cell(self, left: float, bottom: float, right: float, top: float) -> str:
        content = self._textpage.get_text_bounded(left + 0.5, bottom + 0.5, right - 0.5, top - 0.5)
        lines = [line for line in content.replace("\r", "").split("\n") if line.strip()]
        self.most_lines = max(self.most_lines, len(lines))
        text = ""
        for line in lines:
            text = join(text, line) if text else line
        return text.strip()
