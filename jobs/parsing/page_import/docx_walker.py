"""Walk the blocks of a Word document: paragraphs, headings, lists, tables, notes.

One flow of blocks for each section; a table cell is a flow of its own, as in HTML.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jobs.parsing.budget import Budget
from jobs.parsing.cleaning import clean
from jobs.parsing.page_import.document import SECTION_CHARACTERS, Heading, Table
from jobs.parsing.page_import.docx_runs import Runs, author_of, chosen
from jobs.parsing.page_import.docx_styles import Numbering, Styles
from jobs.parsing.page_import.graphics import chart_rows, diagram_lines, graphic_part
from jobs.parsing.page_import.html_flow import Flow
from jobs.parsing.page_import.html_table import Cell, Grid
from jobs.parsing.page_import.inline import Piece, text_of, write_pieces
from jobs.parsing.page_import.markup import escape_inline, heading, table, table_rows
from jobs.parsing.page_import.ooxml import (
    Package,
    attribute,
    child,
    children,
    local,
    number,
    value_of,
)

_CONTAINERS = frozenset(
    ("sdtContent", "customXml", "smartTag", "ins", "moveTo", "txbxContent", "body")
)
_NOTE_PARTS = {"footnote": "footnotes", "endnote": "endnotes", "comment": "comments"}
_MAX_NOTES = 20_000


@dataclass
class Section:
    """What becomes one page."""

    flow: Flow = field(default_factory=Flow)
    tables: list[Table] = field(default_factory=list)
    notes: list[tuple[str, Any, str]] = field(default_factory=list)
    characters: int = 0


class DocxWalker:
    """Collects `sections` and `outline` of one document."""

    def __init__(self, package: Package, main: str, budget: Budget) -> None:
        self.sections = [Section()]
        self.outline: list[Heading] = []
        self._package = package
        self._main = main
        self._budget = budget
        self._styles = Styles(package, main)
        self._numbering = Numbering(package, main, self._styles)
        self._note_elements: dict[str, dict[str, Any]] = {}
        self._note_count = {"note": 0, "comment": 0}
        self._runs = Runs(package, main, self._take_note)
        self._flows = [self.sections[0].flow]
        self._items: list[int] = []

    @property
    def _flow(self) -> Flow:
        return self._flows[-1]

    def walk(self, body: Any) -> None:
        """Write all blocks, then the notes of the last section."""
        self._blocks(body)
        self._end_lists()
        self._write_notes()

    def _blocks(self, parent: Any) -> None:
        for element in parent:
            name = local(element)
            if name == "p":
                self._paragraph(element)
            elif name == "tbl":
                self._table(element)
            elif name == "sdt":
                content = child(element, "sdtContent")
                self._blocks(() if content is None else content)
            elif name == "AlternateContent":
                self._blocks(chosen(element))
            elif name in ("oMathPara", "oMath"):
                self._write(list(self._runs.read([element])))
            elif name in _CONTAINERS:
                self._blocks(element)

    def _paragraph(self, element: Any) -> None:
        self._budget.check()
        pieces = list(self._runs.read(element))
        boxes, self._runs.boxes = self._runs.boxes, []
        drawings, self._runs.drawings = self._runs.drawings, []
        text = text_of(pieces)
        if text:
            level = self._styles.heading_level(element)
            numbering = self._styles.numbering(element)
            label = self._numbering.label(*numbering) if numbering else None
            if level is not None and len(self._flows) == 1:
                self._heading(level, f"{label} {text}" if label else text)
            elif numbering is not None and label is not None:
                self._item(numbering[1], label, pieces)
            else:
                self._end_lists()
                self._cut(2 * SECTION_CHARACTERS)
                self._write(pieces)
        for box in boxes:
            self._blocks(box)
        for drawing in drawings:
            self._graphic(drawing)

    def _write(self, pieces: list[Piece]) -> None:
        write_pieces(pieces, self._flow)
        self._flow.end_block()
        self.sections[-1].characters += sum(len(piece.text) for piece in pieces)

    def _heading(self, level: int, title: str) -> None:
        self._end_lists()
        self._cut(SECTION_CHARACTERS)
        self.outline.append(Heading(title=title, level=level, page=len(self.sections)))
        self._flow.add_block(heading(level, title), title)
        self.sections[-1].characters += len(title)

    def _item(self, level: int, label: str, pieces: list[Piece]) -> None:
        while self._items and self._items[-1] >= level:
            self._items.pop()
            self._flow.pop()
        self._items.append(level)
        counted = label.removesuffix(".").isascii() and label.removesuffix(".").isdigit()
        if label and counted and len(label) < 9:
            self._flow.push_item(f"{label.removesuffix('.')}. ")
            pieces = [Piece(f"{label} ", markdown=""), *pieces]
        else:
            self._flow.push_item("- ")
            pieces = [Piece(f"{label} "), *pieces] if label else pieces
        self._write(pieces)

    def _end_lists(self) -> None:
        if not self._items:
            return
        while self._items:
            self._items.pop()
            self._flow.pop()
        self._flow.end_list()

    def _cut(self, limit: int) -> None:
        """Begin a new section where the one under way has enough text."""
        if len(self._flows) > 1 or self.sections[-1].characters < limit:
            return
        self._write_notes()
        self.sections.append(Section())
        self._flows = [self.sections[-1].flow]

    def _table(self, element: Any) -> None:
        self._end_lists()
        only = _only_cell(element)
        if only is not None:
            self._blocks(only)
            self._end_lists()
            return
        self._cut(2 * SECTION_CHARACTERS)
        grid = Grid()
        for row in _rows(element, "tr"):
            self._row(row, grid)
        grid.end_row()
        self._add_table(grid)

    def _row(self, row: Any, grid: Grid) -> None:
        grid.start_row()
        above = grid.rows[-1] if grid.rows else []
        column = max(0, min(1000, number(value_of(row, "trPr", "gridBefore"))))
        for _ in range(column):
            grid.add(Cell("", ""), 1, 1)
        for element in _rows(row, "tc"):
            properties = child(element, "tcPr")
            span = (
                max(1, number(value_of(properties, "gridSpan"), 1)) if properties is not None else 1
            )
            merge = child(properties, "vMerge") if properties is not None else None
            goes_on = merge is not None and (attribute(merge, "val") or "continue") == "continue"
            if goes_on and column < len(above):
                cell = Cell(above[column].text, above[column].markdown, repeated=True)
            else:
                cell = self._cell(element)
            grid.add(cell, 1, span)
            column += span

    def _cell(self, element: Any) -> Cell:
        items, self._items = self._items, []
        self._flows.append(Flow())
        self._blocks(element)
        self._end_lists()
        flow = self._flows.pop()
        self._items = items
        return Cell(flow.text(), flow.cell_markdown())

    def _add_table(self, grid: Grid) -> None:
        grid.strip()
        if not grid.rows:
            return
        self.sections[-1].tables.append(grid.texts())
        if len(self._flows) > 1:
            for row in grid.rows:
                line = " / ".join(cell.text for cell in row if not cell.repeated)
                self._flow.add_block(escape_inline(line).replace("\n", "<br>"), line)
        else:
            self._flow.add_block(table_rows(grid.markdowns()), grid.plain())

    def _graphic(self, drawing: Any) -> None:
        found = graphic_part(drawing, self._package, self._main)
        if found is None:
            return
        kind, part = found
        if kind == "diagram":
            for line in diagram_lines(self._package, part):
                self._flow.add_block(escape_inline(line), line)
            return
        title, rows = chart_rows(self._package, part)
        if title:
            self._flow.add_block(escape_inline(title), title)
        if rows and len(self._flows) == 1:
            self.sections[-1].tables.append(rows)
            self._flow.add_block(table(rows), "\n".join("\t".join(row) for row in rows))

    def _take_note(self, kind: str, identifier: str) -> str | None:
        if kind not in self._note_elements:
            part = self._package.target(self._main, _NOTE_PARTS[kind])
            root = self._package.xml(part) if part else None
            self._note_elements[kind] = {
                attribute(e, "id") or "": e for e in (() if root is None else children(root, kind))
            }
        element = self._note_elements[kind].get(identifier)
        group = "comment" if kind == "comment" else "note"
        if element is None or self._note_count[group] >= _MAX_NOTES:
            return None
        self._note_count[group] += 1
        label = f"{'c' if group == 'comment' else ''}{self._note_count[group]}"
        author = author_of(element) if group == "comment" else ""
        self.sections[-1].notes.append((label, element, author))
        return label

    def _write_notes(self) -> None:
        notes, self.sections[-1].notes = self.sections[-1].notes, []
        for label, element, author in notes:
            self._flows.append(Flow())
            self._blocks(element)
            self._end_lists()
            flow = self._flows.pop()
            lead = f"{author}: " if author else ""
            text = lead + flow.text().replace("\n", " ")
            markdown = escape_inline(lead) + flow.cell_markdown()
            self._flow.add_block(f"[^{label}]: {markdown}", f"[{label}] {clean(text)}")


def _rows(element: Any, name: str) -> Iterator[Any]:
    """Yield rows or cells, also those inside content controls."""
    for part in element:
        if local(part) == name:
            yield part
        elif local(part) in ("sdt", "sdtContent", "customXml", "ins"):
            yield from _rows(part, name)


def _only_cell(element: Any) -> Any | None:
    """Return the cell of a table that has only one: a frame around text, not a table."""
    rows = list(_rows(element, "tr"))[:2]
    cells = [cell for row in rows for cell in _rows(row, "tc")]
    return cells[0] if len(cells) == 1 else None
