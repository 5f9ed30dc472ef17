"""Read one document: find its type, give it to its format, clean and number what comes back."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from jobs.parsing.budget import Budget
from jobs.parsing.cleaning import clean_tree
from jobs.parsing.errors import PARSER_VERSION, ParseError
from jobs.parsing.page_import.dispatch import open_document
from jobs.parsing.page_import.document import MAX_PAGES, Document, page_line, wanted_pages
from jobs.parsing.page_import.formats import PAINTERS, READERS


def read(
    path: Path,
    *,
    file_name: str,
    options: Mapping[str, Any],
    progress: Callable[[int, int | None], None],
) -> Iterator[dict[str, Any]]:
    """Yield the document line, then a line per page. Raises ParseError."""
    budget = Budget()
    with ExitStack() as closing:
        found, document = open_document(
            path, file_name, options=options, budget=budget, closing=closing
        )
        wanted = wanted_pages(options)
        count = len(wanted.among(document.page_count))
        if document.page_count and not count:
            last = document.page_count
            raise ParseError("page_range_empty", f"The last page is {last}; none asked for exists.")
        if count > MAX_PAGES:
            raise ParseError("pages_exceeded", f"{count} pages; at most {MAX_PAGES} are read.")
        yield clean_tree({"document": _head(document, found.type, found.warnings, options)})
        pages = (page for page in document.pages if page.number in wanted)
        for done, page in enumerate(pages, start=1):
            yield clean_tree(page_line(page))
            progress(done, count)
            budget.check()


def _head(
    document: Document, detected_type: str, warnings: tuple[str, ...], options: Mapping[str, Any]
) -> dict[str, Any]:
    head = document.head()
    return {
        **head,
        "language": head["language"] or options.get("language"),
        "schema": 1,
        "type": "page_import",
        "parser_version": PARSER_VERSION,
        "detected_type": detected_type,
        "warnings": [*warnings, *head["warnings"]],
    }


def preload() -> None:
    """Import every format."""
    for module in sorted({*READERS.values(), *PAINTERS.values()}):
        importlib.import_module(module)
    importlib.import_module("jobs.parsing.page_import.painter").preload()
    importlib.import_module("jobs.parsing.page_import.pdf_fonts").japanese_font()
