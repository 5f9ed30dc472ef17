"""Mermaid text → boxes, edges and messages: exactly the lines that design documents are made of.

Anything else is no diagram for us, and the reader sees the text itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

#: More than the writer ever puts into one diagram.
MAX_BOXES = 80
MAX_EDGES = 160
MAX_LINES = 2000

_ID = r"[gn]\d{1,4}"
_LABEL = r'\["([^"\[\]]*)"\]'
_ENTITY = re.compile(r"#(\d{1,7});")


@dataclass
class Box:
    """One node: what it is called, what stands above the name, what it has."""

    name: str
    above: str = ""
    members: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Edge:
    """One arrow between boxes, or one message between participants."""

    start: str
    end: str
    label: str = ""


@dataclass
class Diagram:
    """A diagram's content; `sequence` keeps its edges in the order of time."""

    sequence: bool = False
    boxes: dict[str, Box] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    group: str = ""
    open_box: str = ""


def _plain(label: str) -> str:
    """Undo the writer's escapes; a character that XML cannot hold becomes U+FFFD."""

    def character(match: re.Match[str]) -> str:
        code = int(match.group(1))
        fine = code in (9, 10, 13) or 32 <= code < 0xD800 or 0xE000 <= code < 0xFFFE
        return chr(code) if fine or 0x10000 <= code < 0x110000 else "\ufffd"

    return _ENTITY.sub(character, label).strip()


def _box(diagram: Diagram, node: str, label: str) -> None:
    diagram.boxes[node] = Box(_plain(label), above=diagram.group)


def _group(diagram: Diagram, label: str) -> None:
    diagram.group = _plain(label)


def _ungroup(diagram: Diagram) -> None:
    diagram.group = ""


def _edge(diagram: Diagram, start: str, end: str, label: str | None = None) -> None:
    diagram.edges.append(Edge(start, end, _plain(label or "")))


def _kind(diagram: Diagram, word: str, node: str) -> None:
    diagram.boxes[node].above = f"«{word}»"


def _member(diagram: Diagram, node: str, text: str) -> None:
    diagram.boxes[node].members.append(_plain(text))


def _table(diagram: Diagram, node: str, label: str) -> None:
    diagram.boxes[node] = Box(_plain(label))
    diagram.open_box = node


def _column(diagram: Diagram, text: str) -> None:
    diagram.boxes[diagram.open_box].members.append(_plain(text.replace('"', "")))


def _close(diagram: Diagram) -> None:
    diagram.open_box = ""


_RULES = {
    "flowchart TD": (
        (rf"subgraph g\d+{_LABEL}", _group),
        (r"end", _ungroup),
        (rf"({_ID}){_LABEL}", _box),
        (rf'({_ID}) -->(?:\|"(?P<label>[^"|]*)"\|)? ({_ID})', None),
    ),
    "classDiagram": (
        (rf"class ({_ID}){_LABEL}", _box),
        (rf"<<(\w+)>> ({_ID})", _kind),
        (rf"({_ID}) <\|-- ({_ID})", _edge),
        (rf"({_ID}) --> ({_ID}) : (.*)", _edge),
        (rf"({_ID}) : (.*)", _member),
    ),
    "erDiagram": (
        (rf"({_ID}){_LABEL} \{{", _table),
        (r"\}", _close),
        (rf'({_ID}) \}}o--\|\| ({_ID}) : "([^"]*)"', _edge),
        (r'([^"{}]*(?: "[^"]*")?)', _column),
    ),
    "sequenceDiagram": (
        (rf"participant ({_ID}) as (.*)", _box),
        (rf"({_ID})->>({_ID}): (.*)", _edge),
    ),
}


def read(text: str) -> Diagram | None:
    """Return what the text draws, or None when a line of it is not one of ours."""
    head, *lines = text.strip().split("\n")
    rules = _RULES.get(head.strip())
    if rules is None or len(lines) > MAX_LINES:
        return None
    diagram = Diagram(sequence=head.startswith("sequence"))
    try:
        known = all(_take(diagram, line.strip(), rules) for line in lines if line.strip())
    except KeyError:  # a line about a box that is not there
        return None
    fits = 0 < len(diagram.boxes) <= MAX_BOXES and len(diagram.edges) <= MAX_EDGES
    ends = {end for edge in diagram.edges for end in (edge.start, edge.end)}
    return diagram if known and fits and ends <= set(diagram.boxes) else None


def _take(diagram: Diagram, line: str, rules: tuple[tuple[str, object], ...]) -> bool:
    for pattern, act in rules:
        if match := re.fullmatch(pattern, line):
            if callable(act):
                act(diagram, *match.groups())
            else:
                start, label, end = match.groups()
                _edge(diagram, start, end, label)
            return True
    return False
