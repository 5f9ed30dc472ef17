"""The inline content of a Word paragraph: runs, links, ruby, equations, notes, text boxes.

Deleted text and field instructions are left out; what a drawing holds comes after its paragraph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jobs.parsing.cleaning import clean
from jobs.parsing.page_import.inline import Piece, line_break, text_of
from jobs.parsing.page_import.markup import escape_inline
from jobs.parsing.page_import.office_math import equation_text
from jobs.parsing.page_import.ooxml import (
    Package,
    Relationship,
    attribute,
    child,
    children,
    local,
)

_TRANSPARENT = frozenset(
    (
        "ins",
        "moveTo",
        "smartTag",
        "sdtContent",
        "customXml",
        "fldSimple",
        "bdo",
        "dir",
        "sdt",
        "oMathPara",
    )
)
_OFF = ("0", "false", "off", "none")
_GENERATED = (
    "自動的に生成された説明",
    "AI によって生成",
    "AI-generated",
    "Description automatically",
)
_MAX_ALT_CHARACTERS = 500
_WINGDINGS = {
    0xFC: "✓",
    0xFB: "✗",
    0xFE: "☑",
    0xFD: "☒",
    0xA8: "□",
    0x6F: "□",
    0xE0: "→",
    0x4A: "☺",
}


class Runs:
    """Reads inline content of one part; keeps what must be written elsewhere."""

    def __init__(self, package: Package, part: str, note: Callable[[str, str], str | None]) -> None:
        self._related: Mapping[str, Relationship] = package.relationships(part)
        self._note = note
        #: text boxes (w:txbxContent) and drawings of the paragraph under way
        self.boxes: list[Any] = []
        self.drawings: list[Any] = []

    def read(self, element: Any, link: str = "") -> Iterator[Piece]:
        """Yield the pieces of a paragraph or of what stands in for it."""
        for part in element:
            name = local(part)
            if name == "r":
                yield from self._run(part, link)
            elif name == "hyperlink":
                yield from self.read(part, self._target(part) or link)
            elif name == "oMath":
                yield Piece(clean(equation_text(part)), link=link)
            elif name == "AlternateContent":
                yield from self.read(chosen(part), link)
            elif name in _TRANSPARENT:
                yield from self.read(part, link)

    def _target(self, element: Any) -> str:
        found = self._related.get(attribute(element, "id") or "")
        return found.target if found is not None and found.is_external else ""

    def _run(self, run: Any, link: str) -> Iterator[Piece]:
        properties = child(run, "rPr")
        if _is_on(properties, "vanish"):
            return
        mark = _mark(properties)
        for part in run:
            yield from self._part(part, mark, link)

    def _part(self, part: Any, mark: str, link: str) -> Iterator[Piece]:
        name = local(part)
        if name in _CHARACTERS:
            yield Piece(_CHARACTERS[name](part), mark, link)
        elif name in ("br", "cr"):
            yield line_break()
        elif name == "ruby":
            yield from self._ruby(part, mark, link)
        elif name in ("footnoteReference", "endnoteReference", "commentReference"):
            yield from self._reference(name.removesuffix("Reference"), part)
        elif name == "AlternateContent":
            for inner in chosen(part):
                yield from self._part(inner, mark, link)
        elif name in ("drawing", "pict", "object"):
            yield from self._drawing(part, link)

    def _ruby(self, ruby: Any, mark: str, link: str) -> Iterator[Piece]:
        base, reading = child(ruby, "rubyBase"), child(ruby, "rt")
        if base is not None:
            yield from self.read(base, link)
        text = text_of(self.read(reading)) if reading is not None else ""
        if text:
            yield Piece(f"({text})", mark, link)

    def _reference(self, kind: str, element: Any) -> Iterator[Piece]:
        label = self._note(kind, attribute(element, "id") or "")
        if label is not None:
            yield Piece(f"[{label}]", markdown=f"[^{label}]")

    def _drawing(self, drawing: Any, link: str) -> Iterator[Piece]:
        boxes = drawing.iter("{*}txbxContent")
        self.boxes.extend(box for box in boxes if not _is_nested(box, drawing))
        self.drawings.append(drawing)
        for properties in drawing.iter("{*}docPr"):
            description = " ".join(clean(attribute(properties, "descr") or "").split())
            if description and not any(words in description for words in _GENERATED):
                text = description[:_MAX_ALT_CHARACTERS]
                yield Piece(text, link=link, markdown=escape_inline(text))


def _is_nested(box: Any, top: Any) -> bool:
    parent = box.getparent()
    while parent is not None and parent is not top:
        if local(parent) in ("txbxContent", "Fallback"):
            return True
        parent = parent.getparent()
    return False


def chosen(alternate: Any) -> Any:
    """Return the first choice of mc:AlternateContent, or its fallback; never both."""
    for part in children(alternate, "Choice", "Fallback"):
        if len(part):
            return part
    return ()


def _is_on(properties: Any | None, name: str) -> bool:
    found = child(properties, name) if properties is not None else None
    return found is not None and (attribute(found, "val") or "1") not in _OFF


def _mark(properties: Any | None) -> str:
    if properties is None or not len(properties):
        return ""
    mark = "~~" if _is_on(properties, "strike") or _is_on(properties, "dstrike") else ""
    mark += "**" if _is_on(properties, "b") else ""
    return mark + ("*" if _is_on(properties, "i") else "")


def _symbol(element: Any) -> str:
    """Return a character of a symbol font; fonts such as Wingdings have no letters there."""
    code = attribute(element, "char") or ""
    try:
        value = int(code, 16)
    except ValueError:
        return ""
    font = (attribute(element, "font") or "").lower()
    if 0xF000 <= value <= 0xF0FF:
        return _WINGDINGS.get(value & 0xFF, "•") if "dings" in font else chr(value & 0xFF)
    return chr(value) if 0x20 <= value < 0xD800 or 0xE000 <= value < 0xFFFE else ""


def author_of(comment: Any) -> str:
    """Return who wrote a comment."""
    return " ".join(clean(attribute(comment, "author") or "").split())


#: elements of a run that stand for characters
_CHARACTERS: Mapping[str, Callable[[Any], str]] = {
    "t": lambda part: clean(part.text or ""),
    "tab": lambda _: "\t",
    "ptab": lambda _: "\t",
    "noBreakHyphen": lambda _: "-",
    "sym": _symbol,
}
