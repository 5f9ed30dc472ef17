"""What lies on a worksheet besides its cells: comments, text boxes, charts.

Japanese workbooks often say the important things in shapes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jobs.parsing.cleaning import clean
from jobs.parsing.page_import.document import Table
from jobs.parsing.page_import.graphics import chart_rows
from jobs.parsing.page_import.ooxml import Package, child, children
from jobs.parsing.page_import.xlsx_stream import rich_text

_MAX_LINES = 10_000


@dataclass
class Extras:
    """Lines of text and tables that belong to one sheet."""

    lines: list[str] = field(default_factory=list)
    charts: list[tuple[str, Table]] = field(default_factory=list)


def sheet_extras(package: Package, part: str) -> Extras:
    """Return what the parts that a worksheet points to say."""
    extras = Extras()
    for related in package.relationships(part).values():
        if related.is_external:
            continue
        if related.kind == "comments":
            extras.lines.extend(_comments(package, related.target))
        elif related.kind == "drawing":
            extras.lines.extend(_shapes(package, related.target))
            for inner in package.relationships(related.target).values():
                if inner.kind == "chart" and not inner.is_external:
                    title, rows = chart_rows(package, inner.target)
                    extras.charts.extend([(title, rows)] if title or rows else [])
    extras.lines = extras.lines[:_MAX_LINES]
    return extras


def _comments(package: Package, part: str) -> list[str]:
    root = package.xml(part)
    listed = child(root, "commentList") if root is not None else None
    found = []
    for comment in () if listed is None else children(listed, "comment"):
        body = child(comment, "text")
        text = " ".join(clean(rich_text(body)).split()) if body is not None else ""
        if text:
            found.append(f"{comment.get('ref') or ''}: {text}")
    return found


def _shapes(package: Package, part: str) -> list[str]:
    root = package.xml(part)
    found = []
    for body in () if root is None else root.iter("{*}txBody"):
        for paragraph in children(body, "p"):
            text = "".join(clean(run.text or "") for run in paragraph.iter("{*}t"))
            if text.strip():
                found.append(" ".join(text.split()))
    return found
