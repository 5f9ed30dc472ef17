"""Diagrams of design documents: drawn when they are ours, left as text when they are not."""

from __future__ import annotations

import re
import time

import pytest
from lxml import etree

from web.drawing import draw

FLOW = """flowchart TD
  subgraph g1["external"]
    n2["flask"]
  end
  n1["受注 #60;script#62;"]
  n3["alone"]
  n1 -->|"uses #34;it#34;"| n2
  n2 --> n1
  n2 --> n2
"""
CLASSES = """classDiagram
  class n1["Order"]
  n1 : id
  n1 : +take(pieces) int
  class n2["State"]
  <<enum>> n2
  n2 <|-- n1
  n1 --> n2 : state
"""
TABLES = """erDiagram
  n1["t_log"] {
  }
  n2["t_order"] {
    Integer id PK
    String name "顧客名"
  }
  n2 }o--|| n1 : "log_id"
"""
SEQUENCE = """sequenceDiagram
  participant n1 as api.py
  participant n2 as db.py
  n1->>n2: 利用者を探す()
  n2->>n2: again()
"""


def words(text: str) -> list[str]:
    drawing = draw(text, "a title")
    assert drawing is not None
    tree = etree.fromstring(str(drawing))
    width, height = (float(tree.get(name)) for name in ("width", "height"))
    for each in tree.iter("{*}rect", "rect"):
        assert 0 <= float(each.get("x")) <= width - float(each.get("width"))
        assert 0 <= float(each.get("y")) <= height - float(each.get("height"))
    return [each.text for each in tree.iter("{*}text")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FLOW, {"external", "flask", "受注 <script>", "alone", 'uses "it"'}),
        (CLASSES, {"Order", "id", "+take(pieces) int", "«enum»", "State", "state"}),
        (TABLES, {"t_log", "t_order", "Integer id PK", "String name 顧客名", "log_id"}),
        (SEQUENCE, {"api.py", "db.py", "利用者を探す()", "again()"}),
    ],
)
def test_every_word_of_a_diagram_is_drawn_within_its_frame(text: str, expected: set[str]) -> None:
    assert set(words(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "flowchart TD",
        "pie\n  n1",
        'flowchart TD\n  n1["a"]\n  click n1 "javascript:alert(1)"',
        'flowchart TD\n  a["<img src=x>"]',
        'flowchart TD\n  n1["a"]\n  n1 --> n2',
        "classDiagram\n  n1 : member of nothing",
        "erDiagram\n  Integer id",
        'flowchart TD\n  n1["a"]\n  style n1 fill:url(//evil.example)',
        "flowchart TD\n" + "\n".join(f'  n{n}["x"]' for n in range(200)),
    ],
)
def test_what_is_not_ours_is_not_drawn(text: str) -> None:
    assert draw(text, "a title") is None


@pytest.mark.parametrize("character", ["<", '"', "&", "\x00", "\ud800", "\uffff", "😀"])
def test_no_character_breaks_the_drawing(character: str) -> None:
    assert words(f'flowchart TD\n  n1["a#{ord(character)};b"]')[0].startswith("a")
    raw = draw(f"sequenceDiagram\n  participant n1 as <b>{character}", "x")
    assert raw is None or "<b>" not in raw


def test_the_largest_diagram_is_drawn_at_once() -> None:
    boxes = [f'  n{n}["module number {n}"]' for n in range(50)]
    edges = [f"  n{n % 50} --> n{(n * 7 + 3) % 50}" for n in range(80)]
    started = time.monotonic()
    drawing = draw("\n".join(["flowchart TD", *boxes, *edges]), "large")
    assert drawing is not None
    assert len(re.findall("<rect", drawing)) == 50
    assert time.monotonic() - started < 1
