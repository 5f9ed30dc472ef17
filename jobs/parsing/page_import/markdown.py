"""Markdown: the source stays as it is, its text, tables and headings are read by markdown-it.

One page, unless it is very long: then it is cut before headings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from jobs.parsing.cleaning import clean
from jobs.parsing.encodings import decode
from jobs.parsing.page_import.document import (
    SECTION_CHARACTERS,
    Document,
    Heading,
    Page,
    Source,
    Table,
)
from jobs.parsing.page_import.html import strip_tags
from jobs.parsing.page_import.language import guess_language
from jobs.parsing.page_import.text import cut_sections, text_warnings

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n)?(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_FIELD = re.compile(r"^(title|author)[ \t]*:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_ANCHOR = re.compile(r"\s*\{#[^}\s]*\}\s*$")
_HEADING_START = re.compile(r"^(?=#{1,6}[ \t])", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


def read(source: Source) -> Document:
    """Return the text as one page, or as sections when it is very long."""
    decoded = decode(
        source.read(), forced=source.option("encoding"), language=source.option("language")
    )
    text = clean(decoded.text)
    fields: dict[str, str] = {}
    if front := _FRONT_MATTER.match(text):
        fields = {name: value.strip("'\"") for name, value in _FIELD.findall(front.group())}
        text = text[front.end() :]
    sections = _sections(text)
    readings = [_read_section(section) for section in sections]
    outline = [
        Heading(title=title, level=level, page=number)
        for number, reading in enumerate(readings, start=1)
        for level, title in reading.headings
    ]
    first_title = next((entry.title for entry in outline if entry.level == 1), None)
    return Document(
        page_count=len(sections),
        pages=_pages(sections, readings),
        title=fields.get("title") or first_title,
        author=fields.get("author"),
        encoding=decoded.encoding,
        language=guess_language(text, decoded.encoding),
        outline=outline,
        warnings=text_warnings(decoded),
    )


def _sections(text: str) -> list[str]:
    if len(text) <= SECTION_CHARACTERS:
        return [text]
    if _FENCE.search(text):
        return cut_sections(text, SECTION_CHARACTERS)
    sections = [""]
    for part in _HEADING_START.split(text):
        if sections[-1] and len(sections[-1]) + len(part) > SECTION_CHARACTERS:
            sections.append("")
        sections[-1] += part
    return [cut for section in sections for cut in cut_sections(section, SECTION_CHARACTERS)]


def _pages(sections: Sequence[str], readings: Sequence[_Reading]) -> Iterator[Page]:
    for number, (section, reading) in enumerate(zip(sections, readings, strict=True), start=1):
        text = reading.text()
        yield Page(
            number=number,
            text=text,
            markdown=section.strip("\n"),
            tables=reading.tables,
            warnings=[] if text.strip() else ["no_text: this page has no text."],
        )


@dataclass
class _Reading:
    """What one pass over the tokens of a section collects."""

    lines: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    headings: list[tuple[int, str]] = field(default_factory=list)
    level: int = 0
    in_table: bool = False

    def text(self) -> str:
        return "\n".join(line for line in self.lines if line)

    def take(self, token: Token) -> None:
        """Note one block token."""
        if token.type == "heading_open":
            self.level = int(token.tag[1])
        elif token.type == "inline":
            self._take_inline(token)
        elif token.type in ("fence", "code_block"):
            self.lines.append(token.content.rstrip("\n"))
        elif token.type == "html_block":
            self.lines.append(strip_tags(token.content))
        elif token.type in ("table_open", "tr_open", "table_close"):
            self._take_table(token.type)

    def _take_inline(self, token: Token) -> None:
        text = _inline_text(token.children or [])
        if self.level:
            text = _ANCHOR.sub("", text)
            self.headings.append((self.level, " ".join(text.split())))
            self.level = 0
        if self.in_table:
            self.tables[-1][-1].append(text)
        else:
            self.lines.append(text)

    def _take_table(self, kind: str) -> None:
        if kind == "table_open":
            self.in_table = True
            self.tables.append([])
        elif kind == "tr_open":
            self.tables[-1].append([])
        else:
            self.in_table = False
            self.lines.extend("\t".join(row) for row in self.tables[-1])


def _read_section(section: str) -> _Reading:
    reading = _Reading()
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(section):
        reading.take(token)
    return reading


def _inline_text(tokens: Sequence[Token]) -> str:
    pieces: list[str] = []
    for token in tokens:
        if token.type in ("text", "code_inline", "image", "text_special"):
            pieces.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            pieces.append("\n")
        elif token.type == "html_inline":
            tag = token.content.lower()
            pieces.append({"<rt>": "(", "</rt>": ")", "<br>": "\n", "<br/>": "\n"}.get(tag, ""))
    return "".join(pieces).strip()
