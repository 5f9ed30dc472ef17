"""Routes and workers in Python: Flask, FastAPI and kin by their decorators."""

from __future__ import annotations

import re

from tree_sitter import Node

from jobs.parsing.code2des.facts import Endpoint, FileFacts, Function, Render, Type
from jobs.parsing.code2des.nodes import text_of
from jobs.parsing.code2des.python_django import DJANGO_CALLS, read_django
from jobs.parsing.code2des.python_nodes import (
    call_parts,
    first_argument,
    keyword,
    string_value,
)

_VERBS = frozenset({"get", "post", "put", "delete", "patch", "options", "head"})
_FLASK = frozenset({"Flask", "Blueprint", "APIBlueprint", "Quart"})
_FASTAPI = frozenset({"FastAPI", "APIRouter", "Starlette"})
_PREFIX_CALLS = frozenset({"register_blueprint", "include_router"})
_RENDERERS = frozenset(
    ("render_template", "render", "TemplateResponse", "render_to_string", "stream_template")
)
#: the only names of calls that `read_call` looks at
TELLING_CALLS = _FLASK | _FASTAPI | _PREFIX_CALLS | _RENDERERS | DJANGO_CALLS
_WORKERS = re.compile(r"(?:^|\.)(?:actor|shared_task|task)$")
_CLI = re.compile(r"(?:^|\.)command$")


def read_route(mark: Node, function: Function, facts: FileFacts) -> list[Endpoint]:
    """Return the endpoints that one decorator declares, one for each HTTP method."""
    call = mark.named_children[0] if mark.named_child_count else None
    parts = call_parts(call) if call is not None and call.type == "call" else None
    if call is None or parts is None or parts[1] is None:
        return []
    name, router = parts[0], parts[1]
    framework = _framework(router, facts)
    path = string_value(first_argument(call) or keyword(call, "path") or keyword(call, "rule"))
    if framework is None or path is None or not (path == "" or path.startswith("/")):
        return []
    return [
        Endpoint(
            method=method,
            path=path,
            handler=function.qualified,
            framework=framework,
            router=router,
            line=mark.start_point[0] + 1,
        )
        for method in _methods(name, call)
    ]


def _methods(name: str, call: Node) -> list[str]:
    if name in _VERBS:
        return [name.upper()]
    if name == "websocket":
        return ["WEBSOCKET"]
    if name not in ("route", "api_route"):
        return []
    listed = keyword(call, "methods")
    if listed is None:
        return ["GET"]
    values = [string_value(child) for child in listed.named_children]
    return sorted({value.upper() for value in values if value}) or ["GET"]


def _framework(router: str, facts: FileFacts) -> str | None:
    made = facts.globals.get(router) or next(
        (f.locals[router] for f in reversed(facts.functions) if router in f.locals), ""
    )
    kind = made.rsplit(".", 1)[-1]
    if kind in _FLASK:
        return "flask"
    if kind in _FASTAPI:
        return "fastapi"
    modules = {entry.module.split(".")[0] for entry in facts.imports if entry.level == 0}
    for package in ("fastapi", "flask", "starlette", "quart"):
        if package in modules:
            return package
    local = any(entry.alias == router.split(".")[0] and entry.level for entry in facts.imports)
    return "unknown" if local and router.split(".")[-1] in ("app", "bp", "router") else None


def read_call(
    call: Node, parts: tuple[str, str | None], function: Function | None, facts: FileFacts
) -> None:
    """Note what a call tells of the web: a router, a template that is shown."""
    _read_router(call, parts, facts)
    read_django(call, parts[0], facts)
    _read_render(call, parts[0], function, facts)


def _read_router(call: Node, parts: tuple[str, str | None], facts: FileFacts) -> None:
    """Note the prefix of a router: at its constructor, or where it is mounted."""
    name = parts[0]
    if name in _FLASK or name in _FASTAPI:
        parent = call.parent
        left = parent.child_by_field_name("left") if parent is not None else None
        prefix = string_value(keyword(call, "url_prefix") or keyword(call, "prefix"))
        if left is not None and left.type == "identifier" and prefix:
            facts.prefixes.setdefault(text_of(left), prefix)
    elif name in _PREFIX_CALLS:
        target = first_argument(call)
        prefix = string_value(keyword(call, "url_prefix") or keyword(call, "prefix"))
        if target is not None and prefix:
            facts.prefixes[text_of(target)] = prefix


def _read_render(call: Node, name: str, function: Function | None, facts: FileFacts) -> None:
    """Note the template that a function shows."""
    if name not in _RENDERERS or function is None:
        return
    arguments = call.child_by_field_name("arguments")
    listed = [c for c in (arguments.named_children if arguments else ()) if c.type != "comment"]
    for argument in (*listed[:2], keyword(call, "template_name") or keyword(call, "name")):
        template = string_value(argument)
        if template and "." in template:
            facts.renders.append(Render(template=template, function=function.qualified))
            return


def note_view(owner: Type, name: str, right: Node | None, facts: FileFacts) -> None:
    """Note the template that a class-based view shows."""
    template = string_value(right) if name == "template_name" else None
    if template:
        facts.renders.append(Render(template=template, function=owner.qualified))


def worker_kind(mark: Node) -> str | None:
    """Return `worker` or `cli` when a decorator declares a task or a command."""
    target = mark.named_children[0] if mark.named_child_count else None
    if target is not None and target.type == "call":
        target = target.child_by_field_name("function")
    name = text_of(target)
    if _WORKERS.search(name):
        return "worker"
    return "cli" if _CLI.search(name) else None
