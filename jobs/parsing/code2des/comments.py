"""Comments of a file, bound to what they stand at: above a definition, or at the end of its line.

A block of line comments counts as one comment. The first comment of a file is its licence when it
says so, and is then bound to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from jobs.parsing.code2des.nodes import text_of

_MARK = r"(?:/\*+!?|//[/!]?|#+!?:?|--+)[ \t]?"
_OPEN = re.compile(rf"^\s*{_MARK}")
_OPEN_EACH = re.compile(rf"^[^\S\n]*{_MARK}", re.MULTILINE)
_STAR = re.compile(r"^[^\S\n]*\*[ \t]?", re.MULTILINE)
_LICENCE = re.compile(
    r"copyright|licen[cs]ed? |SPDX-|all rights reserved|著作権|#!/|-\*-", re.IGNORECASE
)
_INLINE = re.compile(r"\{@(?:link|code|linkplain|literal|value)\s+([^}]*)\}")
_SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.DOTALL)
_TAG = re.compile(r"</?(?:p|b|i|em|strong|code|pre|ul|li|br|tt|see|c|para)\b[^<>]*>", re.IGNORECASE)
_RULER = re.compile(r"^[ \t\u3000*=\-#/+_~■□◆◇●○*＊─━]+$", re.MULTILINE)


def clean_comment(raw: str) -> str:
    """Return the words of a comment without its marks, rulers and markup."""
    if raw.startswith("/*"):
        text = raw.rstrip()
        text = text[:-2].rstrip("*").rstrip() if text.endswith("*/") else raw
        text = _STAR.sub("", _OPEN.sub("", text))
    else:
        text = _OPEN_EACH.sub("", raw)
    text = "\n".join(map(str.rstrip, _RULER.sub("", text).split("\n"))).strip()
    if "<summary>" in text and (found := _SUMMARY.search(text)):
        text = found.group(1).strip()
    if "{@" in text:
        text = _INLINE.sub(lambda match: (match.group(1).split() or [""])[-1], text)
    if "<" in text:
        text = _TAG.sub("", text)
    return text.strip()


class Comments:
    """The comments of one file."""

    def __init__(self, nodes: Sequence[Node], data: bytes) -> None:
        self._above: dict[int, list[str]] = {}
        self._beside: dict[int, str] = {}
        self.rows: set[int] = set()
        self.header: str | None = None
        lines = data.split(b"\n")
        block: list[str] = []
        start = end = -2
        for node in sorted(nodes, key=lambda n: n.start_byte):
            first, column = node.start_point
            last, width = node.end_point
            last -= width == 0 and last > first
            raw = text_of(node)
            if column and lines[first][:column].strip():
                self._beside.setdefault(first, raw)
                continue
            self.rows.update(range(first, last + 1))
            raw = raw.rstrip("\n")
            joins = first == end + 1 and block and not raw.startswith("/*")
            if not joins or block[-1].startswith("/*"):
                self._keep(start, end, block)
                block, start = [], first
            block.append(raw)
            end = last
        self._keep(start, end, block)

    def _keep(self, start: int, end: int, block: list[str]) -> None:
        """Keep a block as it is written: most are never asked for."""
        if not block:
            return
        if self.header is None:
            is_licence = _LICENCE.search("\n".join(block))
            self.header = "" if is_licence else "\n".join(map(clean_comment, block))
            if not self.header and start <= 1:
                return
        self._above[end] = block

    def above(self, row: int) -> str | None:
        """Return the comment that ends on the line above `row`, counted from 0."""
        block = self._above.get(row - 1)
        return "\n".join(map(clean_comment, block)).strip() or None if block else None

    def at(self, row: int) -> str | None:
        """Return the comment above `row`, else the one at the end of it."""
        return self.above(row) or self.beside(row)

    def beside(self, row: int) -> str | None:
        """Return the comment at the end of `row`."""
        raw = self._beside.get(row)
        return None if raw is None else clean_comment(raw)
