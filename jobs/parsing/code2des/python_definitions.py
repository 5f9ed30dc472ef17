"""Judge Python definitions: kinds, bases, modifiers, spans."""

from __future__ import annotations

import re

from tree_sitter import Node

from jobs.parsing.code2des.facts import Span
from jobs.parsing.code2des.python_nodes import call_parts, flat

_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})
_RECORDS = frozenset({"NamedTuple", "TypedDict"})


def outer(node: Node) -> Node:
    """Return the node with what belongs to it: decorators, the statement around an assignment."""
    parent = node.parent
    wraps = ("decorated_definition", "expression_statement")
    return parent if parent is not None and parent.type in wraps else node


def span(node: Node) -> Span:
    """Return first and last line, decorators included."""
    whole = outer(node)
    return Span(whole.start_point[0] + 1, whole.end_point[0] + 1)


def decorator_text(mark: Node) -> str:
    """Return a decorator as written, without its @."""
    return (flat(mark) or "").removeprefix("@").strip()


def bases(node: Node) -> tuple[list[str], list[str], list[str]]:
    """Return base classes, type parameters and modifiers of a class."""
    bases: list[str] = []
    generics: list[str] = []
    modifiers: list[str] = []
    declared = node.child_by_field_name("superclasses")
    for child in declared.named_children if declared is not None else ():
        text = flat(child) or ""
        if child.type == "keyword_argument":
            if text.endswith("ABCMeta"):
                modifiers.append("abstract")
            continue
        bases.append(text)
        if match := re.fullmatch(r"(?:\w+\.)*(?:Generic|Protocol)\[(.+)\]", text):
            generics.extend(part.strip() for part in match.group(1).split(","))
        if text.rsplit(".", 1)[-1] == "ABC":
            modifiers.append("abstract")
    listed = node.child_by_field_name("type_parameters")
    if listed is not None:
        generics.extend(flat(child) or "" for child in listed.named_children)
    return bases, generics, modifiers


def type_kind(bases: list[str], marks: list[str]) -> str:
    """Return class, enum, interface or record."""
    names = {base.split("[")[0].rsplit(".", 1)[-1] for base in bases}
    if names & _ENUMS:
        return "enum"
    if "Protocol" in names:
        return "interface"
    is_record = any(mark.split("(")[0].rsplit(".", 1)[-1] == "dataclass" for mark in marks)
    return "record" if is_record or names & _RECORDS else "class"


def function_kind(name: str, marks: list[str], in_class: bool) -> str:
    """Return function, method, constructor or accessor."""
    if not in_class:
        return "function"
    if name == "__init__":
        return "constructor"
    last = {mark.split("(")[0].rsplit(".", 1)[-1] for mark in marks}
    return "accessor" if last & {"property", "cached_property", "setter", "deleter"} else "method"


def modifiers(node: Node, marks: list[str]) -> list[str]:
    """Return async, static, class, abstract, overload as they apply."""
    last = {mark.split("(")[0].rsplit(".", 1)[-1] for mark in marks}
    first = node.child(0) if node.child_count else None
    found = ["async"] if first is not None and first.type == "async" else []
    for mark, word in (
        ("staticmethod", "static"),
        ("classmethod", "class"),
        ("abstractmethod", "abstract"),
        ("overload", "overload"),
    ):
        if mark in last:
            found.append(word)
    return found


def constructed(right: Node | None) -> str | None:
    """Return the class name of a constructor call, judged by its capital letter."""
    parts = call_parts(right) if right is not None and right.type == "call" else None
    if parts is None or not parts[0][:1].isupper() or parts[1] == "?":
        return None
    return f"{parts[1]}.{parts[0]}" if parts[1] else parts[0]
