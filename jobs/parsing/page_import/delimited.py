"""CSV and TSV: rows become tables, the delimiter is found, quoted line ends stay in their cell.

A field has a limit: an open quote would otherwise swallow the rest of the file. Such a file is read
again with quotes as plain characters, and says so.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain

from jobs.parsing.cleaning import clean
from jobs.parsing.encodings import decode
from jobs.parsing.errors import ParseError
from jobs.parsing.page_import.document import (
    MAX_PAGES,
    SECTION_CHARACTERS,
    Document,
    Page,
    Source,
    Table,
)
from jobs.parsing.page_import.language import guess_language
from jobs.parsing.page_import.markup import table
from jobs.parsing.page_import.text import text_warnings

MAX_FIELD_CHARACTERS = 1_000_000
MAX_ROWS_PER_PAGE = 5_000
MAX_COLUMNS = 16_384
_SAMPLE_CHARACTERS = 65_536
_SAMPLE_ROWS = 200
_DELIMITERS = (",", "\t", ";", "|")
_SEP_LINE = re.compile(r"sep=(.)\n", re.IGNORECASE)
#: a last line of ours: when it does not come back as a row, a quote was open before it
_SENTINEL = "\x1f\x1e\x1f"


def read(source: Source) -> Document:
    """Return the rows as pages of at most MAX_ROWS_PER_PAGE, one table each."""
    decoded = decode(
        source.read(), forced=source.option("encoding"), language=source.option("language")
    )
    text = clean(decoded.text)
    warnings = text_warnings(decoded)
    delimiter, text = _find_delimiter(text, source.detected_type)
    quoting = csv.QUOTE_MINIMAL
    sizes = _measure(text, delimiter, quoting, source)
    if sizes is None:
        quoting = csv.QUOTE_NONE
        warnings.append(
            "csv_quotes_broken: a quote is never closed; quotes were read as plain characters."
        )
        sizes = _measure(text, delimiter, quoting, source) or []
    if len(sizes) > MAX_PAGES:
        raise ParseError("pages_exceeded", f"More than {MAX_PAGES * MAX_ROWS_PER_PAGE} rows.")
    return Document(
        page_count=len(sizes),
        pages=_pages(_rows(text, delimiter, quoting), sizes),
        encoding=decoded.encoding,
        language=guess_language(text, decoded.encoding),
        warnings=warnings,
    )


def _find_delimiter(text: str, detected_type: str) -> tuple[str, str]:
    """Return the delimiter and the text without Excel's `sep=` line."""
    if named := _SEP_LINE.match(text[:10]):
        return named.group(1), text[named.end() :]
    sample = text[:_SAMPLE_CHARACTERS]
    preferred = "\t" if detected_type == "tsv" else ","
    order = [preferred, *(mark for mark in _DELIMITERS if mark != preferred)]
    best = max(order, key=lambda mark: _regularity(sample, mark, len(sample) < len(text)))
    return best, text


def _regularity(sample: str, delimiter: str, is_cut: bool) -> float:
    """Score how evenly `delimiter` cuts the sample: share of rows with the usual width."""
    widths: Counter[int] = Counter()
    try:
        for count, row in enumerate(_rows(sample, delimiter, csv.QUOTE_MINIMAL)):
            if count >= _SAMPLE_ROWS:
                break
            if row:
                widths[len(row)] += 1
    except csv.Error:
        return 0.0
    if is_cut and len(widths) > 1 and sum(widths.values()) > 1:
        widths[len(row)] -= 1
    width, count = max(widths.items(), key=lambda entry: (entry[1], entry[0]), default=(0, 0))
    return 0.0 if width < 2 else count / sum(widths.values())


def _lines(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _rows(text: str, delimiter: str, quoting: int) -> Iterator[list[str]]:
    limit = MAX_FIELD_CHARACTERS if quoting == csv.QUOTE_MINIMAL else len(text) + 1
    csv.field_size_limit(max(limit, 1))
    yield from csv.reader(_lines(text), delimiter=delimiter, quoting=quoting)  # type: ignore[arg-type]


def _measure(text: str, delimiter: str, quoting: int, source: Source) -> list[int] | None:
    """Return the number of rows of each page, or None when the quotes do not close."""
    csv.field_size_limit(MAX_FIELD_CHARACTERS if quoting == csv.QUOTE_MINIMAL else len(text) + 8)
    ending = "" if text.endswith("\n") or not text else "\n"
    lines = chain(_lines(text + ending), [_SENTINEL])
    sizes, characters, last = [0], 0, []
    try:
        for row in csv.reader(lines, delimiter=delimiter, quoting=quoting):  # type: ignore[arg-type]
            if len(row) > MAX_COLUMNS:
                raise ParseError("file_corrupt", f"A row has more than {MAX_COLUMNS} columns.")
            if sizes[-1] >= MAX_ROWS_PER_PAGE or characters >= SECTION_CHARACTERS:
                sizes.append(0)
                characters = 0
                source.budget.check()
            sizes[-1] += 1
            characters += sum(map(len, row)) + len(row)
            last = row
    except csv.Error:
        return None
    if last != [_SENTINEL]:
        return None
    sizes[-1] -= 1
    return sizes if sizes[-1] or len(sizes) == 1 else sizes[:-1]


def _pages(rows: Iterator[list[str]], sizes: list[int]) -> Iterator[Page]:
    header: list[str] = []
    for number, size in enumerate(sizes, start=1):
        table_of_page: Table = [row for row in (next(rows) for _ in range(size)) if row]
        if number == 1:
            header = table_of_page[0] if table_of_page else []
        shown = table_of_page if number == 1 else [header, *table_of_page]
        widths = {len(row) for row in table_of_page}
        warnings = [] if table_of_page else ["no_text: this page has no text."]
        if len(widths) > 1:
            warnings.append(
                f"rows_uneven: rows have between {min(widths)} and {max(widths)} cells."
            )
        yield Page(
            number=number,
            text="\n".join(map(_plain_row, table_of_page)),
            markdown=table(shown),
            tables=[table_of_page] if table_of_page else [],
            warnings=warnings,
        )


def _plain_row(row: list[str]) -> str:
    line = "\t".join(row)
    return " ".join(line.split("\n")) if "\n" in line else line
