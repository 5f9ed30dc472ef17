"""The words of charts and diagrams, which lie in parts of their own."""

from __future__ import annotations

from typing import Any

from jobs.parsing.cleaning import clean
from jobs.parsing.page_import.document import Table
from jobs.parsing.page_import.ooxml import Package, attribute, child, children, local, number

_MAX_POINTS = 5_000


def graphic_part(graphic: Any, package: Package, part: str) -> tuple[str, str] | None:
    """Return the kind, `chart` or `diagram`, and the part of a drawing that refers to one."""
    related = None
    for element in graphic.iter():
        name = local(element)
        identifier = {"chart": "id", "relIds": "dm"}.get(name)
        if identifier is None or not (target := attribute(element, identifier)):
            continue
        related = package.relationships(part) if related is None else related
        if target in related and not related[target].is_external:
            return ("chart" if name == "chart" else "diagram", related[target].target)
    return None


def diagram_lines(package: Package, part: str) -> list[str]:
    """Return the text of each node of a SmartArt diagram."""
    root = package.xml(part)
    lines = []
    for paragraph in () if root is None else root.iter("{*}p"):
        text = "".join(clean(run.text or "") for run in paragraph.iter("{*}t")).strip()
        if text:
            lines.append(text)
    return lines


def chart_rows(package: Package, part: str) -> tuple[str, Table]:
    """Return the title of a chart and its data: categories down, a column for each series."""
    root = package.xml(part)
    chart = child(root, "chart") if root is not None else None
    if chart is None:
        return "", []
    title = child(chart, "title")
    words = [] if title is None else [run.text or "" for run in title.iter("{*}t")]
    names: list[str] = [""]
    columns: list[dict[int, str]] = [{}]
    for series in chart.iter("{*}ser"):
        names.append(" ".join(_points(child(series, "tx")).values()))
        columns[0] = columns[0] or _points(child(series, "cat")) or _points(child(series, "xVal"))
        columns.append(_points(child(series, "val")) or _points(child(series, "yVal")))
    used = sorted({index for column in columns for index in column})[:_MAX_POINTS]
    rows = [[column.get(index, "") for column in columns] for index in used]
    return clean(" ".join("".join(words).split())), [names, *rows] if rows else []


def _points(element: Any | None) -> dict[int, str]:
    found: dict[int, str] = {}
    for point in () if element is None else element.iter("{*}pt"):
        value = next(children(point, "v"), None)
        if value is not None and value.text:
            found[number(point.get("idx"))] = clean(value.text).strip()
    return found
