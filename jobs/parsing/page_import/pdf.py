"""PDF through pdfium: text per page with its geometry, bookmarks, metadata.

pdfium is not thread-safe and may abort the process on memory exhaustion; both are the caller's
concern (one child process per file). A page that fails becomes a warning, not the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pypdfium2 as pdfium

from jobs.parsing.cleaning import clean
from jobs.parsing.errors import ParseError
from jobs.parsing.page_import.document import MAX_PAGES, Document, Heading, Page, Source
from jobs.parsing.page_import.language import guess_language
from jobs.parsing.page_import.pdf_blocks import Style, find_blocks, write_markdown, write_text
from jobs.parsing.page_import.pdf_characters import is_vertical, read_lines
from jobs.parsing.page_import.pdf_vertical import read_columns

_ERR_PASSWORD = 4
_ERR_SECURITY = 5
_SAMPLE_PAGES = 8
_MAX_BOOKMARKS = 10_000
_MAX_BOOKMARK_DEPTH = 15
_MAX_METADATA_CHARACTERS = 2_000


def read(source: Source) -> Document:
    """Open the file and return its head; pages are read one by one. Raises ParseError."""
    pdf = _open(source)
    count = len(pdf)
    if count == 0:
        raise ParseError("no_pages", "The PDF has no pages.")
    if count > MAX_PAGES:
        raise ParseError("pages_exceeded", f"{count} pages; at most {MAX_PAGES} are read.")
    outline = _outline(pdf)
    style, sample = _sample(pdf, count, source)
    return Document(
        page_count=count,
        pages=_pages(pdf, count, style, outline),
        title=_metadata(pdf, "Title"),
        author=_metadata(pdf, "Author"),
        language=guess_language(sample),
        outline=outline,
    )


def _open(source: Source) -> Any:  # PdfDocument; pypdfium2 ships no types
    try:
        return pdfium.PdfDocument(source.path, password=source.option("password"))
    except pdfium.PdfiumError as error:
        code = getattr(error, "err_code", None)
        if code == _ERR_PASSWORD:
            message = "The PDF is protected by a password."
            raise ParseError("file_encrypted", message) from error
        if code == _ERR_SECURITY:
            message = "The PDF is encrypted by a security handler that is not known."
            raise ParseError("file_encrypted", message) from error
        if "Success" in str(error):
            raise ParseError("no_pages", "The PDF has no pages.") from error
        raise ParseError("file_corrupt", "The PDF is damaged and cannot be opened.") from error


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


def _sample(pdf: Any, count: int, source: Source) -> tuple[Style, str]:
    """Read some pages to learn the size of body text, the sizes above it, and the language."""
    sizes: Counter[float] = Counter()
    texts: list[str] = []
    step = max(1, count // _SAMPLE_PAGES)
    for index in range(0, count, step):
        source.budget.check()
        try:
            page = pdf[index]
            textpage = page.get_textpage()
        except pdfium.PdfiumError:
            continue
        for line in read_lines(textpage):
            sizes[line.size] += len(line.text)
            texts.append(line.text)
        textpage.close()
        page.close()
    return Style.from_sizes(sizes), "\n".join(texts)


def _pages(pdf: Any, count: int, style: Style, outline: list[Heading]) -> Iterator[Page]:
    titles: dict[int, dict[str, int]] = {}
    for entry in outline:
        if entry.page is not None:
            titles.setdefault(entry.page, {})[_key(entry.title)] = entry.level
    for number in range(1, count + 1):
        yield _page(pdf, number, style, titles.get(number, {}))


def _page(pdf: Any, number: int, style: Style, titles: dict[str, int]) -> Page:
    try:
        page = pdf[number - 1]
        width, height = page.get_size()
        textpage = page.get_textpage()
    except pdfium.PdfiumError:
        warning = "page_failed: this page is damaged and could not be read."
        return Page(number=number, text="", markdown="", warnings=[warning])
    vertical = is_vertical(textpage)
    lines = read_columns(textpage) if vertical else read_lines(textpage)
    blocks = find_blocks(lines, style, lambda text: titles.get(_key(text)))
    text = write_text(blocks)
    warnings = []
    if not text.strip():
        warnings.append("no_text_layer: this page has no text; it may be a scanned image.")
    if vertical:
        warnings.append("vertical_text: columns were read from right to left.")
    textpage.close()
    page.close()
    return Page(
        number=number,
        text=text,
        markdown=write_markdown(blocks),
        warnings=warnings,
        width=round(width, 2),
        height=round(height, 2),
    )


def _key(text: str) -> str:
    return "".join(text.split()).casefold()
