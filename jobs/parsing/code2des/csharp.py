"""C#: types, members, namespaces; routes of ASP.NET controllers and minimal APIs."""

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
    Type,
    Variable,
)
from jobs.parsing.code2des.nodes import (
    child_of,
    children_of,
    field_of,
    flat,
    line_of,
    literal,
    text_of,
)
from jobs.parsing.code2des.packages import PackageResolver

__all__ = ["Resolver", "analyse", "grammars"]

QUERY = """
(file_scoped_namespace_declaration) @package

(namespace_declaration) @package

(using_directive) @import

(class_declaration) @type.class

(interface_declaration) @type.interface

(struct_declaration) @type.struct

(record_declaration) @type.record

(enum_declaration) @type.enum

(delegate_declaration) @type.delegate

(method_declaration) @function.method

(constructor_declaration) @function.constructor

(local_function_statement) @function.function

(property_declaration) @field

(field_declaration) @field

(enum_member_declaration) @field

(local_declaration_statement) @local

(invocation_expression) @call

(object_creation_expression) @call

(throw_statement) @throw

(throw_expression) @throw

[(if_statement) (for_statement) (foreach_statement) (while_statement) (do_statement)
 (catch_clause) (conditional_expression) (switch_section) (switch_expression_arm)] @branch

(binary_expression operator: ["&&" "||" "??"]) @branch

[(if_statement) (for_statement) (foreach_statement) (while_statement) (do_statement)
 (try_statement) (switch_statement)] @nest

[(string_literal) (verbatim_string_literal) (raw_string_literal)] @string

(base_list (identifier) @word)

(object_creation_expression type: (identifier) @word)

(variable_declaration type: (identifier) @word)

(parameter type: (identifier) @word)

(type_argument_list (identifier) @word)

(method_declaration returns: (identifier) @word)

(member_access_expression expression: (identifier) @word)

(comment) @comment
"""
_ROUTE = re.compile(r"^Http(Get|Post|Put|Delete|Patch|Head|Options)(?:\((.*)\))?$", re.DOTALL)
_MAP = re.compile(r"^Map(Get|Post|Put|Delete|Patch)$")
_STRING = re.compile(r'"([^"]*)"')


class CSharp(Dialect):
    """How C# is read."""

    package = "tree_sitter_c_sharp"
    query = QUERY

    def imports(self, node: Node) -> list[Import]:
        """Return a using; it brings in a whole namespace, or one name under an alias."""
        name = node.child_by_field_name("name")
        target = child_of(node, "qualified_name", "alias_qualified_name")
        written = text_of(target or name or child_of(node, "identifier"))
        line = line_of(node)
        if name is not None and target is not None:
            return [Import(module=written, level=0, name=None, alias=text_of(name), line=line)]
        return [Import(module=written, level=0, name="*", alias="*", line=line)]

    def bases(self, node: Node) -> list[str]:
        """Return base class and interfaces."""
        listed = children_of(child_of(node, "base_list"))
        return [(flat(part) or "").split("(")[0] for part in listed if part.type != "argument_list"]

    def modifiers(self, node: Node) -> list[str]:
        """Return public, static, async and the like."""
        return [text_of(part) for part in children_of(node, "modifier")]

    def decorators(self, node: Node) -> list[str]:
        """Return attributes without their brackets."""
        lists = children_of(node, "attribute_list")
        return [flat(mark) or "" for part in lists for mark in children_of(part, "attribute")]

    def param(self, node: Node) -> Variable | None:
        """Return one parameter."""
        name = node.child_by_field_name("name")
        if node.type != "parameter" or name is None:
            return None
        last = node.named_children[-1]
        default = flat(last) if last.start_byte > name.end_byte else None
        return Variable(name=text_of(name), type=flat(field_of(node, "type")), default=default)

    def returns(self, node: Node) -> str | None:
        """Return the type of the result; nothing for void."""
        found = flat(field_of(node, "returns") or field_of(node, "type"))
        return None if found == "void" else found

    def fields(self, node: Node) -> list[Variable]:
        """Return fields, properties and constants of enumerations."""
        marks, words = tuple(self.decorators(node)), tuple(self.modifiers(node))
        if node.type == "enum_member_declaration":
            value = flat(field_of(node, "value"))
            return [Variable(name=self.name(node), default=value)]
        if node.type == "property_declaration":
            kind, value = flat(field_of(node, "type")), flat(field_of(node, "value"))
            name = self.name(node)
            return [
                Variable(name=name, type=kind, default=value, modifiers=words, decorators=marks)
            ]
        declared = child_of(node, "variable_declaration")
        kind = flat(field_of(declared, "type"))
        return [
            Variable(name=text_of(field_of(part, "name")), type=kind, modifiers=words)
            for part in children_of(declared, "variable_declarator")
        ]

    def locals(self, node: Node) -> list[tuple[str, str]]:
        """Return local variables with their declared or constructed type."""
        declared = child_of(node, "variable_declaration")
        kind = flat(field_of(declared, "type")) or ""
        found = []
        for part in children_of(declared, "variable_declarator"):
            made = child_of(part, "object_creation_expression")
            written = flat(field_of(made, "type")) if kind == "var" else kind
            if written:
                found.append((text_of(field_of(part, "name")), written))
        return found

    def call(self, node: Node) -> Call | None:
        """Return a call or the making of an object."""
        if node.type == "object_creation_expression":
            name = (flat(field_of(node, "type")) or "").split("<")[0]
            return Call(name=name, receiver=None, line=line_of(node))
        found = super().call(node)
        return None if found is None or found.name == "nameof" else found

    def on_type(self, node: Node, found: Type, facts: FileFacts) -> None:
        """Note the components of a record and the prefix of a controller."""
        del facts
        if found.kind == "record":
            listed = children_of(child_of(node, "parameter_list"), "parameter")
            found.fields.extend(v for part in listed if (v := self.param(part)) is not None)

    def on_function(self, node: Node, found: Function, scope: Scope, facts: FileFacts) -> None:
        """Note the actions of controllers and main methods."""
        del node
        if found.name == "Main" and "static" in found.modifiers:
            line = found.span.line
            facts.entry_points.append(EntryPoint(kind="main", target=found.qualified, line=line))
        owner = scope.owner
        if owner is None:
            return
        prefix = _prefix(owner)
        for mark in found.decorators:
            match = _ROUTE.match(mark)
            if match is None:
                continue
            own = next(iter(_STRING.findall(match.group(2) or "")), "")
            own = own or next((_first(m) for m in found.decorators if m.startswith("Route(")), "")
            parts = [] if own.startswith(("/", "~/")) else [prefix]
            path = "/".join(p.strip("/~") for p in [*parts, own] if p.strip("/~"))
            path = path.replace("[action]", found.name)
            facts.endpoints.append(
                Endpoint(
                    method=match.group(1).upper(),
                    path=f"/{path}",
                    handler=found.qualified,
                    framework="asp.net",
                    router="",
                    line=found.span.line,
                )
            )

    def on_call(self, node: Node, call: Call, scope: Scope, facts: FileFacts) -> None:
        """Note the routes of minimal APIs: `app.MapGet("/x", handler)`."""
        match = _MAP.match(call.name)
        arguments = children_of(field_of(node, "arguments"), "argument")
        path = literal(arguments[0].named_children[0]) if match and arguments else None
        if match is None or path is None:
            return
        handler = flat(arguments[-1]) or ""
        outside = scope.function.qualified if scope.function else ""
        facts.endpoints.append(
            Endpoint(
                method=match.group(1).upper(),
                path="/" + path.strip("/"),
                handler=handler if re.fullmatch(r"[\w.]+", handler) else outside,
                framework="asp.net",
                router=call.receiver or "",
                line=line_of(node),
            )
        )


def _first(mark: str) -> str:
    return next(iter(_STRING.findall(mark)), "")


def _prefix(owner: Type) -> str:
    found = next((_first(mark) for mark in owner.decorators if mark.startswith("Route(")), "")
    return found.replace("[controller]", owner.name.removesuffix("Controller").lower())


analyse, grammars = sweep.reading(CSharp)


class Resolver(PackageResolver):
    """C# names: a namespace may spread over files, so what is meant is likely."""

    ecosystem = "nuget"
    stdlib = ("System.", "Microsoft.")
    stdlib_ecosystem = "dotnet-stdlib"
    wildcard_confidence = "likely"
