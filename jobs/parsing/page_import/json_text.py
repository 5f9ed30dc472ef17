"""JSON and JSON Lines: lists of records become tables, all else an outline of names and values.

What is no JSON is read as plain text, with a warning. Numbers keep their digits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from jobs.parsing.cleaning import clean
from jobs.parsing.encodings import decode
from jobs.parsing.errors import ParseError
from jobs.parsing.page_import import text as plain
from jobs.parsing.page_import.document import SECTION_CHARACTERS, Document, Page, Source, Table
from jobs.parsing.page_import.language import guess_language
from jobs.parsing.page_import.markup import escape_inline, escape_line_starts, table
from jobs.parsing.page_import.text import text_warnings

_MAX_DEPTH = 200
_MAX_COLUMNS = 200
_CHECK_EVERY = 10_000
#: a part is not cut before it has one of so many parts of what it may hold
_LEAST_SHARE = 4
_MAX_ABOVE_CHARACTERS = 200
#: characters, lines, blocks of Markdown and tables that are before an item
_Place = tuple[int, int, int, int]


def read(source: Source) -> Document:
    """Return the values as one page, or as sections when they are many."""
    decoded = decode(
        source.read(), forced=source.option("encoding"), language=source.option("language")
    )
    value, found = _load(decoded.text)
    if not found:
        document = plain.read(source)
        warning = "json_invalid: the file is not valid JSON; it is shown as plain text."
        return replace(document, warnings=[*document.warnings, warning])
    writer = _Writer(source)
    writer.write(value)
    return Document(
        page_count=len(writer.parts),
        pages=_pages(writer.parts),
        encoding=decoded.encoding,
        language=guess_language("\n".join(writer.parts[0].lines), decoded.encoding),
        warnings=text_warnings(decoded),
    )


def _load(text: str) -> tuple[Any, bool]:
    """Return the value of JSON or of JSON Lines, and whether there is one."""
    options: dict[str, Any] = {"parse_int": str, "parse_float": str, "parse_constant": str}
    try:
        return json.loads(text, **options), True
    except RecursionError as error:
        raise ParseError("file_corrupt", "The JSON is nested too deeply.") from error
    except ValueError:
        lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 2:
        return None, False
    try:
        return [json.loads(line, **options) for line in lines], True
    except RecursionError as error:
        raise ParseError("file_corrupt", "The JSON is nested too deeply.") from error
    except ValueError:
        return None, False


@dataclass
class _Part:
    """What becomes one page."""

    above: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    markdown: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    characters: int = 0

    def split(self, place: _Place, above: list[str]) -> _Part:
        """Take away and return what comes after a place."""
        characters, lines, markdown, tables = place
        rest = _Part(above, self.lines[lines:], self.markdown[markdown:], self.tables[tables:])
        rest.characters = self.characters - characters
        self.characters = characters
        del self.lines[lines:], self.markdown[markdown:], self.tables[tables:]
        return rest


class _Writer:
    """Writes a value depth first into parts of a bounded size.

    A part that is full is cut before an item of the outermost list or object that has one far
    enough into it. What goes on in the next part stands below the names it belongs to.
    """

    def __init__(self, source: Source) -> None:
        self.parts = [_Part()]
        self._budget = source.budget
        self._count = 0
        #: the names of the lists and objects that are open; '' for one without a name
        self._open: list[str] = []
        #: where the last item of each depth begins in the last part
        self._starts: dict[int, _Place] = {}

    def write(self, value: Any) -> None:
        """Write the whole value."""
        self._value("", value, 0)

    def _value(self, name: str, value: Any, depth: int) -> None:
        if isinstance(value, list) and (rows := _records(value)):
            self._table(name, rows, depth)
        elif isinstance(value, (dict, list)) and value:
            self._children(name, value, depth)
        else:
            self._line(name, _scalar(value), depth)

    def _children(self, name: str, value: Any, depth: int) -> None:
        self._open.append(name)
        if len(self._open) > _MAX_DEPTH:
            raise ParseError("file_corrupt", "The JSON is nested too deeply.")
        if name:
            self._line(name, None, depth)
            depth += 1
        if isinstance(value, list):
            for item in value:
                self._begin()
                self._value("", item, depth)
        else:
            for key, item in value.items():
                self._begin()
                self._value(" ".join(clean(key).split()) or '""', item, depth)
        self._open.pop()

    def _begin(self) -> None:
        """Note that an item begins here, and cut the part when it is full."""
        self._count += 1
        if self._count % _CHECK_EVERY == 0:
            self._budget.check()
        part = self.parts[-1]
        place = (part.characters, len(part.lines), len(part.markdown), len(part.tables))
        self._starts[len(self._open)] = place
        while self.parts[-1].characters >= SECTION_CHARACTERS:
            self._cut()

    def _cut(self) -> None:
        least = SECTION_CHARACTERS // _LEAST_SHARE
        depth, place = min(found for found in self._starts.items() if found[1][0] >= least)
        self.parts.append(self.parts[-1].split(place, _above(self._open[:depth])))
        self._starts = {
            inner: (at[0] - place[0], at[1] - place[1], at[2] - place[2], at[3] - place[3])
            for inner, at in self._starts.items()
            if at >= place
        }

    def _line(self, name: str, text: str | None, depth: int) -> None:
        part = self.parts[-1]
        content = escape_inline(" ".join((text or "").split()))
        shown = escape_inline(name) + (":" if name and text is not None else "")
        part.markdown.append(_bullet(f"{shown} {content}".strip(), depth))
        line = f"{name}: {text}" if name and text is not None else (name or text or "")
        part.lines.append("  " * depth + line)
        part.characters += len(line)

    def _table(self, name: str, rows: Table, depth: int) -> None:
        if name:
            self._line(name, None, depth)
        header, body = rows[0], rows[1:]
        while body:
            part = self.parts[-1]
            taken, size = 0, 0
            while taken < len(body) and size < SECTION_CHARACTERS:
                size += sum(map(len, body[taken])) + len(header)
                taken += 1
            chunk = [header, *body[:taken]]
            body = body[taken:]
            part.tables.append(chunk)
            part.markdown.append("\n" + table(chunk) + "\n")
            part.lines.extend("\t".join(row).replace("\n", " ") for row in chunk)
            part.characters += size
            self._budget.check()
            if body:
                self.parts.append(_Part(above=_above([*self._open, name])))
                self._starts = {}


def _bullet(text: str, depth: int) -> str:
    return f"{'  ' * depth}- {escape_line_starts(text)}"


def _above(names: list[str]) -> list[str]:
    named = [name[:_MAX_ABOVE_CHARACTERS] for name in names if name]
    return [_bullet(escape_inline(name), depth) for depth, name in enumerate(named)]


def _records(value: list[Any]) -> Table | None:
    """Return a list of flat objects as rows, its names as header; None when it is no such list."""
    if len(value) < 2 or not all(isinstance(item, dict) and item for item in value):
        return None
    names = dict.fromkeys(key for item in value for key in item)
    if len(names) > _MAX_COLUMNS:
        return None
    if any(isinstance(cell, (dict, list)) and cell for item in value for cell in item.values()):
        return None
    rows = [[_scalar(item.get(name, "")) for name in names] for item in value]
    return [[clean(name) for name in names], *rows]


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return clean(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return "[]" if isinstance(value, list) else "{}"


def _pages(parts: list[_Part]) -> Iterator[Page]:
    for number, part in enumerate(parts, start=1):
        text = "\n".join(part.lines)
        yield Page(
            number=number,
            text=text,
            markdown="\n".join([*part.above, *part.markdown]).strip("\n"),
            tables=part.tables,
            warnings=[] if text.strip() else ["no_text: this page has no text."],
        )
