"""Find the reader of some bytes and open them as a document."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from jobs.parsing.budget import Budget
from jobs.parsing.errors import ParseError
from jobs.parsing.page_import.document import Document, Source
from jobs.parsing.page_import.formats import READERS, display_name
from jobs.parsing.page_import.office_password import opened
from jobs.parsing.page_import.sniffing import Detected, detect


def open_document(
    content: Path | bytes,
    file_name: str,
    *,
    options: Mapping[str, Any],
    budget: Budget,
    closing: ExitStack,
) -> tuple[Detected, Document]:
    """Return what the bytes are and the document in them, readable until `closing` closes.

    Raises ParseError.
    """
    content, found = _detected(content, file_name, options.get("password"))
    if found.type not in READERS:
        raise ParseError(
            "type_unsupported", f"The file is {display_name(found.type)}, which is not read yet."
        )
    source = Source(
        content=content,
        file_name=file_name,
        detected_type=found.type,
        options=options,
        budget=budget,
        warnings=found.warnings,
        closing=closing,
    )
    document: Document = importlib.import_module(READERS[found.type]).read(source)
    return found, document


def _detected(
    content: Path | bytes, file_name: str, password: str | None
) -> tuple[Path | bytes, Detected]:
    """Find the type; an Office file that its password opens is read without its protection."""
    try:
        found = detect(content, file_name)
    except ParseError as error:
        if error.code != "file_encrypted" or not password:
            raise
        content = opened(content, password)
        return content, detect(content, file_name)
    return (opened(content, password) if password and found.type == "xls" else content), found
