"""Read single Python syntax nodes: parameters, decorators, docstrings, names."""

from __future__ import annotations

import inspect
import re

from tree_sitter import Node

from jobs.parsing.code2des.facts import Variable
from jobs.parsing.code2des.nodes import text_of

_MAX_TEXT = 200
_SPACE = re.compile(r"\s+")
_PADDING = re.compile(r"(?<=[\[(]) | (?=[\])])|,(?= [\])])")
_STARS = {"list_splat_pattern": "*", "dictionary_splat_pattern": "**"}


def flat(node: Node | None) -> str | None:
    """Return the source text of a node on one line, cut at 200 characters; None for no node."""
    if node is None:
        return None
    text = text_of(node)
    if not text.replace(".", "_").isidentifier():
        text = _PADDING.sub("", _SPACE.sub(" ", text).strip())
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"


def string_value(node: Node | None) -> str | None:
    """Return the text of a plain string literal; None for anything computed."""
    if node is None:
        return None
    if node.type == "concatenated_string":
        parts = [string_value(child) for child in node.named_children]
        return None if None in parts else "".join(part or "" for part in parts)
    if node.type != "string":
        return None
    content = ""
    for child in node.named_children:
        kind = child.type
        if kind == "interpolation":
            return None
        if kind == "string_content":
            content += text_of(child)
    return content


def docstring(body: Node | None) -> str | None:
    """Return the cleaned docstring of a block or module."""
    statement = _first_statement(body)
    if statement is None:
        return None
    if statement.type == "expression_statement" and statement.named_child_count:
        statement = statement.named_child(0)
    value = string_value(statement)
    return inspect.cleandoc(value).strip() or None if value else None


def _first_statement(body: Node | None) -> Node | None:
    """Return the first statement; it asks for all of them only when comments stand before it."""
    if body is None or not body.named_child_count:
        return None
    first = body.named_child(0)
    if first is None or first.type != "comment":
        return first
    return next((child for child in body.named_children if child.type != "comment"), None)


def comment_above(node: Node) -> str | None:
    """Return the block of comment lines that ends on the line above `node`."""
    lines: list[str] = []
    row = node.start_point[0]
    sibling = node.prev_sibling
    if sibling is None and node.parent is not None and node.parent.type == "block":
        sibling = node.parent.prev_sibling  # above the first statement of a block
    while sibling is not None and sibling.type == "comment" and sibling.start_point[0] == row - 1:
        row -= 1
        lines.append(text_of(sibling).lstrip("#:! ").rstrip())
        sibling = sibling.prev_sibling
    if row == 0:
        return None  # the head of a file: shebang, coding line, licence
    return "\n".join(reversed(lines)).strip() or None


def parameters(node: Node | None) -> list[Variable]:
    """Return the parameters of a function in order; `/` and `*` separators stand as names."""
    if node is None:
        return []
    found = (_parameter(child) for child in node.named_children)
    return [variable for variable in found if variable is not None]


def _parameter(node: Node) -> Variable | None:
    if node.type == "identifier":
        return Variable(name=text_of(node))
    if node.type in _STARS:
        return Variable(name=text_of(node))
    if node.type == "positional_separator":
        return Variable(name="/")
    if node.type == "keyword_separator":
        return Variable(name="*")
    if node.type in ("default_parameter", "typed_default_parameter"):
        return Variable(
            name=text_of(node.child_by_field_name("name")),
            type=flat(node.child_by_field_name("type")),
            default=flat(node.child_by_field_name("value")),
        )
    if node.type == "typed_parameter":
        kind = flat(node.child_by_field_name("type"))
        return Variable(name=text_of(node.named_children[0]), type=kind)
    return None


def decorators(definition: Node) -> list[Node]:
    """Return the decorator nodes of a definition."""
    parent = definition.parent
    if parent is None or parent.type != "decorated_definition":
        return []
    return [child for child in parent.named_children if child.type == "decorator"]


def call_parts(call: Node) -> tuple[str, str | None] | None:
    """Return name and receiver of a call by name; None when what is called is computed."""
    function = call.child_by_field_name("function")
    if function is None:
        return None
    if function.type == "identifier":
        return text_of(function), None
    if function.type != "attribute":
        return None
    receiver = function.child_by_field_name("object")
    name = text_of(function.child_by_field_name("attribute"))
    if receiver is None:
        return None
    if receiver.type in ("identifier", "attribute"):
        return name, flat(receiver)
    inner = call_parts(receiver) if receiver.type == "call" else None
    return name, f"{inner[0]}()" if inner and inner[1] is None else "?"


def keyword(call: Node, name: str) -> Node | None:
    """Return the value of a keyword argument of a call."""
    arguments = call.child_by_field_name("arguments")
    for child in arguments.named_children if arguments is not None else ():
        if child.type == "keyword_argument" and text_of(child.child_by_field_name("name")) == name:
            return child.child_by_field_name("value")
    return None


def first_argument(call: Node) -> Node | None:
    """Return the first positional argument of a call."""
    arguments = call.child_by_field_name("arguments")
    for child in arguments.named_children if arguments is not None else ():
        if child.type not in ("keyword_argument", "comment"):
            return child
    return None
