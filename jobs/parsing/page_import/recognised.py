"""The words that a text recogniser found in a picture of a page, as text and Markdown.

Reads the TSV of tesseract: a row a word with block, paragraph, line, confidence and the word.
https://tesseract-ocr.github.io/tessdoc/Command-Line-Usage.html#tsv-output
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
#: A line that ends before this part of the longest one is the last of its paragraph.
_FULL_LINE = 0.85


@dataclass(frozen=True)
class Recognised:
    """What was read in a picture; `confidence` is between 0 and 1, weighed by length."""

    text: str
    markdown: str
    confidence: float


@dataclass(frozen=True)
class _Word:
    """One word; its box is left, top, right and bottom in pixels."""

    paragraph: tuple[str, ...]
    line: tuple[str, ...]
    certainty: float
    text: str
    box: tuple[int, int, int, int]


@dataclass(frozen=True)
class _Line:
    """One line or column: its text, and where it ends in the direction of writing."""

    text: str
    end: int


def read_tsv(content: str) -> Recognised | None:
    """Return the text of a page, or None when no word was found. Never fails."""
    words = list(_words(content))
    if not words:
        return None
    letters = sum(len(word.text) for word in words)
    certain = sum(word.certainty * len(word.text) for word in words) / letters
    paragraphs = [
        paragraph
        for _, group in groupby(words, key=lambda word: word.paragraph)
        for paragraph in _paragraphs(group)
    ]
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
            left, top, width, height = map(int, row[6:10])
            certainty = float(row[10])
        except ValueError:
            continue
        if text and _LEAST_CERTAIN <= certainty <= 100:
            box = (left, top, left + width, top + height)
            yield _Word(tuple(row[1:4]), tuple(row[1:5]), certainty, text, box)


def _paragraphs(words: Iterable[_Word]) -> Iterator[str]:
    """Yield lines joined as those of a PDF are; a line that ends early ends its paragraph."""
    lines = [_line(list(line)) for _, line in groupby(words, key=lambda word: word.line)]
    full = max(line.end for line in lines) * _FULL_LINE
    text = ""
    for line in lines:
        text = join(text, line.text) if text else line.text
        if line.end < full:
            yield text
            text = ""
    if text:
        yield text


def _line(words: Sequence[_Word]) -> _Line:
    text = ""
    for word in words:
        close = word.text[0] in _CLOSING
        text = text + word.text if close or not text else join(text, word.text)
    left, top = (min(word.box[side] for word in words) for side in (0, 1))
    right, bottom = (max(word.box[side] for word in words) for side in (2, 3))
    return _Line(text, bottom if bottom - top > right - left else right)
