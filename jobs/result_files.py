"""One downloaded result object: checked through once, then read as often as needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.errors import ReportInvalid
from jobs.page_facts import check_page
from jobs.results import read_result


@dataclass(frozen=True)
class ResultContents:
    """What a result says besides its pages and its sources."""

    document: Mapping[str, Any]
    design: Mapping[str, Any] | None
    markdown: Mapping[str, str] | None


@dataclass(frozen=True)
class ResultFile:
    """A result on disk."""

    path: Path
    max_bytes: int

    def check(self, type: str) -> ResultContents:
        """Read every line; raises ReportInvalid for anything that is no whole result of `type`."""
        found: dict[str, Any] = {}
        for kind, value in read_result(self.path, self.max_bytes):
            if kind == "page":
                check_page(value)
            elif kind != "source":
                found[kind] = value
        contents = ResultContents(found["document"], found.get("design"), found.get("markdown"))
        designed = contents.design is not None and contents.markdown is not None
        if contents.document.get("type") != type or designed != (type == "code2des"):
            raise ReportInvalid(f"this is no result of a {type}")
        return contents

    def each(self, kind: str) -> ResultValues:
        """Return the values of one kind: "page" or "source"."""
        return ResultValues(self, kind)


@dataclass(frozen=True)
class ResultValues:
    """Values of one kind in a result; iterating yields them, each time from the first."""

    file: ResultFile
    kind: str

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        for kind, value in read_result(self.file.path, self.file.max_bytes):
            if kind == self.kind:
                yield value
