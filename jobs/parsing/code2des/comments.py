"""Comments of a file, bound to what they stand at: above a definition, or at the end of its line.

A block of line comments counts as one comment. The first comment of a file is its licence when it
says so, and is then bound to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from jobs.parsing.code2des.nodes import text_of

_OPEN = re.compile(r"^\s*(?:/\*+!?|//[/!]?|#+!?:?|--+)[ \t]?")
_CLOSE = re.compile(r"\s*\**\*/\s*$")
_STAR = re.compile(r"^\s*\*[ \t]?")
_LICENCE = re.compile(
    r"copyright|licen[cs]ed? |SPDX-|all rights reserved|著作権|#!/|-\*-", re.IGNORECASE
)
_INLINE = re.compile(r"\{@(?:link|code|linkplain|literal|value)\s+([^}]*)\}")
_SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.DOTALL)
_TAG = re.compile(r"</?(?:p|b|i|em|strong|code|pre|ul|li|br|tt|see|c|para)\b[^<>]*>", re.IGNORECASE)
_RULER = re.compile(r"^[\s*=\-#/+_~■□◆◇●○*＊─━]+$")


def clean_comment(raw: str) -> str:
    """Return the words of a comment without its marks, rulers and markup."""
    lines = []
    body = _CLOSE.sub("", raw) if raw.lstrip().startswith("/*") else raw
    for number, line in enumerate(body.split("\n")):
        bare = _OPEN.sub("", line) if number == 0 or not raw.startswith("/*") else line
        bare = _STAR.sub("", bare) if raw.startswith("/*") else bare
        lines.append("" if _RULER.match(bare) else bare.rstrip())
    text = "\n".join(lines).strip()
    if found := _SUMMARY.search(text):
        text = found.group(1).strip()
    return _TAG.sub("", _INLINE.sub(lambda match: match.group(1).split()[-1], text)).strip()


class Comments:
    """The comments of one file."""

    def __init__(self, nodes: Sequence[Node], data: bytes) -> None:
        self._above: dict[int, str] = {}
        self._beside: dict[int, str] = {}
        self.rows: set[int] = set()
        self.header: str | None = None
        lines = data.split(b"\n")
        block: list[str] = []
        start = end = -2
        for node in sorted(nodes, key=lambda n: n.start_byte):
            first, column = node.start_point
            last = node.end_point[0] - (node.end_point[1] == 0 and node.end_point[0] > first)
            if lines[first][:column].strip():
                self._beside.setdefault(first, clean_comment(text_of(node)))
                continue
            self.rows.update(range(first, last + 1))
            raw = text_of(node).rstrip("\n")
            joins = first == end + 1 and block and not raw.startswith("/*")
            if not joins or block[-1].startswith("/*"):
                self._keep(start, end, block)
                block, start = [], first
            block.append(raw)
            end = last
        self._keep(start, end, block)

    def _keep(self, start: int, end: int, block: list[str]) -> None:
        if not block:
            return
        joined = "\n".join(block)
        if self.header is None:
            self.header = "" if _LICENCE.search(joined) else "\n".join(map(clean_comment, block))
            if not self.header and start <= 1:
                return
        text = "\n".join(clean_comment(raw) for raw in block).strip()
        if text:
            self._above[end] = text

    def above(self, row: int) -> str | None:
        """Return the comment that ends on the line above `row`, counted from 0."""
        return self._above.get(row - 1)

    def at(self, row: int) -> str | None:
        """Return the comment above `row`, else the one at the end of it."""
        return self._above.get(row - 1) or self._beside.get(row)

    def beside(self, row: int) -> str | None:
        """Return the comment at the end of `row`."""
        return self._beside.get(row)
