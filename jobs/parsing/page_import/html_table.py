"""A table under construction: cells with row and column spans become a full grid."""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_COLUMN_SPAN = 1000
MAX_CELLS = 500_000
MAX_ROW_SPAN = 65_534


@dataclass(frozen=True)
class Cell:
    """Text of one place in the grid; `repeated` where a span covers it again.

    `block` is its Markdown for a place outside of tables.
    """

    text: str
    markdown: str
    repeated: bool = False
    block: str = ""


@dataclass
class Grid:
    """Rows as they come; a row span costs nothing until the rows that it covers exist."""

    rows: list[list[Cell]] = field(default_factory=list)
    has_header: bool = False
    cells: int = 0
    _row: list[Cell] | None = None
    _open: dict[int, tuple[int, Cell]] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        """Say whether the table has so many cells that spans are ignored from now on."""
        return self.cells > MAX_CELLS

    @property
    def last(self) -> Cell | None:
        """Return the cell placed last in the row under way."""
        return self._row[-1] if self._row else None

    def start_row(self) -> None:
        """Begin a row, ending the one before."""
        self.end_row()
        self._row = []

    def end_row(self) -> None:
        """End the row: cells that span into it from above fill it up."""
        if self._row is None:
            return
        last = -1 if self.is_full else max(self._open, default=-1)
        while len(self._row) <= last:
            if not self._take_open():
                self._row.append(Cell("", ""))
        if self._row:
            self.rows.append(self._row)
            self.cells += len(self._row)
        self._row = None

    def add(self, cell: Cell, row_span: int, column_span: int) -> None:
        """Place a cell at the first free column of the row."""
        if self._row is None:
            self._row = []
        while self._take_open():
            continue
        again = Cell(cell.text, cell.markdown, repeated=True)
        for offset in range(max(1, min(column_span, MAX_COLUMN_SPAN - len(self._row)))):
            if row_span > 1 and not self.is_full:
                self._open[len(self._row)] = (min(row_span, MAX_ROW_SPAN) - 1, again)
            self._row.append(again if offset else cell)

    def _take_open(self) -> bool:
        assert self._row is not None
        column = len(self._row)
        if column not in self._open or self.is_full:
            return False
        left, cell = self._open.pop(column)
        if left > 1:
            self._open[column] = (left - 1, cell)
        self._row.append(cell)
        return True

    def is_layout(self) -> bool:
        """Say whether no row has two cells with text: old pages place things that way."""
        return not self.has_header and all(
            len(row) < 2 or sum(bool(cell.text) for cell in row) < 2 for row in self.rows
        )

    def strip(self) -> None:
        """Drop rows without text before the first and after the last that has some."""
        filled = [index for index, row in enumerate(self.rows) if any(cell.text for cell in row)]
        self.rows = self.rows[filled[0] : filled[-1] + 1] if filled else []

    def texts(self) -> list[list[str]]:
        """Return the grid as text, spans repeated so that each row stands for itself."""
        return [[cell.text for cell in row] for row in self.rows]

    def markdowns(self) -> list[list[str]]:
        """Return the grid as Markdown for cells."""
        return [[cell.markdown for cell in row] for row in self.rows]

    def plain(self) -> str:
        """Return the table as lines of tab-separated cells, each text once."""
        return "\n".join(
            "\t".join("" if c.repeated else c.text.replace("\n", " ") for c in row).rstrip("\t")
            for row in self.rows
        )
