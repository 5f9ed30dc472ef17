"""Put into the result lines what was made after the text: pictures and remarks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobs.messages import canonical_json

#: Longer lines are left as they are: the worker's memory is worth more than their picture.
MAX_LINE_BYTES = 16 * 1024 * 1024


@dataclass
class Additions:
    """By page number: keys to set and warnings to add; page 0 is the document."""

    keys: dict[int, dict[str, Any]] = field(default_factory=dict)
    warnings: dict[int, list[str]] = field(default_factory=dict)
    dropped: dict[int, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.keys or self.warnings)

    def set(self, number: int, keys: Mapping[str, Any]) -> None:
        """Set keys of a page."""
        self.keys.setdefault(number, {}).update(keys)

    def drop(self, number: int, beginning: str) -> None:
        """Take the warnings of a page away that begin so."""
        self.dropped[number] = beginning

    def warn(self, number: int, warning: str) -> None:
        """Add a warning to a page, or with number 0 to the document."""
        self.warnings.setdefault(number, []).append(warning)


def merge(lines: Path, destination: Path, additions: Additions) -> None:
    """Copy result lines with what belongs to each; what is no line of ours stays as it is."""
    with lines.open("rb") as source, destination.open("wb") as output:
        while line := source.readline(MAX_LINE_BYTES):
            output.write(_merged(line, additions) if line.endswith(b"\n") else line)


def _merged(line: bytes, additions: Additions) -> bytes:
    try:
        value = json.loads(line)
        kind, content = next(iter(value.items()))
        number = content["number"] if kind == "page" else 0
        keys, warnings = additions.keys.get(number), additions.warnings.get(number)
        if not (keys or warnings) or kind not in ("page", "document"):
            return line
        content.update(keys or {})
        kept = [each for each in content["warnings"] if not _drops(additions, number, each)]
        content["warnings"] = [*kept, *(warnings or [])]
        return canonical_json(value) + b"\n"
    except (ValueError, TypeError, KeyError, AttributeError, StopIteration, RecursionError):
        return line  # the web judges the lines and refuses what is none


def _drops(additions: Additions, number: int, warning: str) -> bool:
    beginning = additions.dropped.get(number)
    return beginning is not None and warning.startswith(beginning)
