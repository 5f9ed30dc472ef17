"""Walk an HTML tree once, without recursion, and write it as Markdown and as plain text.

Inline markup is kept in frames that a block boundary closes; list items and quotes are prefixes;
each table cell is a flow of its own. Ruby becomes base(reading). Scripts and styles are skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lxml.etree

from jobs.parsing.budget import Budget
from jobs.parsing.page_import.document import Heading, Table
from jobs.parsing.page_import.html_flow import Flow
from jobs.parsing.page_import.html_table import Cell, Grid
from jobs.parsing.page_import.markup import escape_inline, heading, table_rows

_SKIPPED_TAGS = """
    script style template head noscript iframe object embed svg math canvas audio video map rp
    datalist
"""
_BLOCK_TAGS = """
    p div section article aside header footer main nav address figure figcaption form fieldset
    legend dl dt dd details summary body html center caption hgroup search option
"""
_SKIPPED = frozenset(_SKIPPED_TAGS.split())
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_INLINE = {"b": "**", "strong": "**", "em": "*", "i": "*", "del": "~~", "s": "~~", "code": "`"}
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_CHECK_EVERY = 5_000


class Walker:
    """Collects `markdown`, `text`, `tables`, `outline` and `warnings` of one tree."""

    def __init__(self, budget: Budget) -> None:
        self.tables: list[Table] = []
        self.outline: list[Heading] = []
        self.warnings: list[str] = []
        self._budget = budget
        self._flows = [Flow()]
        self._grids: list[Grid] = []
        self._lists: list[list[Any]] = []  # [ordered, next number]
        self._starts: dict[str, Callable[[Any], None]] = {
            "br": lambda _: self._flow.add("\x00", "\n"),
            "hr": lambda _: self._flow.add_block("---", ""),
            "img": self._image,
            "a": lambda element: self._flow.open("a", element.get("href") or ""),
            "rt": lambda _: self._flow.add("(", "("),
            "pre": lambda _: self._flow.start_preformatted(),
            "blockquote": lambda _: self._flow.push_quote(),
            "ul": lambda element: self._start_list(element, ordered=False),
            "ol": lambda element: self._start_list(element, ordered=True),
            "li": lambda _: self._start_item(),
            "table": lambda _: self._start_table(),
            "tr": lambda _: self._start_row(),
            "td": lambda _: self._start_cell(),
            "th": lambda _: self._start_cell(),
        }
        self._ends: dict[str, Callable[[Any], None]] = {
            "a": lambda _: self._flow.close("a"),
            "rt": lambda _: self._flow.add(")", ")"),
            "pre": lambda _: self._flow.end_preformatted(),
            "blockquote": lambda _: self._flow.pop(),
            "ul": lambda _: self._end_list(),
            "ol": lambda _: self._end_list(),
            "li": lambda _: self._end_item(),
            "table": lambda _: self._end_table(),
            "tr": lambda _: self._end_row(),
            "td": self._end_cell,
            "th": self._end_cell,
        }

    @property
    def _flow(self) -> Flow:
        return self._flows[-1]

    @property
    def text(self) -> str:
        """Return the plain text written so far."""
        return self._flows[0].text()

    @property
    def markdown(self) -> str:
        """Return the Markdown written so far."""
        return self._flows[0].markdown()

    def walk(self, root: Any) -> None:
        """Write the tree below `root`. Raises ParseError parse_timeout by the budget."""
        events = lxml.etree.iterwalk(root, events=("start", "end"))
        for count, (event, element) in enumerate(events):
            if count % _CHECK_EVERY == 0:
                self._budget.check()
            tag = element.tag
            if not isinstance(tag, str):
                self._flow.add_text(element.tail if event == "end" else None)
            elif event == "start":
                if tag in _SKIPPED:
                    events.skip_subtree()
                else:
                    self._start(tag, element)
                    self._flow.add_text(element.text)
            else:
                if tag not in _SKIPPED:
                    self._end(tag, element)
                if element is not root:
                    self._flow.add_text(element.tail)
        self._flow.end_block()

    def _start(self, tag: str, element: Any) -> None:
        if tag in _BLOCKS or tag in _LEVELS:
            self._flow.end_block()
        elif tag in _INLINE:
            self._flow.open(tag, _INLINE[tag])
        elif tag in self._starts:
            self._starts[tag](element)

    def _end(self, tag: str, element: Any) -> None:
        if tag in _LEVELS:
            self._end_heading(_LEVELS[tag])
        elif tag in _BLOCKS:
            self._flow.end_block()
        elif tag in _INLINE:
            self._flow.close(tag)
        elif tag in self._ends:
            self._ends[tag](element)

    def _end_heading(self, level: int) -> None:
        _, text = self._flow.take_inline()
        title = " ".join(text.split())
        if not title:
            return
        if len(self._flows) > 1:
            self._flow.add_block(escape_inline(title), title)
            return
        self.outline.append(Heading(title=title, level=level, page=1))
        self._flow.add_block(heading(level, title), title)

    def _image(self, element: Any) -> None:
        alt = " ".join((element.get("alt") or "").split())
        if alt:
            self._flow.add(escape_inline(alt), alt)

    def _start_list(self, element: Any, *, ordered: bool) -> None:
        self._flow.end_block()
        start = element.get("start") or "1"
        number = int(start) if start.isascii() and start.isdigit() and len(start) < 9 else 1
        self._lists.append([ordered, number])

    def _end_list(self) -> None:
        self._flow.end_list()
        if self._lists:
            self._lists.pop()

    def _start_item(self) -> None:
        self._flow.end_block()
        ordered, number = self._lists[-1] if self._lists else (False, 1)
        if self._lists:
            self._lists[-1][1] += 1
        self._flow.push_item(f"{number}. " if ordered else "- ")

    def _end_item(self) -> None:
        self._flow.end_block()
        self._flow.pop()

    def _start_table(self) -> None:
        self._flow.end_block()
        self._grids.append(Grid())

    def _start_row(self) -> None:
        if self._grids:
            self._grids[-1].start_row()

    def _end_row(self) -> None:
        if self._grids:
            self._grids[-1].end_row()

    def _start_cell(self) -> None:
        if self._grids:
            self._flows.append(Flow())

    def _end_cell(self, element: Any) -> None:
        if not self._grids or len(self._flows) < 2:
            return
        flow = self._flows.pop()
        flow.end_block()
        grid = self._grids[-1]
        grid.has_header = grid.has_header or element.tag == "th"
        row_span, column_span = _span(element, "rowspan"), _span(element, "colspan")
        if grid.is_full:
            self._warn("table_spans_ignored: a table has too many cells for its spans.")
        cell = Cell(flow.text(), flow.cell_markdown(), block=flow.markdown())
        grid.add(cell, row_span, column_span)

    def _end_table(self) -> None:
        if not self._grids:
            return
        grid = self._grids.pop()
        grid.end_row()
        self._flow.end_block()
        if not grid.rows:
            return
        if grid.is_layout():
            for cell in (cell for row in grid.rows for cell in row if cell.text):
                self._flow.add_block(cell.block, cell.text)
            return
        self.tables.append(grid.texts())
        if len(self._flows) > 1:
            for row in grid.rows:
                line = " / ".join(cell.text for cell in row if not cell.repeated)
                self._flow.add_block(escape_inline(line), line)
        else:
            self._flow.add_block(table_rows(grid.markdowns()), grid.plain())

    def _warn(self, warning: str) -> None:
        if warning not in self.warnings:
            self.warnings.append(warning)


def _span(element: Any, name: str) -> int:
    value = (element.get(name) or "1").strip()
    return int(value) if value.isascii() and value.isdigit() and len(value) < 9 else 1
