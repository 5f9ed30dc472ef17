"""Read a worksheet cell by cell, for sheets too wide and empty to be laid out in full.

Slower than calamine, but its memory depends on the cells that exist, not on where they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import lxml.etree

from jobs.parsing.budget import Budget
from jobs.parsing.errors import ParseError
from jobs.parsing.page_import.cells import date_text, number_text
from jobs.parsing.page_import.ooxml import (
    Package,
    attribute,
    child,
    children,
    local,
    number,
)
from jobs.parsing.page_import.xlsx_scan import column_index

MAX_SHEET_BYTES = 1024 * 1024 * 1024
MAX_STRINGS_BYTES = 256 * 1024 * 1024
_CHECK_EVERY = 10_000
_BUILT_IN_DATES = {**dict.fromkeys((14, 15, 16, 17), "y"), **dict.fromkeys((18, 19, 20, 21), "h")}
_BUILT_IN_DATES |= {22: "y h", **dict.fromkeys((45, 46, 47), "h")}
_BUILT_IN_DATES |= {**dict.fromkeys(range(27, 32), "y"), **dict.fromkeys((32, 33), "h")}
_BUILT_IN_DATES |= {**dict.fromkeys((34, 35, 36), "y"), **dict.fromkeys(range(50, 59), "y")}
_NOT_FORMAT = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)
_REFERENCE = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})")
Row = dict[int, str]


def elements(package: Package, part: str, max_bytes: int, *names: str) -> Iterator[Any]:
    """Yield the elements of those local names as they end; the caller clears them."""
    if part not in package:
        return
    tags = [f"{{*}}{name}" for name in names]
    try:
        for _, element in lxml.etree.iterparse(
            package.stream(part, max_bytes),
            tag=tags,
            resolve_entities=False,
            no_network=True,
            remove_comments=True,
            remove_pis=True,
        ):
            if element.getroottree().docinfo.doctype:
                raise ParseError("file_corrupt", f"The part {part} has a DTD.")
            yield element
    except lxml.etree.XMLSyntaxError as error:
        raise ParseError("file_corrupt", f"The part {part} is broken.") from error


def shared_strings(package: Package, part: str | None) -> list[str]:
    """Return the strings that cells refer to, without their phonetic runs."""
    if part is None:
        return []
    strings = []
    for item in elements(package, part, MAX_STRINGS_BYTES, "si"):
        strings.append(rich_text(item))
        _forget(item)
    return strings


def rich_text(item: Any) -> str:
    """Return the text of a string item: its runs, not their readings."""
    pieces = []
    for part in item:
        name = local(part)
        if name == "t":
            pieces.append(part.text or "")
        elif name == "r":
            pieces.extend(run.text or "" for run in children(part, "t"))
    return "".join(pieces)


def date_styles(package: Package, part: str | None) -> dict[int, str]:
    """Return for each cell style that shows dates what it shows: `y`, `h` or both."""
    root = package.xml(part) if part else None
    if root is None:
        return {}
    shown = dict(_BUILT_IN_DATES)
    formats = child(root, "numFmts")
    for entry in () if formats is None else formats:
        code = _NOT_FORMAT.sub("", entry.get("formatCode") or "").lower()
        marks = ("y" if re.search("[ydeg]|m(?!:)", code) else "") + ("h" if "h" in code else "")
        time_only = re.search("h|s", code) is not None and not re.search("[yd]", code)
        shown[number(entry.get("numFmtId"), -1)] = "h" if time_only else marks
    found = {}
    formats = child(root, "cellXfs")
    for index, entry in enumerate(() if formats is None else formats):
        if kind := shown.get(number(entry.get("numFmtId"), -1)):
            found[index] = kind
    return found


class SheetReader:
    """Reads rows of one sheet as column → text, only where there is text."""

    def __init__(self, package: Package, workbook: str, budget: Budget) -> None:
        self._package = package
        self._strings = shared_strings(package, package.target(workbook, "sharedStrings"))
        self._dates = date_styles(package, package.target(workbook, "styles"))
        root = package.xml(workbook)
        flag = attribute(child(root, "workbookPr"), "date1904")
        self._is_1904 = flag in ("1", "true", "on")
        self._budget = budget

    def lengths(self) -> list[int]:
        """Return the lengths of the shared strings."""
        return [len(text) for text in self._strings]

    def rows(self, part: str) -> Iterator[Row]:
        """Yield the rows that have text."""
        for count, row in enumerate(elements(self._package, part, MAX_SHEET_BYTES, "row")):
            if count % _CHECK_EVERY == 0:
                self._budget.check()
            cells: Row = {}
            column = -1
            for cell in children(row, "c"):
                place = _REFERENCE.match(cell.get("r") or "")
                column = column_index(place.group(1).encode()) if place else column + 1
                if text := self._text(cell):
                    cells[column] = text
            _forget(row)
            if cells:
                yield cells

    def _text(self, cell: Any) -> str:
        kind = cell.get("t") or "n"
        if kind == "inlineStr":
            item = child(cell, "is")
            return "" if item is None else rich_text(item).strip()
        value = child(cell, "v")
        text = (value.text or "") if value is not None else ""
        if kind == "s":
            index = number(text, -1)
            return self._strings[index].strip() if 0 <= index < len(self._strings) else ""
        if kind == "b":
            return "TRUE" if text == "1" else "FALSE"
        return self._number(text, cell.get("s")) if kind == "n" else text.strip()

    def _number(self, text: str, style: str | None) -> str:
        shown = self._dates.get(number(style))
        with suppress(ValueError):
            amount = float(text)
            if shown:
                return date_text(
                    amount,
                    is_1904=self._is_1904,
                    shows_date="y" in shown,
                    shows_time="h" in shown,
                )
            return number_text(amount)
        return text.strip()


def sheet_parts(package: Package, workbook: str) -> dict[str, str]:
    """Return the worksheet part of each sheet name."""
    root = package.xml(workbook)
    related = package.relationships(workbook)
    found = {}
    sheets = child(root, "sheets") if root is not None else None
    for sheet in () if sheets is None else sheets:
        relationship = related.get(attribute(sheet, "id") or "")
        if relationship is not None and relationship.kind == "worksheet":
            found[sheet.get("name") or ""] = relationship.target
    return found


def workbook_part(package: Package) -> str:
    """Return the name of the workbook part."""
    return package.target("", "officeDocument") or "xl/workbook.xml"


def _forget(element: Any) -> None:
    """Free an element and those before it, so that memory does not grow with the sheet."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]
