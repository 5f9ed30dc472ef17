"""Look through the records of an XLS workbook for the cells of which calamine says too little.

Errors are '' there, weekdays and years of an era are serial numbers, dates before 1900 midnight.
Records: [MS-XLS] 2.4.24 BoolErr, 2.4.126 Format, 2.4.127 Formula, 2.4.175 MulRk, 2.4.353 XF.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import olefile

from jobs.parsing.budget import Budget
from jobs.parsing.page_import.document import Source
from jobs.parsing.page_import.xlsx_styles import NumberStyles, styles_of

MAX_TEXTS = 100_000
ERROR_NAMES = {0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?"}
ERROR_NAMES |= {0x24: "#NUM!", 0x2A: "#N/A", 0x2B: "#GETTING_DATA"}
_CHECK_EVERY = 100_000
_BOF, _EOF, _BOUND_SHEET, _DATE_1904, _FORMAT, _XF = 0x809, 0x0A, 0x85, 0x22, 0x41E, 0xE0
_FORMULA, _BOOL_ERROR, _NUMBER, _RK, _MANY_RK = 0x06, 0x205, 0x203, 0x27E, 0xBD
#: the texts of cells of one sheet by row and column
Texts = dict[tuple[int, int], str]


def sheet_texts(source: Source) -> Iterator[Texts]:
    """Yield for each sheet what calamine leaves out."""
    with olefile.OleFileIO(source.open()) as container:
        data = container.openstream("Workbook" if container.exists("Workbook") else "Book").read()
    starts: list[int] = []
    codes: dict[int, str] = {}
    used: list[int] = []
    is_1904 = False
    for kind, at, size in _records(data, 0):
        if kind == _BOUND_SHEET:
            starts.append(int.from_bytes(data[at : at + 4], "little"))
        elif kind == _FORMAT:
            codes[int.from_bytes(data[at : at + 2], "little")] = _code(data[at + 2 : at + size])
        elif kind == _XF:
            used.append(int.from_bytes(data[at + 2 : at + 4], "little"))
        elif kind == _DATE_1904:
            is_1904 = data[at] == 1
    styles = styles_of(codes, used, is_1904=is_1904)
    for start in starts:
        yield _sheet(data, start, styles, source.budget)


def _records(data: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    """Yield kind, place and size of the records of a substream, with those inside it."""
    depth, end = 0, len(data) - 4
    while at <= end:
        kind, size = struct.unpack_from("<HH", data, at)
        at += 4
        if at + size > len(data):
            return
        depth += (kind == _BOF) - (kind == _EOF)
        yield kind, at, size
        if depth <= 0:
            return
        at += size


def _code(data: bytes) -> str:
    """Return a format code in small letters; those of Excel 95 have no flags and no Japanese."""
    count = int.from_bytes(data[:2], "little")
    if len(data) > 2 and len(data) == 3 + count * (1 + (data[2] & 1)):
        return data[3:].decode("utf-16-le" if data[2] & 1 else "latin-1", "replace").lower()
    return data[1:].decode("latin-1").lower()


def _sheet(data: bytes, start: int, styles: NumberStyles, budget: Budget) -> Texts:
    texts: Texts = {}
    dates = frozenset(styles.dates)
    plain = dates & styles.plain
    for count, (kind, at, size) in enumerate(_records(data, start)):
        if count % _CHECK_EVERY == 0:
            budget.check()
        if len(texts) >= MAX_TEXTS:
            break
        if (code := _error(data, kind, at, size)) in ERROR_NAMES:
            texts[struct.unpack_from("<HH", data, at)] = ERROR_NAMES[code]
        elif dates:
            for row, column, style, amount in _numbers(data, kind, at, size):
                if style in plain or (amount < 0 and style in dates):
                    texts[row, column] = styles.text(amount, style)
    return texts


def _error(data: bytes, kind: int, at: int, size: int) -> int:
    """Return the code of an error in a cell, or -1."""
    if kind == _BOOL_ERROR and size >= 8 and data[at + 7]:
        return data[at + 6]
    if kind == _FORMULA and size >= 14 and data[at + 6] == 2:
        return data[at + 8] if data[at + 12 : at + 14] == b"\xff\xff" else -1
    return -1


def _numbers(data: bytes, kind: int, at: int, size: int) -> Iterator[tuple[int, int, int, float]]:
    """Yield row, column, style and number of the cells of a record."""
    is_formula = kind == _FORMULA and data[at + 12 : at + 14] != b"\xff\xff"
    if (kind == _NUMBER or is_formula) and size >= 14:
        yield struct.unpack_from("<HHHd", data, at)
    elif kind == _RK and size >= 10:
        row, column, style, number = struct.unpack_from("<HHHi", data, at)
        yield row, column, style, _rk(number)
    elif kind == _MANY_RK:
        row, column = struct.unpack_from("<HH", data, at)
        for place in range(at + 4, at + size - 6, 6):
            style, number = struct.unpack_from("<Hi", data, place)
            yield row, column, style, _rk(number)
            column += 1


def _rk(number: int) -> float:
    whole = float(number >> 2)
    if not number & 2:
        whole = struct.unpack("<d", struct.pack("<Ii", 0, number & ~3))[0]
    return whole / 100 if number & 1 else whole
