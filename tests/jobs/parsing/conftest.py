"""Files to parse, and parsing as the worker does it: through `parse()` alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs.parsing import parse

FILES = Path(__file__).resolve().parents[2] / "corpus" / "files"
Lines = list[dict[str, Any]]


def run(type: str, path: Path, name: str | None = None, **options: Any) -> Lines:
    """Return all result lines, after a trip through JSON as strict as PostgreSQL's."""
    lines = list(
        parse(
            type,
            path,
            file_name=name or path.name,
            options=options,
            progress=lambda _done, _total: None,
        )
    )
    for line in lines:
        encoded = json.dumps(line, ensure_ascii=False, allow_nan=False).encode("utf-8")
        assert b"\\u0000" not in encoded
    return lines


@pytest.fixture
def corpus() -> Callable[[str], Path]:
    """Return the path of a corpus file by its name, such as `pdf/jsverb.pdf`."""
    return lambda name: FILES / name


@pytest.fixture
def imported(tmp_path: Path) -> Callable[..., Lines]:
    """Import bytes under a name, or a path as it is, and return the result lines."""

    def call(content: bytes | Path, name: str | None = None, **options: Any) -> Lines:
        if isinstance(content, Path):
            return run("page_import", content, name, **options)
        path = tmp_path / "source"
        path.write_bytes(content)
        return run("page_import", path, name, **options)

    return call


@pytest.fixture
def described(tmp_path: Path) -> Callable[..., Lines]:
    """Describe source code: bytes under a name, or a path as it is."""

    def call(content: bytes | Path, name: str | None = None, **options: Any) -> Lines:
        if isinstance(content, Path):
            return run("code2des", content, name, **options)
        path = tmp_path / "source"
        path.write_bytes(content)
        return run("code2des", path, name, **options)

    return call
