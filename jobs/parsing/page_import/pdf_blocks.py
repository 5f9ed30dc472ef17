"""Lines become paragraphs, list items and headings.

A line goes on in the next one when it is full, the next is not indented, and both have one size.
Two CJK characters join without a space; pdfium keeps every line end, and a reader wants none of
them inside a sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from jobs.parsing.page_import.markup import escape_markdown, heading, table
from jobs.parsing.page_import.pdf_characters import Line

_HEADING_RATIO = 1.15
#: a size with this share of the most common one is body text too
_BODY_SHARE = 0.35
_MAX_HEADING_CHARACTERS = 120
_MAX_HEADING_LINES = 3
_MAX_LEVELS = 4
_SPARSE_RATIO = 1.5
_RUN_LINES = 3
_NO_EDGE = float("-inf")
_CJK = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\u3000-\u30ff\uac00-\ud7a3]")
_CJK_RUN = re.compile(f"{_CJK.pattern}+")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_BULLET = re.compile("[•●○◦▪■◆◇・‣–*-]\\s*(?=\\S)")
_ITEM = re.compile(
    r"(?:[•●○◦▪■◆◇※‣]|・(?=\S)|[-–*]\s|[(（]?(?:\d{1,3}|[a-zA-Zア-ン一二三四五六七八九十ivx]{1,3})[.)）．、]\s?"
    r"|[①-⑳]|第\s*[0-9０-９一二三四五六七八九十百]+\s*[章節条項]|\d+(?:\.\d+)+\s)"
)


@dataclass(frozen=True)
class Style:
    """Size of body text and the larger sizes that make headings, largest first."""

    body: float = 0.0
    headings: tuple[float, ...] = ()

    @classmethod
    def from_sizes(cls, sizes: Counter[float]) -> Style:
        """Learn from the number of characters per size."""
        known = Counter({size: count for size, count in sizes.items() if size > 0})
        if not known:
            return cls()
        common = max(known.values())
        body = max(size for size, count in known.items() if count >= _BODY_SHARE * common)
        larger = sorted((size for size in known if size >= body * _HEADING_RATIO), reverse=True)
        return cls(body, tuple(larger))

    def level(self, line: Line) -> int | None:
        """Return the heading level that the size of `line` stands for."""
        if not self.body or line.size < self.body * _HEADING_RATIO:
            return None
        text = line.text.strip()
        if len(text) > _MAX_HEADING_CHARACTERS or text.endswith("。") or len(text) < 2:
            return None
        if not re.search(r"\w", text):
            return None
        above = [size for size in self.headings if size > line.size * 1.03]
        return min(len(above) + 1, _MAX_LEVELS)


@dataclass
class Block:
    """A paragraph, a heading when it has a level, or a table when it has rows.

    `is_item` marks one that begins as a list item does.
    """

    lines: list[Line] = field(default_factory=list)
    level: int | None = None
    text: str = ""
    is_item: bool = False
    rows: list[list[str]] | None = None


def find_blocks(
    lines: Sequence[Line], style: Style, title_level: Callable[[str], int | None]
) -> list[Block]:
    """Group the lines of a page into blocks, in their order."""
    sparse = [_is_sparse(line) for line in lines]
    adjacent = [False, *(_adjacent(before, line) for before, line in pairwise(lines))]
    edges = _right_edges(lines, sparse, adjacent)
    blocks: list[Block] = []
    for index, line in enumerate(lines):
        level = title_level(line.text) or style.level(line)
        before = lines[index - 1]
        is_item = _ITEM.match(line.text.lstrip()) is not None
        dense = level is not None or not (sparse[index] or sparse[index - 1])
        edge = edges[index - 1]
        goes_on = adjacent[index] and dense and not is_item
        if goes_on and _continues(blocks[-1], before, line, level, edge):
            blocks[-1].text = join(blocks[-1].text, line.text, broken=before.broken)
            blocks[-1].lines.append(line)
        else:
            blocks.append(Block([line], level, line.text, is_item))
    return blocks


def _continues(block: Block, before: Line, line: Line, level: int | None, edge: float) -> bool:
    """Say whether `line`, no item, goes on in the block that ends with `before`, adjacent to it."""
    if block.level != level or not before.size or not line.size:
        return False
    if level is not None:
        return len(block.lines) < _MAX_HEADING_LINES
    em = before.size * 0.7
    first = block.lines[0]
    if line.left > before.left + em and not (block.is_item and len(block.lines) == 1):
        return False
    hanging = em / 2 if _BULLET.match(first.text.lstrip()) and len(block.lines) == 1 else -em
    if block.is_item and line.left < first.left + hanging:
        return False
    return before.broken or before.right + _first_word(line, em) >= edge


def _is_sparse(line: Line) -> bool:
    """Say whether a line is much wider than its text: a table row, a header with its number."""
    width, length = line.right - line.left, len(line.text)
    if width <= _SPARSE_RATIO * 0.5 * length * line.size:
        return False  # not even if every character were narrow
    wide = sum(map(len, _CJK_RUN.findall(line.text)))
    return width > _SPARSE_RATIO * (wide + 0.5 * (length - wide)) * line.size


def _first_word(line: Line, em: float) -> float:
    """Return the width that would have been needed to set the start of `line` one line higher."""
    text = line.text.lstrip()
    if _CJK.match(text):
        return 2.5 * em
    word = text.split(maxsplit=1)[0] if text else ""
    return (len(word) + 1) * 0.55 * em


def _adjacent(before: Line, line: Line) -> bool:
    size = max(before.size, 1.0)
    gap = before.bottom - line.top
    return (
        abs(before.size - line.size) <= 0.2 * size
        and line.top < before.top
        and -0.6 * size < gap < 1.1 * size
        and line.left < before.right
        and line.right > before.left
    )


def _right_edges(
    lines: Sequence[Line], sparse: Sequence[bool], adjacent: Sequence[bool]
) -> list[float]:
    """Return for each line the right edge of the text around it.

    It is that of the adjacent lines when there are enough of them, else that of the lines which
    start near it anywhere on the page.
    """
    edges = _column_edges(lines, sparse)
    start = 0
    for index in range(1, len(lines) + 1):
        if index < len(lines) and adjacent[index]:
            continue
        if index - start >= _RUN_LINES:
            edges[start:index] = [max(line.right for line in lines[start:index])] * (index - start)
        start = index
    return edges


def _column_edges(lines: Sequence[Line], sparse: Sequence[bool]) -> list[float]:
    unit = max((line.size for line in lines), default=1.0) or 1.0
    columns = [round(line.left / unit) for line in lines]
    widest: dict[int, float] = {}
    for line, column, is_sparse in zip(lines, columns, sparse, strict=True):
        if not is_sparse and widest.get(column, line.right) <= line.right:
            widest[column] = line.right
    edges = {
        column: max(widest.get(near, _NO_EDGE) for near in (column - 1, column, column + 1))
        for column in set(columns)
    }
    return [
        line.right if edges[column] == _NO_EDGE else edges[column]
        for line, column in zip(lines, columns, strict=True)
    ]


def join(first: str, second: str, *, broken: bool = False) -> str:
    """Join two lines of one paragraph: no space between CJK characters or after a broken word."""
    left, right = first.rstrip(), second.lstrip()
    if not left or not right:
        return left + right
    if broken:
        return left.removesuffix("-") + right
    end = left[-2] if left[-1] == ")" and len(left) > 1 else left[-1]
    both_cjk = _CJK.match(end) and _CJK.match(right[0])
    if both_cjk and not (_HANGUL.match(left[-1]) and first != left):
        return left + right
    return f"{left} {right}"


def write_text(blocks: Sequence[Block]) -> str:
    """Return the plain text of a page: one paragraph a line."""
    return "\n".join(
        block.text.strip() if block.rows is None else "\n".join(map("\t".join, block.rows))
        for block in blocks
    )


def write_markdown(blocks: Sequence[Block]) -> str:
    """Return the Markdown of a page."""
    parts: list[str] = []
    previous_item = False
    for block in blocks:
        text = block.text.strip()
        bullet = _BULLET.match(text) if block.level is None else None
        is_item = bullet is not None and bullet.group()[0] not in "■◆◇○●"
        if block.rows is not None:
            part = table(block.rows)
        elif block.level is not None:
            part = heading(block.level, text)
        elif is_item and bullet is not None:
            part = "- " + escape_markdown(text[bullet.end() :])
        else:
            part = escape_markdown(text)
        parts.append(("\n" if is_item and previous_item else "\n\n") + part)
        previous_item = is_item
    return "".join(parts).strip("\n")
