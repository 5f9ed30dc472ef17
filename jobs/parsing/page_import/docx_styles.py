"""What the styles and the numbering of a Word document say about a paragraph."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from jobs.parsing.page_import.numerals import numeral
from jobs.parsing.page_import.ooxml import Package, attribute, child, children, number, value_of

_MAX_CHAIN = 20
_MAX_LEVEL = 8
_HEADING = re.compile(r"(?:heading|見出し) ?([1-9])$")
_PLACE = re.compile(r"%([1-9])")


class Styles:
    """Paragraph styles by identifier; a style inherits from the one it is based on."""

    def __init__(self, package: Package, main: str) -> None:
        part = package.target(main, "styles")
        root = package.xml(part) if part else None
        self._styles = {
            attribute(style, "styleId") or "": style
            for style in (() if root is None else children(root, "style"))
        }

    def heading_level(self, paragraph: Any) -> int | None:
        """Return the heading level of a paragraph: its own outline level, else its style's."""
        properties = child(paragraph, "pPr")
        own = value_of(properties, "outlineLvl") if properties is not None else None
        if own is not None:
            return number(own) + 1 if 0 <= number(own, 9) < 9 else None
        for style in self._chain(properties):
            name = (value_of(style, "name") or "").lower()
            if match := _HEADING.match(name):
                return int(match.group(1))
            if name == "title":
                return 1
            level = value_of(style, "pPr", "outlineLvl")
            if level is not None:
                return number(level) + 1 if 0 <= number(level, 9) < 9 else None
        return None

    def numbering(self, paragraph: Any) -> tuple[str, int] | None:
        """Return the list (numId) and the level of a paragraph, or None when it has none."""
        properties = child(paragraph, "pPr")
        candidates = [child(properties, "numPr")] if properties is not None else []
        candidates += [child(style, "pPr", "numPr") for style in self._chain(properties)]
        level = None
        for found in candidates:
            if found is None:
                continue
            level = value_of(found, "ilvl") if level is None else level
            identifier = value_of(found, "numId")
            if identifier is not None:
                depth = max(0, min(_MAX_LEVEL, number(level)))
                return None if identifier == "0" else (identifier, depth)
        return None

    def linked_list(self, style: str) -> str | None:
        """Return the list that a numbering style stands for."""
        return value_of(self._styles.get(style), "pPr", "numPr", "numId")

    def _chain(self, properties: Any | None) -> list[Any]:
        name = value_of(properties, "pStyle") if properties is not None else None
        chain: list[Any] = []
        while name in self._styles and len(chain) < _MAX_CHAIN:
            chain.append(self._styles[name])
            name = value_of(chain[-1], "basedOn")
        return chain


@dataclass
class _List:
    """One abstract list: its levels, and how far each level has counted."""

    levels: dict[int, Any] = field(default_factory=dict)
    counters: dict[int, int] = field(default_factory=dict)


class Numbering:
    """Counts numbered paragraphs in document order."""

    def __init__(self, package: Package, main: str, styles: Styles) -> None:
        part = package.target(main, "numbering")
        root = package.xml(part) if part else None
        self._lists: dict[str, _List] = {}
        self._numbers: dict[str, Any] = {}
        self._started: set[tuple[str, int]] = set()
        links: dict[str, str] = {}
        for element in () if root is None else root:
            identifier = attribute(element, "abstractNumId") or ""
            if link := value_of(element, "numStyleLink"):
                links[identifier] = link
            levels = {number(attribute(e, "ilvl")): e for e in children(element, "lvl")}
            self._lists[identifier] = _List(levels)
            if (identifier := attribute(element, "numId") or "") and value_of(
                element, "abstractNumId"
            ):
                self._numbers[identifier] = element
        for identifier, link in links.items():
            target = self._list(styles.linked_list(link) or "")
            if target is not None:
                self._lists[identifier] = target

    def label(self, identifier: str, level: int) -> str | None:
        """Count one paragraph; return its label, '' for a bullet, None when the list is unknown."""
        found = self._list(identifier)
        if found is None or level not in found.levels:
            return None
        definition = self._definition(found, identifier, level)
        kind = value_of(definition, "numFmt") or "decimal"
        text = value_of(definition, "lvlText") or ""
        self._count(found, identifier, level)
        if kind == "bullet":
            return ""
        if kind == "none" and not _PLACE.search(text):
            return text
        return _PLACE.sub(lambda match: self._place(found, level, int(match.group(1)) - 1), text)

    def _place(self, found: _List, level: int, wanted: int) -> str:
        definition = found.levels.get(wanted)
        legal = child(found.levels[level], "isLgl") is not None
        kind = "decimal" if legal else value_of(definition, "numFmt") or "decimal"
        return numeral(found.counters.get(wanted, self._start(definition)), kind)

    def _count(self, found: _List, identifier: str, level: int) -> None:
        override = self._override(identifier, level)
        start = value_of(override, "startOverride") if override is not None else None
        if start is not None and (identifier, level) not in self._started:
            found.counters[level] = number(start, 1)
        elif level in found.counters:
            found.counters[level] += 1
        else:
            found.counters[level] = self._start(found.levels[level])
        self._started.add((identifier, level))
        for deeper in [other for other in found.counters if other > level]:
            del found.counters[deeper]

    def _start(self, definition: Any | None) -> int:
        return number(value_of(definition, "start"), 1) if definition is not None else 1

    def _list(self, identifier: str) -> _List | None:
        element = self._numbers.get(identifier)
        return (
            None if element is None else self._lists.get(value_of(element, "abstractNumId") or "")
        )

    def _override(self, identifier: str, level: int) -> Any | None:
        for override in children(self._numbers[identifier], "lvlOverride"):
            if number(attribute(override, "ilvl")) == level:
                return override
        return None

    def _definition(self, found: _List, identifier: str, level: int) -> Any:
        override = self._override(identifier, level)
        own = child(override, "lvl") if override is not None else None
        return found.levels[level] if own is None else own
