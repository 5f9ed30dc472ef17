"""PDF through pdfium: text per page with its geometry, bookmarks, metadata.

pdfium is not thread-safe and may abort the process on memory exhaustion; both are the caller's
concern (one child process per file). A page that fails becomes a warning, not the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pypdfium2 as pdfium

from jobs.parsing.cleaning import clean
from jobs.parsing.errors import ParseError
from jobs.parsing.page_import.document import MAX_PAGES, Document, Heading, Page, Source
from jobs.parsing.page_import.language import guess_language
from jobs.parsing.page_import.pdf_blocks import (
    Block,
    Style,
    find_blocks,
    write_markdown,
    write_text,
)
from jobs.parsing.page_import.pdf_characters import Line, is_vertical, read_lines
from jobs.parsing.page_import.pdf_fonts import has_japanese_font, uses_outside_font
from jobs.parsing.page_import.pdf_tables import RuledTable, find_tables, split_at_tables
from jobs.parsing.page_import.pdf_vertical import read_columns

_ERR_PASSWORD = 4
_ERR_SECURITY = 5
_SAMPLE_PAGES = 8
#: pdfium keeps every font of an open document; opening it anew lets them go
REOPEN_PAGES = 200
_MAX_BOOKMARKS = 10_000
_MAX_BOOKMARK_DEPTH = 15
_MAX_METADATA_CHARACTERS = 2_000


def read(source: Source) -> Document:
    """Open the file and return its head; pages are read one by one. Raises ParseError."""
    pdf = open_pdf(source)
    count = len(pdf)
    if count == 0:
        raise ParseError("no_pages", "The PDF has no pages.")
    wanted = len(source.wanted.among(count))
    if wanted > MAX_PAGES:
        raise ParseError("pages_exceeded", f"{wanted} pages; at most {MAX_PAGES} are read.")
    outline = _outline(pdf)
    sheets = _sample(pdf, count, source)
    sample = "\n".join(line.text for sheet in sheets.values() if sheet for line in sheet.lines)
    return Document(
        page_count=count,
        pages=_pages(source, pdf, sheets, outline),
        title=_metadata(pdf, "Title"),
        author=_metadata(pdf, "Author"),
        language=guess_language(sample),
        outline=outline,
    )


def open_pdf(source: Source) -> Any:  # PdfDocument; pypdfium2 ships no types
    """Open the file, with the password among its options where it needs one. Raises ParseError."""
    password = source.option("password")
    try:
        return pdfium.PdfDocument(source.content, password=password)
    except pdfium.PdfiumError as error:
        code = getattr(error, "err_code", None)
        if code == _ERR_PASSWORD and password:
            return _open_without(source, error)
        if code == _ERR_PASSWORD:
            message = "The PDF is protected by a password."
            raise ParseError("file_encrypted", message) from error
        if code == _ERR_SECURITY:
            message = "The PDF is encrypted by a security handler that is not known."
            raise ParseError("file_encrypted", message) from error
        if "Success" in str(error):
            raise ParseError("no_pages", "The PDF has no pages.") from error
        raise ParseError("file_corrupt", "The PDF is damaged and cannot be opened.") from error


def _open_without(source: Source, refused: pdfium.PdfiumError) -> Any:
    """Open a file that refused a password: one that is only kept from printing needs none."""
    try:
        return pdfium.PdfDocument(source.content)
    except pdfium.PdfiumError:
        message = "The PDF does not open with this password."
        raise ParseError("password_wrong", message) from refused


def _metadata(pdf: Any, key: str) -> str | None:
    """Return one metadata value: each is read alone, as one may be broken without the others."""
    try:
        value = clean(pdf.get_metadata_value(key)).strip()
    except (UnicodeDecodeError, pdfium.PdfiumError):
        return None
    return value[:_MAX_METADATA_CHARACTERS] or None


def _outline(pdf: Any) -> list[Heading]:
    found: list[Heading] = []
    try:
        for bookmark in pdf.get_toc(max_depth=_MAX_BOOKMARK_DEPTH):
            found.append(_heading(bookmark))
            if len(found) >= _MAX_BOOKMARKS:
                break
    except (UnicodeDecodeError, pdfium.PdfiumError):
        return found
    return [heading for heading in found if heading.title]


def _heading(bookmark: Any) -> Heading:
    destination = bookmark.get_dest()
    index = destination.get_index() if destination is not None else None
    title = " ".join(clean(bookmark.get_title()).split())
    page = index + 1 if index is not None and index >= 0 else None
    return Heading(title=title, level=bookmark.level + 1, page=page)


def _sample(pdf: Any, count: int, source: Source) -> dict[int, _Sheet | None]:
    """Read some pages early, to learn from them; they are not read again."""
    sheets: dict[int, _Sheet | None] = {}
    wanted = source.wanted.among(count)
    for number in wanted[:: max(1, len(wanted) // _SAMPLE_PAGES)]:
        index = number - 1
        source.budget.check()
        sheets[index] = _read_sheet(pdf, index)
    return sheets


def _style(sheets: Iterable[_Sheet | None]) -> Style:
    sizes: Counter[float] = Counter()
    for sheet in sheets:
        for line in sheet.lines if sheet else ():
            sizes[line.size] += len(line.text)
    return Style.from_sizes(sizes)


@dataclass(frozen=True)
class _Sheet:
    """What pdfium gives for one page."""

    lines: list[Line]
    width: float
    height: float
    tables: list[RuledTable]
    is_vertical: bool
    lacks_font: bool


def _read_sheet(pdf: Any, index: int) -> _Sheet | None:
    """Return the content of a page, or None when it is damaged."""
    try:
        page = pdf[index]
        width, height = page.get_size()
        textpage = page.get_textpage()
    except pdfium.PdfiumError:
        return None
    text = textpage.get_text_range()
    vertical = is_vertical(textpage, text)
    sheet = _Sheet(
        lines=read_columns(textpage) if vertical else read_lines(textpage, text),
        width=round(width, 2),
        height=round(height, 2),
        tables=[] if vertical else find_tables(page, textpage),
        is_vertical=vertical,
        lacks_font=not has_japanese_font() and uses_outside_font(page),
    )
    textpage.close()
    page.close()
    return sheet


def _pages(
    source: Source, pdf: Any, sheets: dict[int, _Sheet | None], outline: list[Heading]
) -> Iterator[Page]:
    count = len(pdf)
    style = _style(sheets.values())
    titles: dict[int, dict[str, int]] = {}
    for entry in outline:
        if entry.page is not None:
            titles.setdefault(entry.page, {})[_key(entry.title)] = entry.level
    for index in (number - 1 for number in source.wanted.among(count)):
        if index % REOPEN_PAGES == REOPEN_PAGES - 1:
            pdf.close()
            pdf = open_pdf(source)
        sheet = sheets.pop(index) if index in sheets else _read_sheet(pdf, index)
        yield _page(sheet, index + 1, style, titles.get(index + 1, {}))


def _page(sheet: _Sheet | None, number: int, style: Style, titles: dict[str, int]) -> Page:
    if sheet is None:
        warning = "page_failed: this page is damaged and could not be read."
        return Page(number=number, text="", markdown="", warnings=[warning])
    blocks: list[Block] = []

    def title_level(text: str) -> int | None:
        return titles.get(_key(text)) if titles else None

    for lines, table in split_at_tables(sheet.lines, sheet.tables):
        blocks.extend(find_blocks(lines, style, title_level))
        if table is not None:
            blocks.append(Block(rows=table.rows))
    text = write_text(blocks)
    warnings = []
    if not text.strip():
        warnings.append("no_text_layer: this page has no text; it may be a scanned image.")
    if sheet.is_vertical:
        warnings.append("vertical_text: columns were read from right to left.")
    if sheet.lacks_font:
        warnings.append(
            "font_missing: the page uses a font that is neither embedded nor installed here; "
            "Japanese text may be lost."
        )
    return Page(
        number=number,
        text=text,
        markdown=write_markdown(blocks),
        tables=[table.rows for table in sheet.tables],
        warnings=warnings,
        width=sheet.width,
        height=sheet.height,
    )


def _key(text: str) -> str:
    return "".join(text.split()).casefold()
