"""A diagram → SVG: boxes in layers, or a sequence. Text is escaped.

Looks are presentation attributes, no `<style>`: it shows under any Content-Security-Policy and in
any viewer, and a page's own style sheet still wins over them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from markupsafe import Markup

from web.mermaid import Box, Diagram, Edge, read

_LINE, _PAD, _GAP_X, _GAP_Y = 19, 12, 28, 58
_WIDEST_ROW = 980
_STEP = 40

_STROKE = Markup('fill="none" stroke="#5a6478" stroke-width="1.2"')
#: What a kind of text adds to the drawing's own ink, size and middle anchor.
_TEXTS = {
    "title": Markup('font-weight="600"'),
    "above": Markup('fill="#5a6478" font-size="12"'),
    "label": Markup(
        'fill="#5a6478" font-size="12" paint-order="stroke" stroke="#ffffff" stroke-width="4"'
    ),
    "member": Markup(""),
    "self": Markup('text-anchor="start"'),
}


def draw(text: str, title: str) -> Markup | None:
    """Return the drawing of one of our Mermaid texts, or None."""
    diagram = read(text)
    if diagram is None:
        return None
    return _sequence(diagram, title) if diagram.sequence else _layers(diagram, title)


@dataclass
class _Place:
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


def _width(text: str) -> float:
    return sum(13.5 if ord(character) > 0x2E7F else 7.8 for character in text)


def _texts(box: Box) -> list[tuple[str, str]]:
    above = [("above", box.above)] if box.above else []
    return [*above, ("title", box.name), *(("member", each) for each in box.members)]


def _layers(diagram: Diagram, title: str) -> Markup:
    places = _places(diagram)
    parts = [_arrow(places[e.start], places[e.end], e.label) for e in _forward(diagram)]
    parts += [_drawn(box, places[node]) for node, box in diagram.boxes.items()]
    right = max(place.x + place.width for place in places.values())
    bottom = max(place.y + place.height for place in places.values())
    return _svg(parts, right + _PAD, bottom + _PAD, title)


def _forward(diagram: Diagram) -> list[Edge]:
    return [edge for edge in diagram.edges if edge.start != edge.end]


def _depths(diagram: Diagram) -> dict[str, int]:
    """Return each box's layer: below all that point to it, edges of circles aside."""
    following: dict[str, list[str]] = {node: [] for node in diagram.boxes}
    for edge in _forward(diagram):
        following[edge.start].append(edge.end)
    order, back = _walked(following)
    depth = dict.fromkeys(diagram.boxes, 0)
    for node in reversed(order):
        for after in following[node]:
            if (node, after) not in back:
                depth[after] = max(depth[after], depth[node] + 1)
    return depth


def _walked(following: dict[str, list[str]]) -> tuple[list[str], set[tuple[str, str]]]:
    """Return the nodes in post-order and the edges that close a circle."""
    order: list[str] = []
    open_nodes: set[str] = set()
    seen: set[str] = set()
    back: set[tuple[str, str]] = set()

    def visit(node: str) -> None:  # at most MAX_BOXES deep
        seen.add(node)
        open_nodes.add(node)
        for after in following[node]:
            if after in open_nodes:
                back.add((node, after))
            elif after not in seen:
                visit(after)
        open_nodes.discard(node)
        order.append(node)

    for node in following:
        if node not in seen:
            visit(node)
    return order, back


def _places(diagram: Diagram) -> dict[str, _Place]:
    """Put the boxes into rows, each near the middle of those that point to it."""
    depth = _depths(diagram)
    before = defaultdict(list)
    for edge in _forward(diagram):
        before[edge.end].append(edge.start)
    places: dict[str, _Place] = {}
    y = float(_PAD)
    for level in range(max(depth.values()) + 1):
        row = [node for node in diagram.boxes if depth[node] == level]
        row.sort(key=lambda node: _wish(node, before, places))
        for part in _wrapped(row, diagram):
            x, tallest = float(_PAD), 0.0
            for node in part:
                width, height = _size(diagram.boxes[node])
                places[node] = _Place(x, y, width, height)
                x, tallest = x + width + _GAP_X, max(tallest, height)
            y += tallest + _GAP_Y
    _centre(places)
    return places


def _wish(node: str, before: dict[str, list[str]], places: dict[str, _Place]) -> float:
    known = [places[each].middle for each in before[node] if each in places]
    return sum(known) / len(known) if known else 0.0


def _size(box: Box) -> tuple[float, float]:
    texts = _texts(box)
    return max(_width(text) for _, text in texts) + 2 * _PAD, len(texts) * _LINE + _PAD


def _wrapped(row: list[str], diagram: Diagram) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    used = 0.0
    for node in row:
        width = _size(diagram.boxes[node])[0] + _GAP_X
        if parts[-1] and used + width > _WIDEST_ROW:
            parts.append([])
            used = 0.0
        parts[-1].append(node)
        used += width
    return [part for part in parts if part]


def _centre(places: dict[str, _Place]) -> None:
    rows = defaultdict(list)
    for place in places.values():
        rows[place.y].append(place)
    widest = max(place.x + place.width for place in places.values())
    for row in rows.values():
        shift = (widest - max(place.x + place.width for place in row)) / 2
        for place in row:
            place.x += shift


def _drawn(box: Box, place: _Place) -> Markup:
    parts = [
        Markup(
            '<rect x="{:.0f}" y="{:.0f}" width="{:.0f}" height="{:.0f}" rx="6"'
            ' fill="#ffffff" stroke="#23418f"/>'
        ).format(place.x, place.y, place.width, place.height)
    ]
    y = place.y + _LINE - 1
    for kind, text in _texts(box):
        parts.append(_text(place.middle, y, text, kind))
        y += _LINE
    return Markup("").join(parts)


def _text(x: float, y: float, text: str, kind: str) -> Markup:
    made = Markup('<text class="{}" {} x="{:.0f}" y="{:.0f}">{}</text>')
    return made.format(kind, _TEXTS[kind], x, y, text)


def _arrow(start: _Place, end: _Place, label: str) -> Markup:
    """Draw from edge to edge, down to the box's top or up to its foot."""
    down = end.y > start.y
    y1 = start.y + start.height if down else start.y
    y2, tip = (end.y, -8) if down else (end.y + end.height, 8)
    bend = (y2 - y1) / 2 if end.y != start.y else -_GAP_Y / 2
    path = Markup(
        '<path {6} d="M{0:.0f} {1:.0f}C{0:.0f} {2:.0f} {3:.0f} {4:.0f} {3:.0f} {5:.0f}"/>'
    ).format(start.middle, y1, y1 + bend, end.middle, y2 - bend, y2 + tip, _STROKE)
    parts = [path, _tip(end.middle, y2, 0, tip)]
    if label:
        parts.append(_text((start.middle + end.middle) / 2, (y1 + y2) / 2, label, "label"))
    return Markup("").join(parts)


def _tip(x: float, y: float, dx: float, dy: float) -> Markup:
    """Draw an arrow's head at x, y that comes from x+dx, y+dy."""
    sx, sy = (4, 0) if dy else (0, 4)
    made = Markup('<polygon fill="#5a6478" points="{:.0f},{:.0f} {:.0f},{:.0f} {:.0f},{:.0f}"/>')
    return made.format(x, y, x + dx - sx, y + dy - sy, x + dx + sx, y + dy + sy)


def _sequence(diagram: Diagram, title: str) -> Markup:
    heads: dict[str, _Place] = {}
    x = float(_PAD)
    for node, box in diagram.boxes.items():
        width = max(_size(box)[0], 110.0)
        heads[node] = _Place(x, _PAD, width, _LINE + _PAD)
        x += width + 2 * _GAP_X
    top = 2 * _PAD + _LINE
    bottom = top + _STEP * (len(diagram.edges) + 1)
    parts = [
        Markup(
            '<line class="life" {3} stroke-dasharray="4 4"'
            ' x1="{0:.0f}" y1="{1}" x2="{0:.0f}" y2="{2}"/>'
        ).format(head.middle, top, bottom, _STROKE)
        for head in heads.values()
    ]
    parts += [_drawn(box, heads[node]) for node, box in diagram.boxes.items()]
    for position, edge in enumerate(diagram.edges, 1):
        parts.append(_message(heads[edge.start].middle, heads[edge.end].middle, edge, position))
    labels = [heads[e.start].middle + _width(e.label) + _STEP for e in diagram.edges]
    return _svg(parts, max([x, *labels]), bottom + _PAD, title)


def _message(start: float, end: float, edge: Edge, position: int) -> Markup:
    y = 2 * _PAD + _LINE + _STEP * position
    if start == end:
        line = Markup('<path {2} d="M{0:.0f} {1}h28v14h-20"/>').format(start, y - 14, _STROKE)
        return line + _tip(start, y, 8, 0) + _text(start + 34, y - 4, edge.label, "self")
    tip = -8 if end > start else 8
    line = Markup('<path {} d="M{:.0f} {}H{:.0f}"/>').format(_STROKE, start, y, end + tip)
    return line + _tip(end, y, tip, 0) + _text((start + end) / 2, y - 6, edge.label, "label")


def _svg(parts: list[Markup], width: float, height: float, title: str) -> Markup:
    head = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" class="diagram" role="img" aria-label="{2}"'
        ' width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}" fill="#1b2130"'
        ' font-family="sans-serif" font-size="13" text-anchor="middle">'
    ).format(width, height, title)
    return head + Markup("").join(parts) + Markup("</svg>")
