"""Walk the shapes of one slide: title first, then text, lists, tables, charts and diagrams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jobs.parsing.cleaning import clean
from jobs.parsing.page_import.document import Table
from jobs.parsing.page_import.docx_runs import chosen
from jobs.parsing.page_import.graphics import chart_rows, diagram_lines, graphic_part
from jobs.parsing.page_import.html_flow import Flow
from jobs.parsing.page_import.html_table import Cell, Grid
from jobs.parsing.page_import.inline import Piece, line_break, text_of, write_pieces
from jobs.parsing.page_import.markup import escape_inline, heading, table, table_rows
from jobs.parsing.page_import.office_math import equation_text
from jobs.parsing.page_import.ooxml import (
    Package,
    attribute,
    child,
    children,
    local,
    number,
)

_TITLES = ("title", "ctrTitle")
#: date, footer and number of a slide say nothing that the deck does not
_SKIPPED = ("dt", "ftr", "sldNum", "hdr")
#: placeholders whose paragraphs are bullets unless they say otherwise
_BULLETED = ("body", "obj", "")
_MAX_LEVEL = 8


class SlideWalker:
    """Collects `flow`, `tables` and `title` of one slide part."""

    def __init__(self, package: Package, part: str) -> None:
        self.flow = Flow()
        self.tables: list[Table] = []
        self.title = ""
        self._package = package
        self._part = part
        self._links = package.relationships(part)
        self._items: list[int] = []

    def walk(self, tree: Any) -> None:
        """Write all shapes below p:spTree."""
        shapes = list(_shapes(tree))
        titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
        for shape in titles:
            self._title(shape)
        for shape in shapes:
            if _placeholder(shape) not in (*_TITLES, *_SKIPPED):
                self._shape(shape)

    def notes(self, tree: Any) -> None:
        """Write the speaker's notes as a quotation."""
        bodies = [shape for shape in _shapes(tree) if _placeholder(shape) == "body"]
        paragraphs = [
            pieces
            for shape in bodies
            for paragraph in _paragraphs(shape)
            if text_of(pieces := list(self._pieces(paragraph)))
        ]
        if not paragraphs:
            return
        self.flow.push_quote()
        for pieces in paragraphs:
            self._write(pieces)
        self.flow.pop()

    def _title(self, shape: Any) -> None:
        pieces = [piece for p in _paragraphs(shape) for piece in (*self._pieces(p), Piece(" "))]
        text = text_of(pieces)
        if not text:
            return
        if self.title:
            self.flow.add_block(escape_inline(text), text)
        else:
            self.title = text
            self.flow.add_block(heading(1, text), text)

    def _shape(self, shape: Any) -> None:
        name = local(shape)
        if name == "graphicFrame":
            self._graphic(shape)
            return
        kind = _placeholder(shape)
        for paragraph in _paragraphs(shape):
            pieces = list(self._pieces(paragraph))
            if not text_of(pieces):
                continue
            properties = child(paragraph, "pPr")
            level = max(0, min(_MAX_LEVEL, number(attribute(properties, "lvl"))))
            if _is_bullet(properties, kind):
                self._item(level, pieces)
            else:
                self._end_lists()
                self._write(pieces)
        self._end_lists()

    def _write(self, pieces: list[Piece]) -> None:
        write_pieces(pieces, self.flow)
        self.flow.end_block()

    def _item(self, level: int, pieces: list[Piece]) -> None:
        while self._items and self._items[-1] >= level:
            self._items.pop()
            self.flow.pop()
        self._items.append(level)
        self.flow.push_item("- ")
        self._write(pieces)

    def _end_lists(self) -> None:
        if not self._items:
            return
        while self._items:
            self._items.pop()
            self.flow.pop()
        self.flow.end_list()

    def _pieces(self, paragraph: Any) -> Iterator[Piece]:
        for part in paragraph:
            name = local(part)
            if name in ("r", "fld"):
                text = child(part, "t")
                properties = child(part, "rPr")
                content = clean(text.text or "") if text is not None else ""
                for count, line in enumerate(content.split("\n")):
                    if count:
                        yield line_break()
                    yield Piece(line, _mark(properties), self._link(properties))
            elif name == "br":
                yield line_break()
            elif name in ("m", "AlternateContent"):
                inside = chosen(part) if name == "AlternateContent" else part
                yield Piece(clean("".join(equation_text(element) for element in inside)))

    def _link(self, properties: Any | None) -> str:
        click = child(properties, "hlinkClick") if properties is not None else None
        found = self._links.get(attribute(click, "id") or "")
        return found.target if found is not None and found.is_external else ""

    def _graphic(self, frame: Any) -> None:
        grid_element = next(frame.iter("{*}tbl"), None)
        if grid_element is not None:
            self._table(grid_element)
            return
        found = graphic_part(frame, self._package, self._part)
        if found is None:
            return
        kind, part = found
        if kind == "diagram":
            for line in diagram_lines(self._package, part):
                self._item(0, [Piece(line)])
            self._end_lists()
            return
        title, rows = chart_rows(self._package, part)
        if title:
            self.flow.add_block(escape_inline(title), title)
        if rows:
            self.tables.append(rows)
            self.flow.add_block(table(rows), "\n".join("\t".join(row) for row in rows))

    def _table(self, element: Any) -> None:
        grid = Grid()
        for row in children(element, "tr"):
            grid.start_row()
            above = grid.rows[-1] if grid.rows else []
            for column, cell in enumerate(children(row, "tc")):
                grid.add(self._cell(cell, column, above, grid), 1, 1)
        grid.end_row()
        grid.strip()
        if grid.rows:
            self.tables.append(grid.texts())
            self.flow.add_block(table_rows(grid.markdowns()), grid.plain())

    def _cell(self, element: Any, column: int, above: list[Cell], grid: Grid) -> Cell:
        if attribute(element, "hMerge") in ("1", "true") and grid.last is not None:
            return Cell(grid.last.text, grid.last.markdown, repeated=True)
        if attribute(element, "vMerge") in ("1", "true") and column < len(above):
            return Cell(above[column].text, above[column].markdown, repeated=True)
        flow = Flow()
        for paragraph in _paragraphs(element):
            write_pieces(self._pieces(paragraph), flow)
            flow.end_block()
        return Cell(flow.text(), flow.cell_markdown())


def _shapes(tree: Any) -> Iterator[Any]:
    for shape in tree:
        name = local(shape)
        if name in ("sp", "graphicFrame", "cxnSp"):
            yield shape
        elif name == "grpSp":
            yield from _shapes(shape)
        elif name == "AlternateContent":
            yield from _shapes(chosen(shape))


def _placeholder(shape: Any) -> str | None:
    """Return the type of a placeholder, '' for a plain one, None for any other shape."""
    for properties in children(shape, "nvSpPr", "nvGraphicFramePr"):
        found = child(properties, "nvPr", "ph")
        return None if found is None else attribute(found, "type") or ""
    return None


def _paragraphs(shape: Any) -> Iterator[Any]:
    body = child(shape, "txBody")
    return iter(()) if body is None else children(body, "p")


def _is_bullet(properties: Any | None, kind: str | None) -> bool:
    if properties is not None:
        if child(properties, "buNone") is not None:
            return False
        if any(local(part) in ("buChar", "buAutoNum", "buBlip") for part in properties):
            return True
    return kind in _BULLETED if kind is not None else False


def _mark(properties: Any | None) -> str:
    if properties is None:
        return ""
    mark = "**" if attribute(properties, "b") in ("1", "true") else ""
    return mark + ("*" if attribute(properties, "i") in ("1", "true") else "")
