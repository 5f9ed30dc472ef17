"""Routes of JavaScript servers: Express and kin by calls, Nest by decorators."""

from __future__ import annotations

import re

from tree_sitter import Node

from jobs.parsing.code2des.facts import Call, Endpoint, FileFacts, Function, Type
from jobs.parsing.code2des.nodes import children_of, field_of, flat, line_of, literal

_VERBS = frozenset({"get", "post", "put", "delete", "patch", "options", "head", "all"})
_ROUTERS = re.compile(r"^(?:\w*[aA]pp|\w*[rR]outer|server|api|fastify|\w*[rR]outes?)$")
_MADE = re.compile(r"^(?:express|\w*\.?Router|fastify|Fastify|Hono|new Hono|Koa)\(?\)?$")
_NEST = re.compile(r"^(Get|Post|Put|Delete|Patch|Options|Head|All)\((.*)\)$", re.DOTALL)
_CONTROLLER = re.compile(r"^Controller\((.*)\)$", re.DOTALL)
_STRING = re.compile(r"[\"'`]([^\"'`]*)[\"'`]")
_SERVERS = ("express", "fastify", "hono", "koa-router", "@koa/router", "@hapi/hapi")


def _is_router(name: str, facts: FileFacts) -> bool:
    made = facts.globals.get(name, "")
    if _MADE.match(made):
        return True
    known = any(entry.module in _SERVERS for entry in facts.imports)
    return known and bool(_ROUTERS.match(name))


def route_of_call(node: Node, call: Call, outside: str, facts: FileFacts) -> Endpoint | None:
    """Return the route that `app.get("/path", handler)` declares."""
    receiver = call.receiver or ""
    if call.name not in _VERBS or not _is_router(receiver, facts):
        return None
    arguments = children_of(field_of(node, "arguments"))
    path = literal(arguments[0]) if arguments else None
    if path is None or len(arguments) < 2 or not (path == "" or path[0] in "/*"):
        return None
    last = arguments[-1]
    named = last.type in ("identifier", "member_expression")
    return Endpoint(
        method="ANY" if call.name == "all" else call.name.upper(),
        path=path,
        handler=(flat(last) or "") if named else outside,
        framework=next((e.module for e in facts.imports if e.module in _SERVERS), "express"),
        router=receiver,
        line=line_of(node),
    )


def mounted_prefix(node: Node, call: Call, facts: FileFacts) -> None:
    """Note the path under which `app.use("/api", router)` puts a router."""
    if call.name not in ("use", "route", "register"):
        return
    arguments = children_of(field_of(node, "arguments"))
    prefix = literal(arguments[0]) if len(arguments) >= 2 else None
    target = arguments[-1] if arguments else None
    if prefix and prefix.startswith("/") and target is not None:
        name = flat(target) or ""
        if target.type == "call_expression":
            name = literal(next(iter(children_of(field_of(target, "arguments"))), None)) or ""
        if target.type in ("identifier", "member_expression", "call_expression") and name:
            facts.prefixes.setdefault(name, prefix.rstrip("/"))


def nest_routes(function: Function, owner: Type | None, facts: FileFacts) -> None:
    """Add the routes that decorators of a Nest controller's method declare."""
    if owner is None:
        return
    prefix = next((m.group(1) for d in owner.decorators if (m := _CONTROLLER.match(d))), None)
    if prefix is None:
        return
    base = next(iter(_STRING.findall(prefix)), "")
    for mark in function.decorators:
        match = _NEST.match(mark)
        if match is None:
            continue
        for path in _STRING.findall(match.group(2)) or [""]:
            parts = [part.strip("/") for part in (base, path) if part.strip("/")]
            facts.endpoints.append(
                Endpoint(
                    method="ANY" if match.group(1) == "All" else match.group(1).upper(),
                    path="/" + "/".join(parts),
                    handler=function.qualified,
                    framework="nest",
                    router="",
                    line=function.span.line,
                )
            )
