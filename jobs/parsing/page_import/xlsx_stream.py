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
from jobs.parsing.page_import.ooxml import (
    Package,
    attribute,
    child,
    children,
    local,
    number,
)
from jobs.parsing.page_import.xlsx_scan import column_index
from jobs.parsing.page_import.xlsx_styles import number_styles

MAX_SHEET_BYTES = 1024 * 1024 * 1024
MAX_STRINGS_BYTES = 256 * 1024 * 1024
_CHECK_EVERY = 10_000
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
        forget(item)
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


class SheetReader:
    """Reads rows of one sheet as column → text, only where there is text."""

    def __init__(self, package: Package, workbook: str, budget: Budget) -> None:
        self._package = package
        self._strings = shared_strings(package, package.target(workbook, "sharedStrings"))
        self.styles = number_styles(package, workbook)
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
            forget(row)
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
        with suppress(ValueError):
            return self.styles.text(float(text), number(style))
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


def forget(element: Any) -> None:
    """Free an element and those before it, so that memory does not grow with the sheet."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]
