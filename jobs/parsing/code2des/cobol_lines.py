"""COBOL text as columns: fixed format counts bytes of CP932, not characters.

Columns 1–6 are a sequence number, 7 an indicator, 8–72 the program, 73–80 an identification. The
lines come decoded and are encoded again to be cut, so that a column is what the makers counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<string>[NXGBnxgb]?"(?:[^"]|"")*"?|[NXGBnxgb]?'(?:[^']|'')*'?)
    |(?P<pseudo>==.*?==)|(?P<word>[^\W_][\w\-]*|:[\w\-]+)|(?P<dot>\.(?=\s|$))|(?P<mark>\S)""",
    re.VERBOSE,
)
_FREE = re.compile(r"^\s*(?:>>|\$)\s*(?:SOURCE|SET).*\bFREE\b", re.IGNORECASE | re.MULTILINE)
_AREA_A = 4


@dataclass(frozen=True)
class Line:
    """The program part of one line; `is_comment` lines have only text."""

    number: int
    text: str
    is_comment: bool
    is_continuation: bool


@dataclass(frozen=True)
class Token:
    """A word, string or mark; `in_area_a` when it starts in columns 8 to 11."""

    text: str
    kind: str
    line: int
    in_area_a: bool

    @property
    def upper(self) -> str:
        """Return the word as COBOL compares it."""
        return self.text.upper()


def is_free(text: str) -> bool:
    """Say whether the source is in free format."""
    if _FREE.search(text):
        return True
    lines = [line for line in text.split("\n") if line.strip()][:200]
    fixed = sum(line[6:7] in ("", " ", "*", "/", "-", "D", "d", "$") for line in lines)
    numbered = sum(line[:6].strip() == "" or line[:6].strip().isalnum() for line in lines)
    return fixed + numbered < 1.6 * len(lines)


def cut_lines(text: str) -> list[Line]:
    """Return the lines of a source without sequence numbers and identification."""
    free = is_free(text)
    found = []
    for number, raw in enumerate(text.split("\n"), start=1):
        if free:
            stripped = raw.strip()
            found.append(Line(number, raw, stripped.startswith("*"), False))
            continue
        data = raw.expandtabs(8).encode("cp932", "replace")
        indicator = data[6:7].decode("ascii", "replace")
        body = data[7:72].decode("cp932", "ignore")
        is_comment = indicator in ("*", "/", "D", "d", "$")
        found.append(Line(number, body, is_comment, indicator == "-"))
    return found


def tokens(lines: list[Line]) -> Iterator[Token]:
    """Yield the tokens of all program lines; a continued string is one string."""
    for line in _joined(lines):
        text = line.text.split("*>")[0] if "*>" in line.text else line.text
        for match in _TOKEN.finditer(text):
            kind = match.lastgroup or "mark"
            yield Token(match.group(0), kind, line.number, match.start() < _AREA_A)


def _joined(lines: list[Line]) -> Iterator[Line]:
    pending: Line | None = None
    for line in lines:
        if line.is_comment:
            continue
        if line.is_continuation and pending is not None:
            rest = line.text.strip()
            is_open = pending.text.count('"') % 2 or pending.text.count("'") % 2
            text = pending.text + (rest[1:] if is_open and rest[:1] in "\"'" else rest)
            pending = Line(pending.number, text, False, False)
            continue
        if pending is not None:
            yield pending
        pending = line
    if pending is not None:
        yield pending


def unquote(text: str) -> str:
    """Return what a literal holds."""
    return re.sub(r"^[NXGBnxgb]?[\"']|[\"']$", "", text)


class Remarks:
    """Comment lines: above a line, or the first of a program."""

    def __init__(self, lines: list[Line]) -> None:
        self._above: dict[int, str] = {}
        self.count = 0
        block: list[str] = []
        for line in lines:
            words = line.text.strip().strip("*-=/# ").strip()
            if line.is_comment:
                self.count += 1
                if words:
                    block.append(words)
                continue
            if block and line.text.strip():
                self._above[line.number] = "\n".join(block)
            if line.text.strip():
                block = []

    def above(self, number: int) -> str | None:
        """Return the comment block above a line."""
        return self._above.get(number)

    def first_between(self, start: int, end: int) -> str | None:
        """Return the first comment block above the lines from `start` to `end`."""
        return next((self._above[n] for n in sorted(self._above) if start <= n <= end), None)
