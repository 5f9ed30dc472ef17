"""Go: types, methods by receiver, packages by folder, routes of Gin, Echo, Chi and net/http."""

from __future__ import annotations

import re

from tree_sitter import Node

from jobs.parsing.code2des import sweep
from jobs.parsing.code2des.dialect import Dialect, Scope
from jobs.parsing.code2des.facts import (
    Call,
    Endpoint,
    EntryPoint,
    FileFacts,
    Function,
    Import,
    Variable,
)
from jobs.parsing.code2des.go_imports import Resolver
from jobs.parsing.code2des.nodes import child_of, children_of, field_of, flat, line_of, text_of

__all__ = ["Resolver", "analyse", "grammars"]

QUERY = """
(package_clause (package_identifier) @package)

(import_spec) @import

(type_spec) @type.class

(type_alias) @type.alias

(function_declaration) @function.function

(method_declaration) @function.method

(method_elem) @function.method

(field_declaration) @field

(short_var_declaration) @local

(var_spec) @local

(call_expression) @call

[(if_statement) (for_statement) (expression_case) (type_case) (communication_case)] @branch

(binary_expression operator: ["&&" "||"]) @branch

[(if_statement) (for_statement) (expression_switch_statement) (type_switch_statement)
 (select_statement)] @nest

(interpreted_string_literal) @string

(raw_string_literal) @string

(type_identifier) @word

(comment) @comment
"""
_VERBS = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "Any"})
_CHI = frozenset({"Get", "Post", "Put", "Delete", "Patch"})
_HANDLE = frozenset({"HandleFunc", "Handle"})
_FRAMEWORKS = (("gin-gonic/gin", "gin"), ("labstack/echo", "echo"), ("go-chi/chi", "chi"),
               ("gofiber/fiber", "fiber"), ("net/http", "net/http"))  # fmt: skip
_NET_VERB = re.compile(r"^(?:(GET|POST|PUT|DELETE|PATCH|HEAD)\s+)?(/.*)$")


class Go(Dialect):
    """How Go is read."""

    package = "tree_sitter_go"
    query = QUERY
    wrappers = frozenset(("type_declaration",))

    def package_name(self, node: Node) -> str:
        """Return the package of a file."""
        return text_of(node)

    def outer(self, node: Node) -> Node:
        """Return the declaration around a type when it holds no other."""
        parent = node.parent
        is_single = parent is not None and len(children_of(parent, "type_spec", "type_alias")) == 1
        return parent if parent is not None and is_single and node.type.startswith("type") else node

    def type_kind(self, node: Node, kind: str) -> str:
        """Return struct or interface by what the name stands for."""
        del kind
        shape = field_of(node, "type")
        kinds = {"struct_type": "struct", "interface_type": "interface"}
        return kinds.get(shape.type if shape is not None else "", "alias")

    def bases(self, node: Node) -> list[str]:
        """Return embedded types, or what an alias stands for."""
        shape = field_of(node, "type")
        if shape is None or shape.type not in ("struct_type", "interface_type"):
            return [flat(shape) or ""]
        listed = children_of(child_of(shape, "field_declaration_list"), "field_declaration")
        embedded = [f for f in listed if field_of(f, "name") is None]
        found = [(flat(field_of(f, "type")) or "").lstrip("*") for f in embedded]
        return found + [flat(part) or "" for part in children_of(shape, "type_elem")]

    def owner(self, node: Node) -> str | None:
        """Return the type of the receiver."""
        listed = children_of(field_of(node, "receiver"), "parameter_declaration")
        kind = flat(field_of(listed[0], "type")) if listed else None
        return kind.lstrip("*").split("[")[0] if kind else None

    def params(self, node: Node) -> list[Variable]:
        """Return parameters; several names may share a type."""
        found = []
        for part in children_of(field_of(node, "parameters")):
            kind = flat(field_of(part, "type"))
            kind = f"...{kind}" if part.type.startswith("variadic") else kind
            names = [text_of(name) for name in part.children_by_field_name("name")]
            found += [Variable(name=name, type=kind) for name in names or ["_"]]
        return found

    def returns(self, node: Node) -> str | None:
        """Return the result types."""
        return flat(field_of(node, "result"))

    def fields(self, node: Node) -> list[Variable]:
        """Return the fields of a struct; embedded types are bases."""
        kind = flat(field_of(node, "type"))
        names = node.children_by_field_name("name")
        return [Variable(name=text_of(name), type=kind) for name in names]

    def locals(self, node: Node) -> list[tuple[str, str]]:
        """Return variables with a declared or constructed type."""
        if node.type == "var_spec":
            kind = flat(field_of(node, "type"))
            return [(text_of(n), kind) for n in node.children_by_field_name("name") if kind]
        names = children_of(field_of(node, "left"))
        values = children_of(field_of(node, "right"))
        found = []
        for name, value in zip(names, values, strict=False):
            made = field_of(value, "operand") if value.type == "unary_expression" else value
            kind = flat(field_of(made, "type"))
            if made is not None and made.type == "call_expression":
                kind = f"{flat(field_of(made, 'function'))}()"
            if kind:
                found.append((text_of(name), kind))
        return found

    def imports(self, node: Node) -> list[Import]:
        """Return one import; its local name is the alias or the last part of the path."""
        path = text_of(field_of(node, "path")).strip('"`')
        alias = text_of(field_of(node, "name")) or re.sub(r"/v\d+$", "", path).rsplit("/", 1)[-1]
        return [Import(module=path, level=0, name=None, alias=alias, line=line_of(node))]

    def on_function(self, node: Node, found: Function, scope: Scope, facts: FileFacts) -> None:
        """Note the main function and the type of the receiver."""
        del scope
        listed = children_of(field_of(node, "receiver"), "parameter_declaration")
        if listed and found.owner:
            found.locals[text_of(field_of(listed[0], "name"))] = found.owner
        if found.name == "main" and facts.package == "main" and found.owner is None:
            line = found.span.line
            facts.entry_points.append(EntryPoint(kind="main", target=found.qualified, line=line))

    def on_call(self, node: Node, call: Call, scope: Scope, facts: FileFacts) -> None:
        """Note routes and groups of routes."""
        arguments = children_of(field_of(node, "arguments"))
        path = text_of(arguments[0]).strip('"`') if arguments else ""
        literal = bool(arguments) and arguments[0].type.endswith("string_literal")
        if not literal or call.receiver is None:
            return
        if call.name == "Group" and node.parent is not None:
            _group(node, call, path, facts)
            return
        framework = next(
            (n for key, n in _FRAMEWORKS if any(key in i.module for i in facts.imports)), None
        )
        match = _NET_VERB.match(path)
        if framework is None or len(arguments) < 2 or not (match or path == ""):
            return
        method = _method(call.name, match, framework)
        if method is None:
            return
        outside = scope.function.qualified if scope.function else ""
        handler = flat(arguments[-1]) or ""
        facts.endpoints.append(
            Endpoint(
                method=method,
                path=match.group(2) if match else "",
                handler=handler if re.fullmatch(r"[\w.]+", handler) else outside,
                framework=framework,
                router=call.receiver,
                line=line_of(node),
            )
        )


def _method(name: str, match: re.Match[str] | None, framework: str) -> str | None:
    if name in _VERBS:
        return name.upper()
    if name in _CHI and framework in ("chi", "fiber"):
        return name.upper()
    if name in _HANDLE:
        return (match.group(1) if match else None) or "ANY"
    return None


def _group(node: Node, call: Call, path: str, facts: FileFacts) -> None:
    """Note the prefix of `v1 := r.Group("/v1")`, on top of that of `r`."""
    around = node.parent.parent if node.parent is not None else None
    if around is not None and around.type == "short_var_declaration":
        name = flat(field_of(around, "left")) or ""
        facts.prefixes[name] = facts.prefixes.get(call.receiver or "", "") + path.rstrip("/")


analyse, grammars = sweep.reading(Go)
