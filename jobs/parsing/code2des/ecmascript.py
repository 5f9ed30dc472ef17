"""JavaScript and TypeScript: what both have in common, read by one dialect.

Functions are declarations, signatures of overloads, methods, and variables or properties that hold
an arrow or a function expression.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from jobs.parsing.code2des.dialect import Dialect, Scope
from jobs.parsing.code2des.ecmascript_markup import number_forms, read_element
from jobs.parsing.code2des.ecmascript_web import mounted_prefix, nest_routes, route_of_call
from jobs.parsing.code2des.facts import (
    Call,
    Element,
    FileFacts,
    Function,
    Import,
    Render,
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

_MODIFIERS = frozenset(
    (
        *("async", "static", "readonly", "abstract", "get", "set", "declare", "override"),
        *("public", "private", "protected", "*"),
    )
)
_QUOTED = re.compile(r"^[\"'`](.*)[\"'`]$")


class EcmaScript(Dialect):
    """How JavaScript and TypeScript are read; `language` is the suffix of the grammar function."""

    wrappers = frozenset(
        ("export_statement", "lexical_declaration", "variable_declaration", "ambient_declaration")
    )

    def __init__(self, package: str, function: str, query: str) -> None:
        self.package, self.function, self.query = package, function, query

    def name(self, node: Node) -> str:
        """Return a name; the last part of `a.b = function`, the key of a pair."""
        for part in ("name", "left", "key", "property"):
            found = node.child_by_field_name(part)
            if found is not None:
                if found.type == "member_expression":
                    found = found.child_by_field_name("property")
                text = text_of(found)
                match = _QUOTED.match(text)
                return match.group(1) if match else text
        if node.type == "ambient_declaration":
            return "global"
        return text_of(node) if node.type == "property_identifier" else ""

    def kind(self, node: Node, kind: str, scope: Scope) -> str:
        """Return method, constructor or accessor inside of classes and objects."""
        if node.type in ("pair", "function_expression"):
            return "property" if node.type == "pair" else "expression"
        if kind in ("overload", "signature"):
            return "method" if scope.owner_name else "function"
        if node.type == "method_definition":
            if self.name(node) == "constructor":
                return "constructor"
            is_accessor = any(child.type in ("get", "set") for child in node.children)
            return "accessor" if is_accessor else "method"
        return super().kind(node, kind, scope)

    def modifiers(self, node: Node) -> list[str]:
        """Return async, static, export and the like; `overload` for a signature without body."""
        value = field_of(node, "value") or field_of(node, "right") or node
        found = [c.type for c in [*node.children, *value.children] if c.type in _MODIFIERS]
        found += [text_of(c) for c in children_of(node, "accessibility_modifier")]
        found += ["abstract"] if node.type.startswith("abstract") else []
        if node.type == "function_signature":
            found.append("overload")
        if self.outer(node).type == "export_statement":
            found.append("export")
        return list(dict.fromkeys(found))

    def decorators(self, node: Node) -> list[str]:
        """Return the decorators in, above or around a definition."""
        around = self.outer(node)
        found = children_of(node, "decorator")
        found += children_of(around, "decorator") if around is not node else []
        before = []
        sibling = node.prev_named_sibling
        while sibling is not None and sibling.type == "decorator":
            before.append(sibling)
            sibling = sibling.prev_named_sibling
        marks = {mark.start_byte: mark for mark in [*reversed(before), *found]}.values()
        return [(flat(mark) or "").removeprefix("@") for mark in marks]

    def bases(self, node: Node) -> list[str]:
        """Return what a class or interface extends; the text of a type alias."""
        if node.type == "type_alias_declaration":
            return [flat(node.child_by_field_name("value")) or ""]
        heritage = child_of(node, "class_heritage", "extends_type_clause")
        if heritage is None:
            return []
        found = []
        for part in children_of(heritage, "extends_clause", "implements_clause") or [heritage]:
            listed = children_of(part)
            found += [flat(c) or "" for c in listed if c.type != "type_arguments"]
        return found

    def params(self, node: Node) -> list[Variable]:
        """Return the parameters of a function or of the function that a variable holds."""
        value = field_of(node, "value") or field_of(node, "right") or node
        single = value.child_by_field_name("parameter")
        return [Variable(name=text_of(single))] if single is not None else super().params(value)

    def param(self, node: Node) -> Variable | None:
        """Return one parameter; patterns stand as written."""
        if node.type == "comment" or node.type == "decorator":
            return None
        if node.type in ("required_parameter", "optional_parameter"):
            kind = flat(node.child_by_field_name("type"))
            default = flat(node.child_by_field_name("value"))
            is_optional = node.type == "optional_parameter"
            return Variable(
                name=flat(node.child_by_field_name("pattern")) or "",
                type=kind.lstrip(": ") if kind else None,
                default=default or ("undefined" if is_optional else None),
            )
        if node.type == "assignment_pattern":
            left, right = field_of(node, "left"), field_of(node, "right")
            return Variable(name=flat(left) or "", default=flat(right))
        return Variable(name=flat(node) or "")

    def returns(self, node: Node) -> str | None:
        """Return the declared type of the result."""
        value = field_of(node, "value") or field_of(node, "right") or node
        return super().returns(value)

    def scope_name(self, node: Node) -> str:
        """Return the name of a namespace."""
        return self.name(node)

    def imports(self, node: Node) -> list[Import]:
        """Return one import for each name; a re-export is an import too."""
        line = line_of(node)
        if node.type == "variable_declarator":
            return self._require(node, line)
        source = literal(node.child_by_field_name("source")) or literal(
            field_of(child_of(node, "import_require_clause"), "source")
        )
        if source is None:
            return []
        names = self._names(node)
        return [
            Import(module=source, level=0, name=name, alias=alias, line=line)
            for name, alias in names or [(None, source)]
        ]

    def _names(self, node: Node) -> list[tuple[str | None, str]]:
        found: list[tuple[str | None, str]] = []
        clause = child_of(node, "import_clause", "export_clause", "import_require_clause")
        for child in children_of(clause):
            if child.type == "identifier":
                found.append(("default", text_of(child)))
            elif child.type == "namespace_import":
                found.append((None, text_of(child_of(child, "identifier"))))
            specifiers = children_of(child, "import_specifier")
            for part in [child] if child.type == "export_specifier" else specifiers:
                name = text_of(part.child_by_field_name("name"))
                found.append((name, text_of(part.child_by_field_name("alias")) or name))
        if node.type == "export_statement" and clause is None:
            space = child_of(node, "namespace_export")
            found.append((None, text_of(child_of(space, "identifier"))) if space else ("*", "*"))
        return found

    def _require(self, node: Node, line: int) -> list[Import]:
        arguments = field_of(node, "value", "arguments")
        source = literal(child_of(arguments, "string")) or ""
        name = node.child_by_field_name("name")
        if name is not None and name.type == "object_pattern":
            names = [text_of(child) for child in children_of(name)]
            pairs = [part.partition(":") for part in names]
            return [
                Import(module=source, level=0, name=a.strip(), alias=(b or a).strip(), line=line)
                for a, _, b in pairs
            ]
        return [Import(module=source, level=0, name=None, alias=text_of(name), line=line)]

    def call(self, node: Node) -> Call | None:
        """Return a call or the making of an object."""
        if node.type == "new_expression":
            made = flat(node.child_by_field_name("constructor")) or ""
            return Call(name=made, receiver=None, line=line_of(node)) if made.isalnum() else None
        found = super().call(node)
        return None if found is None or found.name == "require" else found

    def fields(self, node: Node) -> list[Variable]:
        """Return a field, a property of an interface or a constant of an enumeration."""
        value = node.child_by_field_name("value")
        if value is not None and value.type in ("arrow_function", "function_expression"):
            return []
        kind = flat(node.child_by_field_name("type"))
        return [
            Variable(
                name=self.name(node),
                type=kind.lstrip(": ") if kind else None,
                default=flat(value),
                modifiers=tuple(self.modifiers(node)),
                decorators=tuple(self.decorators(node)),
            )
        ]

    def locals(self, node: Node) -> list[tuple[str, str]]:
        """Return a variable with its declared type or the class of its constructor call."""
        kind = flat(node.child_by_field_name("type"))
        value = node.child_by_field_name("value")
        made = flat(field_of(value, "constructor"))
        if made is None and value is not None and value.type == "call_expression":
            made = f"{flat(field_of(value, 'function'))}()"
        name = text_of(node.child_by_field_name("name"))
        found = kind.lstrip(": ") if kind else made
        return [(name, found)] if found else []

    def text(self, node: Node) -> str | None:
        """Return the value of a string; a template with its holes as they are."""
        return text_of(node)[1:-1]

    def element(self, node: Node) -> Element | None:
        """Return an element of JSX."""
        return read_element(node)

    def on_function(self, node: Node, found: Function, scope: Scope, facts: FileFacts) -> None:
        """Note the routes of Nest controllers."""
        del node
        nest_routes(found, scope.owner, facts)

    def on_call(self, node: Node, call: Call, scope: Scope, facts: FileFacts) -> None:
        """Note the routes of Express and where routers are mounted."""
        if call.receiver is None:
            return
        outside = scope.function.qualified if scope.function else ""
        endpoint = route_of_call(node, call, outside, facts)
        if endpoint is not None:
            facts.endpoints.append(endpoint)
        mounted_prefix(node, call, facts)
        if call.name == "render" and call.receiver in ("res", "reply", "response"):
            template = literal(next(iter(children_of(field_of(node, "arguments"))), None))
            if template:
                facts.renders.append(Render(template=template, function=outside))

    def finish(self, facts: FileFacts) -> None:
        """Give the comment of a first overload to those after it; put fields in their forms."""
        number_forms(facts.elements)
        documented: dict[str, str] = {}
        for function in facts.functions:
            if function.doc:
                documented.setdefault(function.qualified, function.doc)
            elif function.kind in ("function", "method"):
                function.doc = documented.get(function.qualified)
