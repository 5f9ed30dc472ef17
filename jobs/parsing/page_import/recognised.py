"""The words that a text recogniser found in a picture of a page, as text and Markdown.

Reads the TSV of tesseract: a row a word with block, paragraph, line, confidence and the word.
https://tesseract-ocr.github.io/tessdoc/Command-Line-Usage.html#tsv-output
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from jobs.parsing.cleaning import clean
from jobs.parsing.page_import.markup import escape_markdown
from jobs.parsing.page_import.pdf_blocks import join

_COLUMNS = 12
_WORD_LEVEL = "5"
_MAX_WORDS = 200_000
#: What is less certain than this is more often a smudge than a word.
_LEAST_CERTAIN = 10.0
#: The models write these for Japanese punctuation, as words of their own.
_CLOSING = ",.;:!?)]}"


@dataclass(frozen=True)
class Recognised:
    """What was read in a picture; `confidence` is between 0 and 1, weighed by length."""

    text: str
    markdown: str
    confidence: float


@dataclass(frozen=True)
class _Word:
    paragraph: tuple[str, ...]
    line: tuple[str, ...]
    certainty: float
    text: str


def read_tsv(content: str) -> Recognised | None:
    """Return the text of a page, or None when no word was found. Never fails."""
    words = list(_words(content))
    if not words:
        return None
    letters = sum(len(word.text) for word in words)
    certain = sum(word.certainty * len(word.text) for word in words) / letters
    paragraphs = [_paragraph(group) for _, group in groupby(words, key=lambda w: w.paragraph)]
    return Recognised(
        text="\n\n".join(paragraphs),
        markdown="\n\n".join(escape_markdown(paragraph) for paragraph in paragraphs),
        confidence=round(min(max(certain / 100, 0.0), 1.0), 3),
    )


def _words(content: str) -> Iterator[_Word]:
    for line in content.split("\n")[1 : _MAX_WORDS + 1]:
        row = line.split("\t")
        if len(row) != _COLUMNS or row[0] != _WORD_LEVEL:
            continue
        text = clean(row[11]).strip()
        try:
            certainty = float(row[10])
        except ValueError:
            continue
        if text and _LEAST_CERTAIN <= certainty <= 100:
            yield _Word(tuple(row[1:4]), tuple(row[1:5]), certainty, text)


def _paragraph(words: Iterable[_Word]) -> str:
    """Return the lines of a paragraph joined as the lines of a PDF are."""
    lines = []
    for _, line in groupby(words, key=lambda word: word.line):
        text = ""
        for word in line:
            close = word.text[0] in _CLOSING
            text = text + word.text if close or not text else join(text, word.text)
        lines.append(text)
    text = ""
    for line_text in lines:
        text = join(text, line_text) if text else line_text
    return text
