"""Turn one file into result lines: a pure library, a path in and plain dictionaries out.

    jobs.parsing
    ├── page_import/   documents become pages; one file per format
    └── code2des/      source code becomes a design document; one file per language

Nothing here imports another room, opens a socket, starts a thread or writes a file. The caller runs
it in a child process of its own with limits on memory, CPU and output. Formats and languages are
loaded when first needed, so that importing this package is cheap.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from jobs.parsing.errors import PARSER_VERSION, ParseError
from jobs.parsing.page_import.formats import PAINTERS

__all__ = ["DRAWN", "PARSER_VERSION", "ParseError", "draw", "machine", "parse", "preload", "scan"]

#: the detected types whose pages can be drawn
DRAWN = frozenset(PAINTERS)

#: import type → module with `read()` and `preload()`
READERS: Mapping[str, str] = {
    "page_import": "jobs.parsing.page_import.reader",
    "code2des": "jobs.parsing.code2des.reader",
}

_PAINTER = "jobs.parsing.page_import.painter"


def parse(
    type: str,
    path: Path,
    *,
    file_name: str,
    options: Mapping[str, Any],
    progress: Callable[[int, int | None], None],
) -> Iterator[dict[str, Any]]:
    """Yield the result lines of the file at `path`, in order, the document line first.

    `progress(done, total)` is called as work goes on. Same bytes, name and options give the same
    lines. Raises ParseError with a stable code when the file cannot be taken in; it may come after
    lines were yielded, which are then worthless.
    """
    reader = _reader(type)
    try:
        yield from reader.read(path, file_name=file_name, options=options, progress=progress)
    except MemoryError as error:
        raise ParseError("parse_memory", "The file needs more memory than allowed.") from error


def draw(
    path: Path,
    *,
    file_name: str,
    options: Mapping[str, Any],
    first: int,
    cpu_seconds: float,
    progress: Callable[[int, int | None], None],
) -> Iterator[Any]:  # of Picture and Flaw
    """Yield a picture, or why there is none, for each page of a document from page `first` on.

    Ends early when `cpu_seconds` of processor time are used. Raises ParseError.
    """
    painter = importlib.import_module(_PAINTER)
    yield from painter.draw(
        path,
        file_name=file_name,
        options=options,
        first=first,
        cpu_seconds=cpu_seconds,
        progress=progress,
    )


def scan(path: Path, *, file_name: str, options: Mapping[str, Any], number: int) -> bytes:
    """Return one page as a grey PGM image, fine enough to read text from. Raises ParseError."""
    painter: Any = importlib.import_module(_PAINTER)
    found: bytes = painter.scan(path, file_name=file_name, options=options, number=number)
    return found


def preload(type: str) -> None:
    """Import every library that `type` may need, so that forked children start warm."""
    _reader(type).preload()


def machine() -> dict[str, str | None]:
    """Return what the parsers found on this machine and would miss without."""
    fonts: Any = importlib.import_module("jobs.parsing.page_import.pdf_fonts")
    return {"japanese_font": fonts.japanese_font()}


def _reader(type: str) -> Any:  # a module with read() and preload(), named in READERS
    if type not in READERS:
        raise ParseError("type_unsupported", f"There is no import type {type!r}.")
    return importlib.import_module(READERS[type])
