"""Look through the XML of a worksheet before it is loaded: its size, what calamine leaves out.

calamine lays a sheet out as a full rectangle and aborts the process when it does not fit
(https://github.com/tafia/calamine/issues/693), and gives '' for error cells and midnight for dates
before 1900. A pass over the bytes with a few expressions costs a tenth of the load and tells all
that beforehand; it also finds the cells whose format calamine does not read.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby

from jobs.parsing.page_import.xlsx_styles import NumberStyles

MAX_DENSE_CELLS = 5_000_000
MAX_DENSE_CHARACTERS = 200_000_000
_MAX_TEXTS = 100_000
_MAX_LAYOUT_CELLS = 500_000
_MAX_ROWS = 1_048_576
_MAX_TAIL_BYTES = 4 * 1024 * 1024
_CELL = re.compile(rb"""<(?:\w+:)?c\b[^>]*?\sr=["']([A-Za-z]{1,3})([0-9]{1,7})["']""")
_ANY_CELL = re.compile(rb"<(?:\w+:)?c[\s>/]")
_ERROR = re.compile(
    rb"""<(?:\w+:)?c\b(?=[^>]*\st=["']e["'])[^>]*?\sr=["']([A-Za-z]{1,3})([0-9]{1,7})["'][^>]*>"""
    rb"""(?:(?!</(?:\w+:)?c>).){0,9000}?<(?:\w+:)?v>([^<]{1,40})</""",
    re.DOTALL,
)
_SHARED = re.compile(rb"""<(?:\w+:)?c\b[^>]*?\st=["']s["'][^>]*>\s*<(?:\w+:)?v>([0-9]{1,9})<""")


_STYLED = (
    rb"""<(?:\w+:)?c\b(?=[^>]*?\ss=["'](%s)["'])[^>]*?\sr=["']([A-Za-z]{1,3})([0-9]{1,7})["']"""
)
_FORMULA = rb"""<(?:\w+:)?f\b[^>]*(?:/>|>[^<]*</(?:\w+:)?f>)"""
_BELOW_ZERO = _STYLED + rb"[^>]*>(?:" + _FORMULA + rb")?<(?:\w+:)?v>(-[0-9.eE+-]{1,30})<"
_NO_VALUE = re.compile(
    rb"""<(?:\w+:)?c\b(?![^>]*\st=["']str["'])[^>]*>\s*"""
    + _FORMULA
    + rb"""\s*(?:<(?:\w+:)?v\s*(?:/>|>\s*</(?:\w+:)?v>))?\s*</(?:\w+:)?c>"""
)


@dataclass
class Scan:
    """Bounds, first row and column 0, and odd cells of one sheet; `odd` means: do not trust."""

    rows: tuple[int, int] = (0, -1)
    columns: tuple[int, int] = (0, -1)
    cells: int = 0
    characters: int = 0
    odd: bool = False
    #: what cells say of which calamine gives nothing
    texts: dict[tuple[int, int], str] = field(default_factory=dict)
    formulas_without_value: int = 0
    #: the different rows of styled cells, column → style, and which of them each row is
    layouts: list[Mapping[int, int]] = field(default_factory=lambda: [{}])
    row_layouts: array[int] = field(default_factory=lambda: array("I"))

    @property
    def is_dense(self) -> bool:
        """Say whether the sheet fits into memory as a full rectangle."""
        area = (self.rows[1] - self.rows[0] + 1) * (self.columns[1] - self.columns[0] + 1)
        return not self.odd and area <= MAX_DENSE_CELLS and self.characters <= MAX_DENSE_CHARACTERS

    def styled(self, row: int) -> Mapping[int, int]:
        """Return column → style for the cells of a row that have one of the styles asked for."""
        return self.layouts[self.row_layouts[row] if row < len(self.row_layouts) else 0]


class Scanner:
    """Scans worksheets; `lengths` are those of the shared strings."""

    def __init__(self, lengths: list[int], styles: NumberStyles) -> None:
        self._lengths = lengths
        self._styles = styles
        self._styled = _pattern(_STYLED, styles.plain)
        self._below_zero = _pattern(_BELOW_ZERO, styles.dates)
        self._known: dict[tuple[tuple[bytes, bytes], ...], int] = {}
        self._size = 0

    def scan(self, chunks: Iterable[bytes]) -> Scan:
        """Scan one worksheet."""
        scan = Scan()
        self._known = {}
        self._size = 0
        tail = b""
        for chunk in chunks:
            data = tail + chunk
            cut = data.rfind(b"row>") + 4
            if cut < 4 and len(data) < _MAX_TAIL_BYTES:
                tail = data
                continue
            cut = cut if cut >= 4 else len(data)
            self._scan(data[:cut], scan)
            tail = data[cut:]
        self._scan(tail, scan)
        return scan

    def _scan(self, data: bytes, scan: Scan) -> None:
        found = _CELL.findall(data)
        scan.cells += len(found)
        scan.odd = scan.odd or len(_ANY_CELL.findall(data)) != len(found) or b"\0" in data
        if found:
            letters, digits = zip(*found, strict=True)
            columns = [column_index(name) for name in set(letters)]
            rows = [int(number) - 1 for number in set(digits)]
            scan.rows = _extend(scan.rows, min(rows), max(rows))
            scan.columns = _extend(scan.columns, min(columns), max(columns))
        lengths, count = self._lengths, len(self._lengths)
        scan.characters += sum(
            lengths[index] for index in map(int, _SHARED.findall(data)) if index < count
        )
        self._scan_texts(data, scan)
        if b"<f" in data or b":f" in data:
            scan.formulas_without_value += len(_NO_VALUE.findall(data))
        if self._styled is not None and not scan.odd:
            self._scan_styles(self._styled.findall(data), scan)

    def _scan_texts(self, data: bytes, scan: Scan) -> None:
        if len(scan.texts) > _MAX_TEXTS:
            return
        if b"e" in data and re.search(rb"""\st=["']e["']""", data):
            for name, digits, text in _ERROR.findall(data):
                place = (int(digits) - 1, column_index(name))
                scan.texts[place] = text.decode("utf-8", "replace")
        if b"v>-" in data and self._below_zero is not None:
            for style, name, digits, text in self._below_zero.findall(data):
                with suppress(ValueError):
                    shown = self._styles.text(float(text), int(style))
                    scan.texts[int(digits) - 1, column_index(name)] = shown

    def _scan_styles(self, found: list[tuple[bytes, bytes, bytes]], scan: Scan) -> None:
        for digits, cells in groupby(found, key=lambda cell: cell[2]):
            layout = tuple((letters, style) for style, letters, _ in cells)
            row = int(digits) - 1
            if not 0 <= row < _MAX_ROWS or self._size > _MAX_LAYOUT_CELLS:
                scan.odd = True
                return
            if layout not in self._known:
                self._size += len(layout)
                self._known[layout] = len(scan.layouts)
                scan.layouts.append({column_index(name): int(style) for name, style in layout})
            missing = row - len(scan.row_layouts) + 1
            if missing > 0:
                scan.row_layouts.extend([0] * missing)
            scan.row_layouts[row] = self._known[layout]


def _pattern(pattern: bytes, styles: Iterable[int]) -> re.Pattern[bytes] | None:
    wanted = b"|".join(str(style).encode() for style in styles)
    return re.compile(pattern % wanted) if wanted else None


def _extend(bounds: tuple[int, int], low: int, high: int) -> tuple[int, int]:
    return (low, high) if bounds[1] < 0 else (min(bounds[0], low), max(bounds[1], high))


def column_index(letters: bytes) -> int:
    """Return 0 for A, 25 for Z, 26 for AA."""
    index = 0
    for letter in letters.upper():
        index = index * 26 + letter - 64
    return index - 1
