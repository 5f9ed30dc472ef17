"""Write Markdown: escaping, tables, headings; shared by all formats."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SPECIAL = re.compile(r"([\\`*_\[\]<])")
_LINE_START = re.compile(
    r"^([ \t]*)(#{1,6}(?=\s)|[-+=](?=\s|[-=]*$)|>|~~~|\||(?<!\S)\d{1,9}(?=[.)]\s))", re.M
)


def escape_inline(text: str) -> str:
    """Escape what Markdown would read as markup inside a line."""
    return _SPECIAL.sub(r"\\\1", text)


def escape_markdown(text: str) -> str:
    """Return Markdown that shows plain `text` as it is, its line ends kept as hard breaks."""
    escaped = _LINE_START.sub(_escape_start, escape_inline(text))
    lines = escaped.split("\n")
    return "\n".join(
        line.rstrip() + ("  " if line.strip() and following.strip() else "")
        for line, following in zip(lines, [*lines[1:], ""], strict=True)
    )


def _escape_start(match: re.Match[str]) -> str:
    space, mark = match.groups()
    return f"{space}{mark}\\" if mark.isdigit() else f"{space}\\{mark}"


def heading(level: int, text: str) -> str:
    """Return a heading line; levels below 6 become 6."""
    return f"{'#' * max(1, min(6, level))} {escape_inline(' '.join(text.split()))}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return a pipe table, its first row as header; short rows are filled up."""
    width = max((len(row) for row in rows), default=0)
    if not width:
        return ""
    lines = [_row(row, width) for row in rows]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def _row(row: Sequence[str], width: int) -> str:
    cells = [*row, *[""] * (width - len(row))]
    return "| " + " | ".join(cell_text(cell) for cell in cells) + " |"


def cell_text(text: str) -> str:
    """Escape the text of one table cell; line ends become `<br>`."""
    return escape_inline(text.strip()).replace("|", "\\|").replace("\n", "<br>")
