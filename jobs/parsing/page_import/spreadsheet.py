"""XLSX, XLSB, XLS and ODS through calamine: a page is a sheet, long sheets are several pages.

XLSX is scanned first: a sheet that calamine could not lay out is read cell by cell instead. Empty
rows and columns are left out; a sheet is written where its text is, not where its cells stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

import python_calamine as calamine

from jobs.parsing.cleaning import clean
from jobs.parsing.errors import ParseError
from jobs.parsing.page_import.cells import cell_text, open_document_text
from jobs.parsing.page_import.document import MAX_PAGES, Document, Heading, Page, Source, Table
from jobs.parsing.page_import.error_cells import error_cells
from jobs.parsing.page_import.language import guess_language
from jobs.parsing.page_import.markup import escape_inline, heading, table
from jobs.parsing.page_import.ooxml import Package
from jobs.parsing.page_import.xlsx_extras import Extras, sheet_extras
from jobs.parsing.page_import.xlsx_scan import Scan, Scanner
from jobs.parsing.page_import.xlsx_stream import (
    MAX_SHEET_BYTES,
    Row,
    SheetReader,
    sheet_parts,
    workbook_part,
)
from jobs.parsing.page_import.xlsx_styles import NumberStyles

MAX_ROWS_PER_PAGE = 5_000
MAX_CELLS_PER_PAGE = 100_000
MAX_CHARACTERS = 100_000_000
_LANGUAGE_ROWS = 200


@dataclass(frozen=True, kw_only=True)
class _Sheet:
    """One sheet: how to get its rows, and how many of them go on each page."""

    name: str
    rows: Callable[[], Iterator[Row]]
    sizes: list[int]
    warnings: list[str] = field(default_factory=list)
    extras: Extras = field(default_factory=Extras)


def read(source: Source) -> Document:
    """Return a page for each sheet. Raises ParseError file_encrypted, file_corrupt."""
    loader = _Loader(source)
    workbook = loader.workbook
    sheets, warnings = [], []
    for index, meta in enumerate(workbook.sheets_metadata):
        if meta.typ not in (calamine.SheetTypeEnum.WorkSheet, calamine.SheetTypeEnum.DialogSheet):
            warnings.append(f"sheet_skipped: {clean(meta.name)!r} holds no cells (chart or macro).")
            continue
        sheets.append(loader.load(meta, index))
        source.budget.check()
        if sum(len(sheet.sizes) for sheet in sheets) > MAX_PAGES:
            raise ParseError("pages_exceeded", f"The sheets make more than {MAX_PAGES} pages.")
    if not sheets:
        raise ParseError("no_pages", "The workbook has no worksheets.")
    properties = loader.package.properties() if loader.package else {}
    outline, number = [], 1
    for sheet in sheets:
        outline.append(Heading(title=sheet.name, level=1, page=number))
        number += len(sheet.sizes)
    return Document(
        page_count=number - 1,
        pages=_pages(sheets),
        title=properties.get("title"),
        author=properties.get("creator"),
        language=_language(sheets),
        outline=outline,
        warnings=warnings,
    )


def _open(source: Source) -> calamine.CalamineWorkbook:
    try:
        workbook = calamine.CalamineWorkbook.from_filelike(source.open())
        return source.closing.enter_context(workbook)
    except calamine.PasswordError as error:
        raise ParseError("file_encrypted", "The workbook is protected by a password.") from error
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise ParseError("file_corrupt", "The workbook is damaged.") from error


class _Loader:
    """Gives the rows of each sheet, by the way that fits the sheet."""

    def __init__(self, source: Source) -> None:
        self.package = Package(source) if source.detected_type == "xlsx" else None
        self._source = source
        self._reader: SheetReader | None = None
        self._styles = NumberStyles()
        self._parts: dict[str, str] = {}
        self._scanner = Scanner([], NumberStyles())
        #: one loaded sheet, so that a workbook of one large sheet is loaded once
        self._loaded: tuple[str, calamine.CalamineSheet] | None = None
        if self.package is not None:
            part = workbook_part(self.package)
            self._parts = sheet_parts(self.package, part)
            self._reader = SheetReader(self.package, part, source.budget)
            self._styles = self._reader.styles
            self._scanner = Scanner(self._reader.lengths(), self._styles)
        # only now, as calamine loads the strings without limits
        self.workbook = _open(source)
        errors = error_cells(source)
        is_whole = len(errors) == len(self.workbook.sheets_metadata)
        self._errors = errors if is_whole else []

    def load(self, meta: calamine.SheetMetadata, index: int) -> _Sheet:
        """Return a sheet whose rows can be read twice: once to be counted, once to be written."""
        warnings = []
        rows: Callable[[], Iterator[Row]]
        if meta.visible != calamine.SheetVisibleEnum.Visible:
            warnings.append("sheet_hidden: this sheet is hidden in the workbook.")
        part = self._parts.get(meta.name)
        scan = self._scan(part, index)
        if scan.formulas_without_value:
            warnings.append("formula_no_value: formulas were never calculated; they are blank.")
        rows = partial(self._dense_rows, meta.name, scan)
        if part is not None and not scan.is_dense and self._reader is not None:
            rows = partial(self._reader.rows, part)
        first: list[Row] = []
        sizes, small = _measure(rows(), first)
        if small:
            rows = partial(iter, first)
        extras = sheet_extras(self.package, part) if self.package and part else Extras()
        return _Sheet(
            name=clean(meta.name), rows=rows, sizes=sizes, warnings=warnings, extras=extras
        )

    def _scan(self, part: str | None, index: int) -> Scan:
        if self.package is not None and part is not None:
            return self._scanner.scan(self.package.chunks(part, MAX_SHEET_BYTES))
        return Scan(texts=self._errors[index]) if index < len(self._errors) else Scan()

    def _dense_rows(self, name: str, scan: Scan) -> Iterator[Row]:
        sheet = self._sheet(name)
        is_open = self._source.detected_type == "ods"
        of_text = open_document_text if is_open else str.strip
        told: dict[int, Row] = {}
        for (row, column), text in scan.texts.items():
            told.setdefault(row, {})[column] = text
        # iter_rows() begins at row 0 but at the first column with a value
        left = sheet.start[1] if sheet.start else 0
        for index, values in enumerate(sheet.iter_rows()):
            cells = {
                column: of_text(text) if isinstance(text, str) else cell_text(text)
                for column, text in enumerate(values, start=left)
                if text != ""
            }
            for column, style in scan.styled(index).items():
                value = values[column - left] if left <= column < left + len(values) else ""
                if isinstance(value, float):
                    cells[column] = self._styles.text(value, style)
            cells.update(told.pop(index, {}))
            if index % MAX_ROWS_PER_PAGE == 0:
                self._source.budget.check()
            if cells:
                yield cells
        # the last rows may hold nothing else
        yield from (told[row] for row in sorted(told))

    def _sheet(self, name: str) -> calamine.CalamineSheet:
        if self._loaded is not None and self._loaded[0] == name:
            return self._loaded[1]
        try:
            found = self.workbook.get_sheet_by_name(name)
        except calamine.PasswordError as error:
            raise ParseError("file_encrypted", "The workbook is protected.") from error
        except (calamine.CalamineError, OSError, ValueError) as error:
            raise ParseError("file_corrupt", f"The sheet {clean(name)!r} is damaged.") from error
        if self._loaded is None and found.height > MAX_ROWS_PER_PAGE:
            self._loaded = name, found
        return found


def _measure(rows: Iterator[Row], first: list[Row]) -> tuple[list[int], bool]:
    """Return the rows of each page; keep them in `first` as long as they make one page."""
    sizes, cells, characters = [0], 0, 0
    for row in rows:
        if sizes[-1] >= MAX_ROWS_PER_PAGE or cells >= MAX_CELLS_PER_PAGE:
            sizes.append(0)
            cells = 0
            first.clear()
        sizes[-1] += 1
        cells += len(row)
        characters += sum(map(len, row.values()))
        if characters > MAX_CHARACTERS:
            raise ParseError("result_too_large", "The cells hold more text than allowed.")
        if len(sizes) == 1:
            first.append(row)
    return sizes, len(sizes) == 1


def _pages(sheets: list[_Sheet]) -> Iterator[Page]:
    number = 0
    for sheet in sheets:
        rows = sheet.rows()
        header: Row = {}
        for part, size in enumerate(sheet.sizes):
            number += 1
            taken = list(islice(rows, size))
            if part == 0 and taken:
                header = taken[0]
            yield _page(number, sheet, taken, header if part else None)


def _page(number: int, sheet: _Sheet, rows: list[Row], header: Row | None) -> Page:
    used = sorted({column for row in rows for column in row})
    cells: Table = [[clean(row.get(column, "")) for column in used] for row in rows]
    head = [] if header is None else [[clean(header.get(column, "")) for column in used]]
    text = [sheet.name, *(_plain_row(row) for row in cells)]
    markdown = [heading(1, sheet.name)]
    markdown += [table([*head, *cells])] if cells else []
    tables = [cells] if cells else []
    if header is None:
        markdown += ["\n".join(f"- {escape_inline(line)}" for line in sheet.extras.lines)]
        text += sheet.extras.lines
        for title, chart in sheet.extras.charts:
            markdown += [escape_inline(title), table(chart)]
            text += [title, *(_plain_row(row) for row in chart)]
            tables += [chart] if chart else []
    warnings = [*sheet.warnings]
    if len(text) == 1:
        warnings.append("no_text: this page has no text.")
    return Page(
        number=number,
        text="\n".join(text),
        markdown="\n\n".join(part for part in markdown if part),
        tables=tables,
        warnings=warnings,
    )


def _plain_row(row: list[str]) -> str:
    return "\t".join(row).replace("\n", " ").rstrip("\t")


def _language(sheets: list[_Sheet]) -> str | None:
    sample: list[str] = []
    for sheet in sheets[:10]:
        sample.append(sheet.name)
        if len(sheet.sizes) == 1:
            for row in islice(sheet.rows(), _LANGUAGE_ROWS):
                sample.extend(row.values())
    return guess_language("\n".join(sample))
