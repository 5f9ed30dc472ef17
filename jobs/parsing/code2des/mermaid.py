"""Write Mermaid that always renders: generated ids, one escape rule, budgets, no double edges.

Limits are those of Mermaid 11 with room to spare (500 edges and 50,000 characters are its walls).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MAX_NODES = 50
MAX_EDGES = 80
MAX_CLASSES = 20
MAX_MEMBERS = 8
MAX_CHARACTERS = 45_000
_MAX_LABEL = 60
Row = dict[str, Any]
_PLAIN = frozenset(" _.,:/()-")


def escape(text: str) -> str:
    """Return `text` as label: letters, digits and ` _.,:/()-` stay, the rest becomes `#code;`."""
    flat = " ".join(text.split())
    short = flat if len(flat) <= _MAX_LABEL else flat[: _MAX_LABEL - 1] + "…"
    return "".join(c if c.isalnum() or c in _PLAIN else f"#{ord(c)};" for c in short) or "-"


def number(nodes: Iterable[str]) -> dict[str, str]:
    """Return node → id `n1`, `n2`, … in the given order."""
    return {node: f"n{position}" for position, node in enumerate(nodes, start=1)}


def flowchart(
    labels: Mapping[str, str],
    edges: Sequence[tuple[str, str, str]],
    groups: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return a top-down flowchart of `labels`; an edge is (from, to, text)."""
    ids = number(labels)
    lines = ["flowchart TD"]
    grouped = set()
    for position, (title, members) in enumerate((groups or {}).items(), start=1):
        lines.append(f'  subgraph g{position}["{escape(title)}"]')
        for member in members:
            lines.append(f'    {ids[member]}["{escape(labels[member])}"]')
            grouped.add(member)
        lines.append("  end")
    lines += [f'  {ids[n]}["{escape(label)}"]' for n, label in labels.items() if n not in grouped]
    seen = set()
    for start, end, text in edges:
        if (start, end) in seen:
            continue
        seen.add((start, end))
        arrow = f'-->|"{escape(text)}"|' if text else "-->"
        lines.append(f"  {ids[start]} {arrow} {ids[end]}")
    return "\n".join(lines)


def choose(
    nodes: Sequence[str], edges: Sequence[tuple[str, str]], limit: int
) -> tuple[list[str], list[tuple[str, str]], int]:
    """Return the nodes with most edges within `limit`, the edges among them, how many are left out.

    Edges are cut to MAX_EDGES, those of the best connected nodes first.
    """
    degree = dict.fromkeys(nodes, 0)
    for start, end in edges:
        degree[start] += 1
        degree[end] += 1
    best = sorted(nodes, key=lambda node: (-degree[node], node))[:limit]
    kept = set(best)
    order = {node: position for position, node in enumerate(best)}
    inside = sorted({(a, b) for a, b in edges if a in kept and b in kept and a != b})
    inside.sort(key=lambda edge: (order[edge[0]] + order[edge[1]], edge))
    return sorted(best), sorted(inside[:MAX_EDGES]), len(nodes) - len(best)


def diagram(kind: str, title: tuple[str, str], text: str, nodes: int, omitted: int) -> Row | None:
    """Return one entry of the model's `diagrams`, or None when it would be too long to render."""
    if len(text) > MAX_CHARACTERS or not nodes:
        return None
    return {
        "id": kind,
        "kind": text.split(None, 1)[0],
        "title_ja": title[0],
        "title_en": title[1],
        "mermaid": text,
        "nodes": nodes,
        "omitted": omitted,
    }
