"""Routes of Django: path, re_path and url in urls.py, and what include() puts under a prefix."""

from __future__ import annotations

import re

from tree_sitter import Node

from jobs.parsing.code2des.facts import Endpoint, FileFacts, Function, Mount
from jobs.parsing.code2des.nodes import text_of
from jobs.parsing.code2des.python_nodes import call_parts, keyword, string_value

DJANGO_CALLS = frozenset(("path", "re_path", "url"))
_MAX_LEVELS = 12
_GROUP = re.compile(r"\(\?P<(\w+)>(?:[^()\\]|\\.|\([^()]*\))*\)")
_ENDS = re.compile(r"^\^|\\?[ZAz]$|\$$")
_METHODS = re.compile(r"require_http_methods|api_view")
_WORD = re.compile(r"['\"]([A-Za-z]+)['\"]")
VERBS = ("get", "post", "put", "patch", "delete", "head", "options")


def read_django(call: Node, name: str, facts: FileFacts) -> None:
    """Note the route, or the file of routes, that a call in urls.py declares."""
    if name not in DJANGO_CALLS or not _is_django(facts):
        return
    arguments = _arguments(call)
    if len(arguments) < 2 or arguments[0].type != "string":
        return
    full = "".join([*_around(call), _written(call, name)])
    target = arguments[1]
    parts = call_parts(target) if target.type == "call" else None
    if parts is not None and parts[0] == "include":
        if module := _included(target):
            facts.mounts.append(Mount(prefix=full, module=module))
        return
    text = text_of(target.child_by_field_name("function") if parts else target)
    facts.endpoints.append(
        Endpoint(
            method="ANY",
            path="/" + full,
            handler=text.removesuffix(".as_view"),
            framework="django",
            router="",
            line=call.start_point[0] + 1,
            name=string_value(keyword(call, "name")) or "",
        )
    )


def _is_django(facts: FileFacts) -> bool:
    return any(entry.module.split(".")[0] == "django" for entry in facts.imports)


def _arguments(call: Node) -> list[Node]:
    listed = call.child_by_field_name("arguments")
    found = listed.named_children if listed is not None else []
    return [child for child in found if child.type not in ("comment", "keyword_argument")]


def _written(call: Node, name: str) -> str:
    """Return the path of a call; a regular expression with its groups as parameters."""
    first = _arguments(call)[0]
    text = text_of(first)
    path = string_value(first) or text[text.find(text[-1]) + 1 : -1]
    if name == "path":
        return path
    return _ENDS.sub("", _ENDS.sub("", _GROUP.sub(r"<\1>", path))).replace("\\", "")


def _around(call: Node) -> list[str]:
    """Return the prefixes of the calls around one that stands in an include([...])."""
    found = []
    node = call.parent
    for _ in range(_MAX_LEVELS):
        if node is None:
            break
        parts = call_parts(node) if node.type == "call" else None
        if parts is not None and parts[0] in DJANGO_CALLS:
            found.append(_written(node, parts[0]))
        node = node.parent
    return list(reversed(found))


def _included(call: Node) -> str | None:
    """Return the module of an include; of a tuple with its namespace, the first part."""
    first = next(iter(_arguments(call)), None)
    if first is not None and first.type == "tuple":
        first = next(iter(first.named_children), None)
    return string_value(first)


def methods_of(function: Function) -> list[str]:
    """Return the HTTP methods that decorators of a view allow; ANY when they name none."""
    for mark in function.decorators:
        if match := re.match(r"(?:\w+\.)*require_(GET|POST|safe)\b", mark):
            return ["GET"] if match.group(1) == "safe" else [match.group(1)]
        if _METHODS.search(mark):
            return sorted({word.upper() for word in _WORD.findall(mark)}) or ["ANY"]
    return ["ANY"]
