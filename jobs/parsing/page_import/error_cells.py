"""Find the error cells of XLS, XLSB and ODS workbooks, of which calamine gives ''.

Records: [MS-XLS] 2.4.24 BoolErr and 2.4.127 Formula, [MS-XLSB] 2.4.311 BrtCellError and 2.4.675
BrtFmlaError. In ODS the cell holds the text that is shown. What is damaged has no error cells:
calamine decides whether a workbook can be read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

import olefile

from jobs.parsing.errors import ParseError
from jobs.parsing.page_import.document import Source
from jobs.parsing.page_import.ooxml import Package, attribute, children, local, number
from jobs.parsing.page_import.xlsx_stream import MAX_SHEET_BYTES, elements, forget, workbook_part

MAX_ERRORS = 100_000
_CHECK_EVERY = 100_000
_NAMES = {0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?"}
_NAMES |= {0x24: "#NUM!", 0x2A: "#N/A", 0x2B: "#GETTING_DATA"}
_BOF, _EOF, _BOUND_SHEET, _FORMULA, _BOOL_ERROR = 0x809, 0x0A, 0x85, 0x06, 0x205
_BUNDLE_SHEET, _ROW_HEADER, _CELL_ERRORS = 156, 0, (3, 11)
_ODS_MARK = b'value-type="error"'
#: the error texts of one sheet by row and column
Errors = dict[tuple[int, int], str]


def error_cells(source: Source) -> list[Errors]:
    """Return the error cells of each sheet, in the order of the sheets."""
    find = {"xls": _xls, "xlsb": _xlsb, "ods": _ods}.get(source.detected_type)
    if find is None:
        return []
    try:
        return list(find(source))
    except (OSError, ValueError, IndexError, struct.error):
        return []
    except ParseError as error:
        if error.code in ("parse_timeout", "parse_memory"):
            raise
        return []


def _xls(source: Source) -> Iterator[Errors]:
    with olefile.OleFileIO(source.open()) as container:
        name = next(name for name in ("Workbook", "Book", "") if not name or container.exists(name))
        data = container.openstream(name).read()
    starts = [
        int.from_bytes(data[at : at + 4], "little")
        for kind, at, _ in _biff(data, 0)
        if kind == _BOUND_SHEET
    ]
    for start in starts:
        errors: Errors = {}
        for count, (kind, at, size) in enumerate(_biff(data, start)):
            if count % _CHECK_EVERY == 0:
                source.budget.check()
            code = -1
            if kind == _BOOL_ERROR and size >= 8 and data[at + 7]:
                code = data[at + 6]
            elif kind == _FORMULA and size >= 14 and data[at + 6] == 2:
                code = data[at + 8] if data[at + 12 : at + 14] == b"\xff\xff" else -1
            if code in _NAMES and len(errors) < MAX_ERRORS:
                errors[struct.unpack_from("<HH", data, at)] = _NAMES[code]
        yield errors


def _biff(data: bytes, at: int) -> Iterator[tuple[int, int, int]]:
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


def _xlsb(source: Source) -> Iterator[Errors]:
    package = Package(source)
    workbook = workbook_part(package)
    related = package.relationships(workbook)
    for kind, record in _biff12(package.chunks(workbook)):
        if kind != _BUNDLE_SHEET:
            continue
        length = int.from_bytes(record[8:12], "little")
        target = related.get(record[12 : 12 + 2 * length].decode("utf-16-le"))
        errors: Errors = {}
        row = 0
        chunks = package.chunks(target.target, MAX_SHEET_BYTES) if target else ()
        for count, (part, cell) in enumerate(_biff12(chunks)):
            if count % _CHECK_EVERY == 0:
                source.budget.check()
            if part == _ROW_HEADER:
                row = int.from_bytes(cell[:4], "little")
            elif part in _CELL_ERRORS and len(errors) < MAX_ERRORS:
                column = int.from_bytes(cell[:4], "little")
                errors[row, column] = _NAMES.get(cell[8], "#ERROR")
        yield errors


def _biff12(chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield kind and content of the records of a part."""
    data = b""
    for chunk in chunks:
        data, at = data + chunk, 0
        while (found := _header(data, at)) is not None:
            kind, start, size = found
            if start + size > len(data):
                break
            yield kind, data[start : start + size]
            at = start + size
        data = data[at:]


def _header(data: bytes, at: int) -> tuple[int, int, int] | None:
    """Return the kind of the record at a place, where its content begins, and its size."""
    if at + 2 > len(data):
        return None
    kind = data[at]
    at += 1
    if kind & 0x80:
        kind = kind & 0x7F | data[at] << 7
        at += 1
    size = 0
    for shift in (0, 7, 14, 21):
        if at >= len(data):
            return None
        size |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            break
    return kind, at, size


def _ods(source: Source) -> Iterator[Errors]:
    package = Package(source)
    tail, is_there = b"", False
    for chunk in package.chunks("content.xml", MAX_SHEET_BYTES):
        is_there = is_there or _ODS_MARK in tail + chunk
        tail = chunk[-len(_ODS_MARK) :]
    if not is_there:
        return
    errors: Errors = {}
    row = 0
    names = ("table-row", "table")
    for count, element in enumerate(elements(package, "content.xml", MAX_SHEET_BYTES, *names)):
        if count % _CHECK_EVERY == 0:
            source.budget.check()
        if local(element) == "table":
            yield errors
            errors, row = {}, 0
        else:
            repeated = max(1, number(attribute(element, "number-rows-repeated"), 1))
            for column, text in _ods_row(element):
                for place in range(row, row + min(repeated, MAX_ERRORS - len(errors))):
                    errors[place, column] = text
            row += repeated
        forget(element)


def _ods_row(row: Any) -> Iterator[tuple[int, str]]:
    column = 0
    for cell in children(row, "table-cell", "covered-table-cell"):
        repeated = max(1, number(attribute(cell, "number-columns-repeated"), 1))
        kinds = {str(value) for key, value in cell.attrib.items() if key.endswith("}value-type")}
        if "error" in kinds:
            text = "\n".join("".join(part.itertext()) for part in children(cell, "p")).strip()
            for place in range(column, column + min(repeated, MAX_ERRORS)):
                yield place, text
        column += repeated
