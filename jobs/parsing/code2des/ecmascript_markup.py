"""Elements of JSX: forms, fields, links and uses of components."""

from __future__ import annotations

from collections.abc import Sequence

from tree_sitter import Node

from jobs.parsing.code2des.facts import Element
from jobs.parsing.code2des.markup import words_of
from jobs.parsing.code2des.nodes import flat, line_of, text_of

#: components of common libraries → what they are in HTML
_LIKE = {
    **dict.fromkeys(("link", "navlink"), "link"),
    **dict.fromkeys(("form", "formik"), "form"),
    **dict.fromkeys(("input", "textfield", "textinput", "formcontrol", "field"), "input"),
    **dict.fromkeys(("select", "dropdown", "combobox", "autocomplete"), "select"),
    **dict.fromkeys(("textarea", "button", "checkbox", "radio", "option", "label"), ""),
    **dict.fromkeys(("datepicker", "switch", "slider", "upload"), "field"),
    **dict.fromkeys(("a", "h1", "h2", "title", "iframe", "route", "html"), ""),
}


def read_element(node: Node) -> Element | None:
    """Return an element that matters: a known tag or a component with a capital letter."""
    name = text_of(node.child_by_field_name("name"))
    tag = name.rpartition(".")[2].lower()
    if tag not in _LIKE and not name[:1].isupper():
        return None
    attributes = {"": name}
    for child in node.named_children:
        if child.type == "jsx_attribute" and child.named_children:
            parts = child.named_children
            value = (flat(parts[1]) or "") if len(parts) > 1 else ""
            attributes.setdefault(text_of(parts[0]).lower(), _bare(value))
    around = node.parent if node.type == "jsx_opening_element" else None
    found = Element(tag=_LIKE.get(tag) or tag, attributes=attributes, line=line_of(node))
    if around is not None and around.type == "jsx_element":
        texts = [text_of(child) for child in around.named_children if child.type == "jsx_text"]
        found.text = words_of(" ".join(texts))
        found.end = around.end_point[0] + 1
    return found


def _bare(value: str) -> str:
    """Return an attribute's value without quotes, or without the braces of an expression."""
    for first, last in (('"', '"'), ("'", "'"), ("{", "}")):
        if value.startswith(first) and value.endswith(last) and len(value) > 1:
            value = value[1:-1].strip()
    return value.strip("`") if value.startswith("`") else value


def number_forms(elements: Sequence[Element]) -> None:
    """Give every element the number of the form around it."""
    count = current = end = 0
    for element in elements:
        if element.tag == "form":
            count += 1
            current, end = count, element.end
        element.form = current if element.line <= end else 0
