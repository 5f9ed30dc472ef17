"""SQL as text: statements with their lines, and the comments beside columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PIECE = re.compile(
    r"'(?:[^']|'')*'|\"[^\"\n]*\"|`[^`\n]*`|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$|;"
    r"|^[ \t]*(?:GO|/)[ \t]*$",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_ROUTINE = re.compile(
    r"\s*CREATE\s+(?:OR\s+(?:REPLACE|ALTER)\s+)?(?:PROCEDURE|FUNCTION|TRIGGER|PACKAGE)\b", re.I
)
_MAX_STATEMENT = 200_000


@dataclass(frozen=True)
class Statement:
    """One statement without leading blank lines and comments; `line` is its first."""

    text: str
    line: int


def split(text: str) -> Iterator[Statement]:
    """Yield the statements between `;`, `GO` and `/`; a routine goes on to its `END;`."""
    start = 0
    for match in _PIECE.finditer(text):
        found = match.group(0)
        is_end = found == ";" or found.strip().upper() in ("GO", "/")
        if not is_end or (found == ";" and _is_open_routine(text[start : match.start()])):
            continue
        yield from _statement(text, start, match.start())
        start = match.end()
    yield from _statement(text, start, len(text))


def _is_open_routine(text: str) -> bool:
    bare = re.sub(r"--[^\n]*|/\*.*?\*/", " ", text[-_MAX_STATEMENT:], flags=re.DOTALL)
    if not _ROUTINE.match(bare) or not re.search(r"\bBEGIN\b", bare, re.IGNORECASE):
        return False
    return not re.search(r"\bEND(?:\s+\w+)?\s*$", bare, re.IGNORECASE)


def _statement(text: str, start: int, end: int) -> Iterator[Statement]:
    blank = re.compile(r"(?:\s+|--[^\n]*|/\*.*?\*/)+", re.DOTALL).match(text, start, end)
    first = blank.end() if blank else start
    body = text[first:end]
    if body.strip() and len(body) <= _MAX_STATEMENT:
        yield Statement(body, text.count("\n", 0, first) + 1)


def comment_above(lines: list[str], line: int) -> str | None:
    """Return the comment lines that end above `line`; those at the head of the file for line 1."""
    found: list[str] = []
    row = line - 2
    if line == 1:
        row = -1
        while row + 1 < len(lines) and lines[row + 1].lstrip().startswith("--"):
            row += 1
    while row >= 0 and lines[row].lstrip().startswith("--"):
        found.append(lines[row].lstrip().lstrip("-").strip().strip("-=").strip())
        row -= 1
    return "\n".join(part for part in reversed(found) if part) or None


def comment_of(lines: list[str], statement: Statement, column: str) -> str | None:
    """Return the comment at the end of the line on which a column is declared."""
    last = statement.line + statement.text.count("\n")
    wanted = re.compile(rf"^\s*,?\s*[\"`\[]?{re.escape(column)}[\"`\]]?\s", re.IGNORECASE)
    for text in lines[statement.line - 1 : last]:
        if wanted.match(text):
            _, mark, comment = text.partition("--")
            return comment.strip() or None if mark else None
    return None
