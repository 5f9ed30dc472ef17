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
from jobs.parsing.page_import.document import MAX_PAGES, Document, page_line
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
        if document.page_count > MAX_PAGES:
            raise ParseError(
                "pages_exceeded", f"{document.page_count} pages; at most {MAX_PAGES} are read."
            )
        yield clean_tree({"document": _head(document, found.type, found.warnings)})
        for done, page in enumerate(document.pages, start=1):
            yield clean_tree(page_line(page))
            progress(done, document.page_count)
            budget.check()


def _head(document: Document, detected_type: str, warnings: tuple[str, ...]) -> dict[str, Any]:
    head = document.head()
    return {
        **head,
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
    importlib.import_module("jobs.parsing.page_import.pdf_fonts").has_japanese_font()
