"""Runs of formatted text, as Office files hold them, written as Markdown.

Office splits a sentence into many runs: neighbours with one format are joined first. Emphasis marks
go next to letters, not to brackets: CommonMark takes `**「重要」**です` for plain asterisks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from jobs.parsing.page_import.html_flow import Flow
from jobs.parsing.page_import.markup import escape_inline

BREAK = "\x00"
#: closing → opening
_BRACKETS = dict(zip("）」』】〉》)]", "（「『【〈《([", strict=True))


@dataclass(frozen=True)
class Piece:
    """Text of one format; `markdown` is what to write instead where it is not the text escaped."""

    text: str
    mark: str = ""
    link: str = ""
    markdown: str | None = None


def line_break() -> Piece:
    """Return a line end inside a paragraph."""
    return Piece("\n", markdown=BREAK)


def text_of(pieces: Iterable[Piece]) -> str:
    """Return the plain text of pieces on one line."""
    return " ".join("".join(piece.text for piece in pieces).split())


def write_pieces(pieces: Iterable[Piece], flow: Flow) -> None:
    """Append the pieces to the block under way."""
    joined = list(_joined(pieces))
    texts = ["", *(piece.text for piece in joined), ""]
    written = zip(joined, texts, texts[2:], strict=False)
    for link, group in groupby(written, key=lambda entry: entry[0].link):
        if link:
            flow.open("a", link)
        for piece, before, after in group:
            flow.add(_markdown(piece, before[-1:], after[:1]), piece.text)
        if link:
            flow.close("a")


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    waiting: Piece | None = None
    for piece in pieces:
        alike = waiting is not None and (waiting.mark, waiting.link) == (piece.mark, piece.link)
        if waiting is not None and alike and waiting.markdown is None and piece.markdown is None:
            waiting = Piece(waiting.text + piece.text, piece.mark, piece.link)
            continue
        if waiting is not None:
            yield waiting
        waiting = piece
    if waiting is not None:
        yield waiting


def _markdown(piece: Piece, before: str, after: str) -> str:
    if piece.markdown is not None:
        return piece.markdown
    if not piece.mark:
        return escape_inline(piece.text)
    start, end = 0, len(piece.text)
    while start < end and _is_outside(piece.text[start], before):
        start += 1
    while end > start and _is_outside(piece.text[end - 1], after):
        end -= 1
    end = _before_open_bracket(piece.text, start, end)
    if start >= end or not _is_balanced(piece.text[start:end]):
        return escape_inline(piece.text)
    lead, core, rest = piece.text[:start], piece.text[start:end], piece.text[end:]
    marked = f"{piece.mark}{escape_inline(core)}{piece.mark[::-1]}"
    return escape_inline(lead) + marked + escape_inline(rest)


def _is_outside(edge: str, neighbour: str) -> bool:
    """Say whether a mark outside of `edge`, next to `neighbour`, would not be one."""
    return edge.isspace() or (neighbour.isalnum() and not edge.isalnum())


def _before_open_bracket(text: str, start: int, end: int) -> int:
    """Return an end that leaves a whole bracket outside when its closing half is outside."""
    if end == len(text) or _is_balanced(text[start:end]):
        return end
    opened = max(text.rfind(bracket, start, end) for bracket in _BRACKETS.values())
    return opened if opened > start else end


def _is_balanced(text: str) -> bool:
    return all(text.count(one) == text.count(other) for one, other in _BRACKETS.items())
