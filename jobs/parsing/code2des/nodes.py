"""Read syntax nodes of any language."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

_MAX_TEXT = 200
_MAX_NODE_BYTES = 32 * 1024
_SPACE = re.compile(r"\s+")


def text_of(node: Node | None) -> str:
    """Return the source text of a node; nothing of one so large that copying it adds up.

    Nodes nest: the text of every level of a deep expression would be the square of its size.
    """
    if node is None or node.end_byte - node.start_byte > _MAX_NODE_BYTES:
        return ""
    text = node.text
    return text.decode("utf-8", "replace") if text else ""


def shorten(text: str) -> str:
    """Return `text` on one line, cut at 200 characters."""
    if "\n" in text or "  " in text or "\t" in text or not text.isascii():
        text = _SPACE.sub(" ", text)
    text = text.strip()
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"


def flat(node: Node | None) -> str | None:
    """Return the source text of a node on one line, cut at 200 characters; None for no node."""
    return None if node is None else shorten(text_of(node)) or None


def field_of(node: Node | None, *names: str) -> Node | None:
    """Follow fields from `node`; None as soon as one is missing."""
    for name in names:
        if node is None:
            return None
        node = node.child_by_field_name(name)
    return node


def child_of(node: Node | None, *kinds: str) -> Node | None:
    """Return the first named child of one of the kinds."""
    for child in node.named_children if node is not None else ():
        if child.type in kinds:
            return child
    return None


def children_of(node: Node | None, *kinds: str) -> list[Node]:
    """Return the named children of the given kinds, of all kinds when none is given."""
    found = node.named_children if node is not None else []
    return [child for child in found if not kinds or child.type in kinds]


def above(node: Node) -> Iterator[Node]:
    """Yield the nodes around `node`, from the inside out."""
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def line_of(node: Node) -> int:
    """Return the line on which a node starts, counted from 1."""
    return node.start_point[0] + 1


def literal(node: Node | None) -> str | None:
    """Return the text of a plain string literal; None for anything computed."""
    if node is None:
        return None
    text = text_of(node)
    for quote in ('"""', '"', "'", "`"):
        if text.startswith(quote) and text.endswith(quote) and len(text) >= 2 * len(quote):
            inner = text[len(quote) : -len(quote)]
            return None if quote == "`" and "${" in inner else inner
    return None
