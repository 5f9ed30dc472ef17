"""Write Markdown: escaping, tables, headings; shared by all formats."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: the backslash first, as it escapes the others
_SPECIAL = "\\`*[]<"
_ENTITY = re.compile(r"&(?=#?\w{1,40};)")
_UNDERSCORE = re.compile(r"(?<!\w)_|_(?!\w)")  # inside a word it is no mark
#: a quick look whether there can be any
_MARKS = re.compile(r"[\\`*\[\]<_&]")
_PIPE = re.compile(r"(?<!\\)\|")
_LINE_START = re.compile(
    r"^([ \t]*)(#{1,6}(?=\s|$)|[-+=](?=\s|[-=]*[ \t]*$)|>|~~~|\||(?<!\S)\d{1,9}(?=[.)](?:\s|$)))",
    re.M,
)
#: what would make a line code
_INDENT = re.compile(r"^(?: {0,3}\t| {4})[ \t]*", re.M)


def escape_inline(text: str) -> str:
    """Escape what Markdown would read as markup inside a line."""
    if not _MARKS.search(text):
        return text
    for mark in _SPECIAL:
        text = text.replace(mark, "\\" + mark)
    if "&" in text:
        text = _ENTITY.sub(r"\\&", text)
    return _UNDERSCORE.sub(r"\\_", text) if "_" in text else text


def escape_line_starts(text: str) -> str:
    """Escape what Markdown would read as a list, quote or heading at the start of a line."""
    if "\n" in text:
        return _LINE_START.sub(_escape_start, text)
    match = _LINE_START.match(text)
    return _escape_start(match) + text[match.end() :] if match else text


def fence(code: str) -> str:
    """Return a fenced code block whose fence is longer than any inside."""
    longest = max((len(run) for run in re.findall("`{3,}", code)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}\n{code}\n{ticks}"


def escape_markdown(text: str) -> str:
    """Return Markdown that shows plain `text` as it is, its line ends kept as hard breaks.

    Of an indent no more is kept than leaves a paragraph one; a page does not show it anyway.
    """
    escaped = escape_line_starts(escape_inline(_INDENT.sub("   ", text)))
    if "\n" not in escaped:
        return escaped.rstrip()
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
    """Return a pipe table of plain texts, its first row as header; short rows are filled up."""
    return table_rows([[cell_text(cell) for cell in row] for row in rows])


def table_rows(rows: Sequence[Sequence[str]]) -> str:
    """Return a pipe table of cells that are Markdown already; only their pipes are escaped."""
    width = max((len(row) for row in rows), default=0)
    if not width:
        return ""
    lines = [_row(row, width) for row in rows]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def _row(row: Sequence[str], width: int) -> str:
    if len(row) == width and not any("|" in cell for cell in row):
        return "| " + " | ".join(row) + " |"
    cells = [*row, *[""] * (width - len(row))]
    return "| " + " | ".join(_PIPE.sub(r"\|", cell) for cell in cells) + " |"


def cell_text(text: str) -> str:
    """Escape the text of one table cell; line ends become `<br>`."""
    if text.isalnum():
        return text
    return escape_inline(text.strip()).replace("\n", "<br>")
