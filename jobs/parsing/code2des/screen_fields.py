"""Forms and fields of a screen: what a user may enter, under which words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from jobs.parsing.code2des.facts import Element
from jobs.parsing.code2des.markup import FIELDS, words_of

Row = dict[str, Any]
_TARGETS = ("href", "to", "src")
_NAMES = ("name", "v-model", "field", "path", "formcontrolname", "id", "asp-for")

#: Thymeleaf's `*{name}`
_EXPRESSION = re.compile(r"^[*$#]\{(.+)\}$")


def target_of(element: Element) -> str | None:
    """Return where a link leads, as written."""
    found = (element.attributes.get(name) for name in _TARGETS)
    return next((value for value in found if value), None)


def label_texts(elements: Sequence[Element]) -> dict[int, str]:
    """Return the words of the label of each field, by the identity of its element."""
    named = {
        target: element.text
        for element in elements
        if element.tag == "label" and element.text
        for target in (element.attributes.get("for"), element.attributes.get("htmlfor"))
        if target
    }
    found: dict[int, str] = {}
    around = ""
    end = 0
    for element in elements:
        if end and element.line > end:
            around, end = "", 0
        if element.tag == "label":
            end = element.end
            around = "" if {"for", "htmlfor"} & element.attributes.keys() else element.text
        elif element.tag == "/label":
            around = ""
        elif element.tag in FIELDS:
            words = named.get(element.attributes.get("id", "")) or around
            if words:
                found[id(element)] = words
    return found


def forms_of(elements: Sequence[Element], labels: Mapping[int, str]) -> list[Row]:
    """Return the forms with the fields inside of them."""
    rows: list[Row] = []
    current: dict[int, Row] = {}
    for element in elements:
        if element.tag == "form":
            attributes = element.attributes
            written = attributes.get("action") or attributes.get("onsubmit")
            row: Row = {
                "name": attributes.get("name") or attributes.get("id") or None,
                "method": _method(attributes),
                "action": written or None,
                "screen": None,
                "line": element.line,
                "fields": [],
            }
            rows.append(row)
            current[element.form] = row
        elif element.tag in FIELDS and element.form in current:
            field = field_row(element, labels)
            if field is not None:
                current[element.form]["fields"].append(field)
    return rows


def _method(attributes: Mapping[str, str]) -> str | None:
    """Return the HTTP method; None where a function takes what is entered."""
    if not attributes.get("method") and "onsubmit" in attributes:
        return None
    return (attributes.get("method") or "get").strip("\"'").upper()


def field_row(element: Element, labels: Mapping[int, str]) -> Row | None:
    """Return one field; None for one that has neither name nor words."""
    attributes = element.attributes
    name = next((attributes[key] for key in _NAMES if attributes.get(key)), None)
    words = labels.get(id(element)) or element.text or None
    for key in ("label", "aria-label", "placeholder", "title"):
        words = words or words_of(attributes.get(key, "")) or None
    kind = attributes.get("type") or {"input": "text", "button": "submit"}.get(
        element.tag, element.tag
    )
    if kind in ("submit", "button", "reset"):
        words = words or words_of(attributes.get("value", "")) or None
    if not name and not words:
        return None
    return {
        "name": _EXPRESSION.sub(r"\1", name) if name else None,
        "type": kind.lower(),
        "label": words,
        "required": "required" in attributes or "isrequired" in attributes,
        "line": element.line,
    }
