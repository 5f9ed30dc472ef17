"""Plain text: form feeds are page ends; what is very long is cut at paragraph ends."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.parsing.cleaning import clean, count_removed
from jobs.parsing.encodings import Decoded, decode
from jobs.parsing.page_import.document import SECTION_CHARACTERS, Document, Page, Source
from jobs.parsing.page_import.language import guess_language
from jobs.parsing.page_import.markup import escape_markdown


def read(source: Source) -> Document:
    """Return the text as pages. Reads the file whole: the encoding depends on every byte."""
    decoded = decode(
        source.read(), forced=source.option("encoding"), language=source.option("language")
    )
    sections = [
        part
        for page in decoded.text.rstrip("\f").split("\f")
        for part in cut_sections(clean(page), SECTION_CHARACTERS)
    ]
    return Document(
        page_count=len(sections),
        pages=_pages(sections),
        encoding=decoded.encoding,
        language=guess_language(decoded.text, decoded.encoding),
        warnings=text_warnings(decoded),
    )


def _pages(sections: list[str]) -> Iterator[Page]:
    for number, section in enumerate(sections, start=1):
        warnings = [] if section.strip() else ["no_text: this page has no text."]
        text = section.strip("\n")
        yield Page(number=number, text=text, markdown=escape_markdown(text), warnings=warnings)


def text_warnings(decoded: Decoded) -> list[str]:
    """Return the warnings about the decoding, and about characters that will be removed."""
    warnings = list(decoded.warnings)
    if removed := count_removed(decoded.text.replace("\f", "")):
        warnings.append(f"characters_removed: {removed} control characters were removed.")
    return warnings


def cut_sections(text: str, limit: int) -> list[str]:
    """Cut `text` into pieces of at most `limit` characters, at a blank line or a line end."""
    pieces, start = [], 0
    while len(text) - start > limit:
        end = -1
        for mark in ("\n\n", "\n", "。", " "):
            end = text.rfind(mark, start + limit // 2, start + limit)
            if end > start:
                end += len(mark)
                break
        end = end if end > start else start + limit
        pieces.append(text[start:end])
        start = end
    pieces.append(text[start:])
    return pieces
