"""Kotlin: classes, objects, functions; Spring routes and JPA tables as in Java."""

from __future__ import annotations

from tree_sitter import Node

from jobs.parsing.code2des import sweep
from jobs.parsing.code2des.dialect import Dialect, Scope, call_target
from jobs.parsing.code2des.facts import (
    Call,
    EntryPoint,
    FileFacts,
    Function,
    Import,
    Type,
    Variable,
)
from jobs.parsing.code2des.java_annotations import read_entity, read_routes
from jobs.parsing.code2des.nodes import child_of, children_of, flat, line_of, text_of
from jobs.parsing.code2des.packages import PackageResolver

__all__ = ["Resolver", "analyse", "grammars"]

QUERY = """
(package_header (qualified_identifier) @package)

(import) @import

(class_declaration) @type.class

(object_declaration) @type.object

(companion_object) @scope.body

(type_alias) @type.alias

(function_declaration) @function.function

(secondary_constructor) @function.constructor

(property_declaration) @field

(enum_entry) @field

(property_declaration) @local

(call_expression) @call

(throw_expression) @throw

[(if_expression) (for_statement) (while_statement) (do_while_statement) (when_entry)
 (catch_block)] @branch

(binary_expression ["&&" "||" "?:"]) @branch

[(if_expression) (for_statement) (while_statement) (do_while_statement) (when_expression)
 (try_expression)] @nest

(string_literal) @string

(user_type (identifier) @word)

(navigation_expression . (identifier) @word)

(call_expression . (identifier) @word)

[(line_comment) (block_comment)] @comment
"""
_BASIC = ("user_type", "nullable_type", "function_type", "parenthesized_type")


class Kotlin(Dialect):
    """How Kotlin is read."""

    package = "tree_sitter_kotlin"
    query = QUERY

    def package_name(self, node: Node) -> str:
        """Return the package of a file."""
        return text_of(node)

    def name(self, node: Node) -> str:
        """Return a name; the grammar does not always mark it."""
        if node.type == "secondary_constructor":
            return "constructor"
        found = node.child_by_field_name("name") or child_of(node, "identifier", "type_identifier")
        return text_of(found)

    def scope_name(self, node: Node) -> str:
        """Return the name of a companion."""
        return self.name(node) or "Companion"

    def type_kind(self, node: Node, kind: str) -> str:
        """Return interface, enum or record by the words before the name."""
        words = {child.type for child in node.children} | set(self.modifiers(node))
        if "interface" in words:
            return "interface"
        for word, found in (("enum", "enum"), ("data", "record"), ("annotation", "annotation")):
            if word in words:
                return found
        return kind

    def modifiers(self, node: Node) -> list[str]:
        """Return the words before a definition."""
        listed = children_of(child_of(node, "modifiers"))
        return [text_of(part) for part in listed if part.type.endswith("_modifier")]

    def decorators(self, node: Node) -> list[str]:
        """Return annotations without their @."""
        marks = children_of(child_of(node, "modifiers"), "annotation")
        return [(flat(mark) or "").removeprefix("@") for mark in marks]

    def bases(self, node: Node) -> list[str]:
        """Return superclass and interfaces."""
        if node.type == "type_alias":
            return [flat(node.named_children[-1]) or ""]
        listed = children_of(child_of(node, "delegation_specifiers"), "delegation_specifier")
        return [(flat(part) or "").split("(")[0].split(" by ")[0] for part in listed]

    def params(self, node: Node) -> list[Variable]:
        """Return parameters with their defaults."""
        listed = child_of(node, "function_value_parameters", "class_parameters")
        return self._listed(listed)

    def _listed(self, listed: Node | None) -> list[Variable]:
        found: list[Variable] = []
        for part in children_of(listed):
            if part.type not in ("parameter", "class_parameter"):
                if found and part.type not in ("line_comment", "block_comment", "modifiers"):
                    last = found[-1]
                    found[-1] = Variable(name=last.name, type=last.type, default=flat(part))
                continue
            name, kind = child_of(part, "identifier"), child_of(part, *_BASIC)
            value = part.named_children[-1]
            is_value = kind is not None and value.start_byte > kind.end_byte
            found.append(
                Variable(
                    name=text_of(name),
                    type=flat(kind),
                    default=flat(value) if is_value else None,
                    decorators=tuple(self.decorators(part)),
                )
            )
        return found

    def returns(self, node: Node) -> str | None:
        """Return the declared type of the result."""
        listed = child_of(node, "function_value_parameters")
        for child in children_of(node, *_BASIC):
            if listed is not None and child.start_byte > listed.end_byte:
                return flat(child)
        return None

    def fields(self, node: Node) -> list[Variable]:
        """Return properties and constants of enumerations."""
        if node.type == "enum_entry":
            return [Variable(name=text_of(child_of(node, "identifier")))]
        return [
            Variable(
                name=name,
                type=kind or None,
                modifiers=tuple(self.modifiers(node)),
                decorators=tuple(self.decorators(node)),
            )
            for name, kind in self._declared(node)
        ]

    def _declared(self, node: Node) -> list[tuple[str, str]]:
        declared = child_of(node, "variable_declaration")
        kind = flat(child_of(declared, *_BASIC))
        made = child_of(node, "call_expression")
        target = made.named_children[0] if made is not None else None
        name = text_of(target) if target is not None and target.type == "identifier" else ""
        kind = kind or (name if name[:1].isupper() else None)
        return [(text_of(child_of(declared, "identifier")), kind or "")]

    def locals(self, node: Node) -> list[tuple[str, str]]:
        """Return variables with a declared or constructed type."""
        return [(name, kind) for name, kind in self._declared(node) if kind]

    def imports(self, node: Node) -> list[Import]:
        """Return one import."""
        written = text_of(child_of(node, "qualified_identifier", "identifier"))
        if text_of(node).rstrip().endswith("*"):
            return [Import(module=written, level=0, name="*", alias="*", line=line_of(node))]
        names = children_of(node, "identifier")
        alias = text_of(names[-1]) if names else written.rpartition(".")[2]
        return [Import(module=written, level=0, name=None, alias=alias, line=line_of(node))]

    def call(self, node: Node) -> Call | None:
        """Return a call by name."""
        parts = call_target(node.named_children[0] if node.named_children else None)
        if parts is None:
            return None
        values = children_of(child_of(node, "value_arguments"), "value_argument")
        return Call(name=parts[0], receiver=parts[1], line=line_of(node), arity=len(values))

    def thrown(self, node: Node) -> str | None:
        """Return the class of what is thrown."""
        made = child_of(node, "call_expression")
        return flat(made.named_children[0]) if made is not None else None

    def on_type(self, node: Node, found: Type, facts: FileFacts) -> None:
        """Note the properties of the primary constructor."""
        del facts
        listed = child_of(child_of(node, "primary_constructor"), "class_parameters")
        found.fields.extend(self._listed(listed))

    def on_function(self, node: Node, found: Function, scope: Scope, facts: FileFacts) -> None:
        """Note Spring routes and main functions."""
        del node
        read_routes(found, scope.owner, facts)
        if found.name == "main" and found.owner is None:
            line = found.span.line
            facts.entry_points.append(EntryPoint(kind="main", target=found.qualified, line=line))

    def finish(self, facts: FileFacts) -> None:
        """Note the tables of entities."""
        for kind in facts.types:
            read_entity(kind, facts)


analyse, grammars = sweep.reading(Kotlin)


class Resolver(PackageResolver):
    """Kotlin names; Java files of the project are seen too."""

    ecosystem = "maven"
    stdlib = ("kotlin.", "java.", "javax.")
    stdlib_ecosystem = "java-stdlib"
