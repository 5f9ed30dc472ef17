"""What a format gives back: a document head and pages one after the other."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from jobs.parsing.budget import Budget
from jobs.parsing.page_import.page_range import EVERY_PAGE, PageRange

#: Text formats without pages of their own are cut near this many characters.
SECTION_CHARACTERS = 200_000
#: Documents with more pages are refused.
MAX_PAGES = 5_000
Table = list[list[str]]


@dataclass(frozen=True, kw_only=True)
class Source:
    """One file to read: where it is, what its bytes say it is, and what the caller wants."""

    content: Path | bytes
    file_name: str
    detected_type: str
    options: Mapping[str, Any]
    budget: Budget
    warnings: tuple[str, ...] = ()
    #: what is open until the last page is read
    closing: ExitStack = field(default_factory=ExitStack)

    def read(self) -> bytes:
        """Return the whole file; for text formats, which need it whole to find the encoding."""
        return self.content if isinstance(self.content, bytes) else self.content.read_bytes()

    def open(self) -> BinaryIO:
        """Return the file as a stream, on disk or out of an archive; `closing` closes it."""
        return self.closing.enter_context(open_content(self.content))

    @property
    def wanted(self) -> PageRange:
        """Return which pages the caller wants; all of them without a word."""
        return wanted_pages(self.options)

    def option(self, name: str) -> str | None:
        """Return a text option or None."""
        value = self.options.get(name)
        return value if isinstance(value, str) and value else None


def wanted_pages(options: Mapping[str, Any]) -> PageRange:
    """Return which pages the option `pages` names; all of them without it."""
    pages = options.get("pages")
    return PageRange.parse(pages) if isinstance(pages, str) and pages else EVERY_PAGE


def open_content(content: Path | bytes) -> BinaryIO:
    """Open what a source holds for reading."""
    return io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")


@dataclass(frozen=True, kw_only=True)
class Heading:
    """One line of a document's outline."""

    title: str
    level: int
    page: int | None


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page: width and height in points where the format has them."""

    number: int
    text: str
    markdown: str
    tables: list[Table] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    width: float | None = None
    height: float | None = None


@dataclass(frozen=True, kw_only=True)
class Document:
    """Head of a document and its pages; `pages` may be read once."""

    page_count: int
    pages: Iterator[Page]
    title: str | None = None
    author: str | None = None
    encoding: str | None = None
    language: str | None = None
    outline: list[Heading] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def head(self) -> dict[str, Any]:
        """Return the keys of the document line that the format knows."""
        return {
            "page_count": self.page_count,
            "title": self.title,
            "author": self.author,
            "encoding": self.encoding,
            "language": self.language,
            "outline": [asdict(heading) for heading in self.outline],
            "warnings": self.warnings,
        }


def page_line(page: Page) -> dict[str, Any]:
    """Return the result line of a page."""
    return {"page": dict(vars(page))}
