"""The result object: deterministic gzip of JSON lines, written by the worker, read by the web.

Line 1 is `{"document": {…}}`; then one `{"page": {…}}` each for a Page Import, or
`{"design": {…}}`, `{"markdown": {…}}` and one `{"source": {…}}` a file for Code2Des. Every line is
canonical JSON.
"""

from __future__ import annotations

import gzip
import json
import shutil
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

from jobs.errors import ReportInvalid

#: The kinds a line may be.
KINDS = frozenset({"document", "page", "design", "markdown", "source"})

#: Constant for ever: another level gives other bytes for the same result.
_COMPRESSION_LEVEL = 6
_COPY_BYTES = 256 * 1024


def pack_result(lines: Path, destination: Path) -> None:
    """Compress a file of JSON lines so that equal lines give equal bytes."""
    with (
        lines.open("rb") as source,
        destination.open("wb") as raw,
        gzip.GzipFile(
            filename="", mode="wb", compresslevel=_COMPRESSION_LEVEL, fileobj=raw, mtime=0
        ) as packed,
    ):
        shutil.copyfileobj(source, packed, _COPY_BYTES)


def read_result(path: Path, max_bytes: int) -> Generator[tuple[str, Any], None, None]:
    """Yield (kind, value) of each line, inflating at most `max_bytes` altogether.

    Raises ReportInvalid for more bytes, broken gzip or JSON, an unknown kind, or a first line
    that is not the document.
    """
    remaining = max_bytes
    first = True
    try:
        with gzip.open(path, "rb") as packed:
            while line := packed.readline(remaining + 1):
                remaining -= len(line)
                if remaining < 0:
                    raise ReportInvalid(f"result inflates to more than {max_bytes} bytes")
                kind, value = parse_line(line)
                if first != (kind == "document"):
                    raise ReportInvalid("result must have one document line, the first")
                first = False
                yield kind, value
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ReportInvalid("result is not whole gzip") from error
    if first:
        raise ReportInvalid("result is empty")


def parse_line(line: bytes) -> tuple[str, Any]:
    """Return (kind, value) of one line. Raises ReportInvalid."""
    try:
        value = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ReportInvalid("result line is not JSON") from error
    if not isinstance(value, dict) or len(value) != 1:
        raise ReportInvalid("result line is not one kind and its value")
    kind, content = next(iter(value.items()))
    if kind not in KINDS:
        raise ReportInvalid("result line is of an unknown kind")
    return kind, content


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
