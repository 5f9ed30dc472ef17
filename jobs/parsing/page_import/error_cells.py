"""Find the error cells of XLS, XLSB and ODS workbooks, of which calamine gives ''.

In XLSB they are the records BrtCellError and BrtFmlaError of [MS-XLSB]. In ODS the cell holds
the text that is shown. What is damaged has no error cells: calamine decides whether it can be read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from jobs.parsing.errors import ParseError
from jobs.parsing.page_import.document import Source
from jobs.parsing.page_import.ooxml import Package, attribute, children, local, number
from jobs.parsing.page_import.xls_records import ERROR_NAMES, MAX_TEXTS, Texts, sheet_texts
from jobs.parsing.page_import.xlsx_stream import MAX_SHEET_BYTES, elements, forget, workbook_part

_CHECK_EVERY = 100_000
_BUNDLE_SHEET, _ROW_HEADER, _CELL_ERRORS = 156, 0, (3, 11)
_ODS_MARK = b'value-type="error"'


def error_cells(source: Source) -> list[Texts]:
    """Return the error cells of each sheet, in the order of the sheets."""
    find = {"xls": sheet_texts, "xlsb": _xlsb, "ods": _ods}.get(source.detected_type)
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


def _xlsb(source: Source) -> Iterator[Texts]:
    package = Package(source)
    workbook = workbook_part(package)
    related = package.relationships(workbook)
    for kind, record in _biff12(package.chunks(workbook)):
        if kind != _BUNDLE_SHEET:
            continue
        length = int.from_bytes(record[8:12], "little")
        target = related.get(record[12 : 12 + 2 * length].decode("utf-16-le"))
        errors: Texts = {}
        row = 0
        chunks = package.chunks(target.target, MAX_SHEET_BYTES) if target else ()
        for count, (part, cell) in enumerate(_biff12(chunks)):
            if count % _CHECK_EVERY == 0:
                source.budget.check()
            if part == _ROW_HEADER:
                row = int.from_bytes(cell[:4], "little")
            elif part in _CELL_ERRORS and len(errors) < MAX_TEXTS:
                column = int.from_bytes(cell[:4], "little")
                errors[row, column] = ERROR_NAMES.get(cell[8], "#ERROR")
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


def _ods(source: Source) -> Iterator[Texts]:
    package = Package(source)
    tail, is_there = b"", False
    for chunk in package.chunks("content.xml", MAX_SHEET_BYTES):
        is_there = is_there or _ODS_MARK in tail + chunk
        tail = chunk[-len(_ODS_MARK) :]
    if not is_there:
        return
    errors: Texts = {}
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
                for place in range(row, row + min(repeated, MAX_TEXTS - len(errors))):
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
            for place in range(column, column + min(repeated, MAX_TEXTS)):
                yield place, text
        column += repeated
