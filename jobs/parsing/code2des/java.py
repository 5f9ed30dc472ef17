"""Java: classes, records, enums, annotations, anonymous bodies; packages are the module system."""

from __future__ import annotations

from tree_sitter import Node

from jobs.parsing.code2des import sweep
from jobs.parsing.code2des.dialect import Dialect, Scope, arity, receiver_text
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
from jobs.parsing.code2des.nodes import (
    child_of,
    children_of,
    field_of,
    flat,
    line_of,
    text_of,
)
from jobs.parsing.code2des.packages import PackageResolver

__all__ = ["Resolver", "analyse", "grammars"]

QUERY = """
(package_declaration (_) @package)

(import_declaration) @import

(class_declaration) @type.class

(interface_declaration) @type.interface

(enum_declaration) @type.enum

(record_declaration) @type.record

(annotation_type_declaration) @type.annotation

(method_declaration) @function.method

(annotation_type_element_declaration) @function.method

(constructor_declaration) @function.constructor

(compact_constructor_declaration) @function.constructor

(object_creation_expression (class_body) @scope.body)

(enum_constant body: (class_body) @scope.body)

(field_declaration) @field

(constant_declaration) @field

(enum_constant) @field

(local_variable_declaration) @local

(enhanced_for_statement) @local

(method_invocation) @call

(method_reference) @call

(object_creation_expression) @call

(throw_statement) @throw

(return_statement (string_literal) @view)

[(if_statement) (for_statement) (enhanced_for_statement) (while_statement) (do_statement)
 (catch_clause) (ternary_expression)] @branch

(switch_label "case") @branch

(binary_expression operator: ["&&" "||"]) @branch

[(if_statement) (for_statement) (enhanced_for_statement) (while_statement) (do_statement)
 (try_statement) (switch_expression)] @nest

(string_literal) @string

(type_identifier) @word

(method_invocation object: (identifier) @word)

(field_access object: (identifier) @word)

(annotation name: (identifier) @word)

(marker_annotation name: (identifier) @word)

[(line_comment) (block_comment)] @comment
"""

_STARTED = frozenset(("Scheduled", "KafkaListener", "SqsListener", "JmsListener", "RabbitListener"))


class Java(Dialect):
    """How Java is read."""

    package = "tree_sitter_java"
    query = QUERY

    def package_name(self, node: Node) -> str:
        """Return the package of a file."""
        return text_of(node)

    def imports(self, node: Node) -> list[Import]:
        """Return one import; `name` is None for a class, the member for a static import."""
        path = child_of(node, "scoped_identifier", "identifier")
        written = text_of(path)
        is_static = any(child.type == "static" for child in node.children)
        if child_of(node, "asterisk") is not None:
            return [Import(module=written, level=0, name="*", alias="*", line=line_of(node))]
        last = written.rpartition(".")[2]
        name = last if is_static else None
        module = written.rpartition(".")[0] if is_static else written
        return [Import(module=module, level=0, name=name, alias=last, line=line_of(node))]

    def bases(self, node: Node) -> list[str]:
        """Return superclass and interfaces."""
        found = []
        for part in children_of(node, "superclass", "super_interfaces", "extends_interfaces"):
            listed = child_of(part, "type_list") or part
            found += [flat(child) or "" for child in listed.named_children]
        return found

    def modifiers(self, node: Node) -> list[str]:
        """Return the keywords before a definition."""
        found = child_of(node, "modifiers")
        return [c.type for c in found.children if not c.is_named] if found is not None else []

    def decorators(self, node: Node) -> list[str]:
        """Return annotations without their @."""
        marks = children_of(child_of(node, "modifiers"), "annotation", "marker_annotation")
        return [(flat(mark) or "").removeprefix("@") for mark in marks]

    def params(self, node: Node) -> list[Variable]:
        """Return parameters; those of a compact constructor are the record's own."""
        if node.type == "compact_constructor_declaration" and node.parent is not None:
            node = node.parent.parent or node
        return super().params(node)

    def param(self, node: Node) -> Variable | None:
        """Return one parameter; a variadic one has its dots in the type."""
        if node.type == "spread_parameter":
            kind = next((c for c in node.named_children if c.type != "modifiers"), None)
            name = field_of(child_of(node, "variable_declarator"), "name")
            return Variable(name=text_of(name), type=f"{flat(kind)}...")
        return super().param(node)

    def returns(self, node: Node) -> str | None:
        """Return the declared type; nothing for constructors and void."""
        found = flat(node.child_by_field_name("type"))
        return None if found == "void" else found

    def throws(self, node: Node) -> list[str]:
        """Return the classes of a throws clause."""
        return [flat(child) or "" for child in children_of(child_of(node, "throws"))]

    def scope_name(self, node: Node) -> str:
        """Return the name of an anonymous body: its interface with $, or the enum constant."""
        around = node.parent
        if around is not None and around.type == "enum_constant":
            return self.name(around)
        return f"{(flat(field_of(around, 'type')) or '').split('<')[0]}$"

    def fields(self, node: Node) -> list[Variable]:
        """Return the variables of a field declaration, or an enum constant."""
        if node.type == "enum_constant":
            values = flat(field_of(node, "arguments"))
            text = values[1:-1] if values else None
            return [Variable(name=self.name(node), default=text)]
        kind = flat(field_of(node, "type"))
        return [
            Variable(
                name=text_of(field_of(part, "name")),
                type=kind,
                default=flat(field_of(part, "value")),
                modifiers=tuple(self.modifiers(node)),
                decorators=tuple(self.decorators(node)),
            )
            for part in children_of(node, "variable_declarator")
        ]

    def locals(self, node: Node) -> list[tuple[str, str]]:
        """Return local variables with their declared or constructed type."""
        kind = flat(field_of(node, "type")) or ""
        if node.type == "enhanced_for_statement":
            return [(text_of(field_of(node, "name")), kind)]
        found = []
        for part in children_of(node, "variable_declarator"):
            made = flat(field_of(part, "value", "type")) if kind == "var" else kind
            if made:
                found.append((text_of(field_of(part, "name")), made))
        return found

    def call(self, node: Node) -> Call | None:
        """Return a method call or the making of an object."""
        line, count = line_of(node), arity(node)
        if node.type == "object_creation_expression":
            name = (flat(field_of(node, "type")) or "").split("<")[0]
            return Call(name=name, receiver=None, line=line, arity=count)
        if node.type == "method_reference":
            first, last = node.named_children[0], node.named_children[-1]
            receiver = receiver_text(first)
            return Call(name=text_of(last), receiver=receiver, line=line) if receiver else None
        name = text_of(field_of(node, "name"))
        receiver = receiver_text(field_of(node, "object"))
        return Call(name=name, receiver=receiver, line=line, arity=count)

    def on_type(self, node: Node, found: Type, facts: FileFacts) -> None:
        """Note the components of a record."""
        del facts
        if found.kind == "record":
            found.fields.extend(self.params(node))

    def on_function(self, node: Node, found: Function, scope: Scope, facts: FileFacts) -> None:
        """Note routes, main methods and what starts by time or message."""
        del node
        read_routes(found, scope.owner, facts)
        if found.name == "main" and {"public", "static"} <= set(found.modifiers):
            line = found.span.line
            facts.entry_points.append(EntryPoint(kind="main", target=found.qualified, line=line))
        if any(mark.split("(")[0] in _STARTED for mark in found.decorators):
            line = found.span.line
            facts.entry_points.append(EntryPoint(kind="batch", target=found.qualified, line=line))

    def finish(self, facts: FileFacts) -> None:
        """Note the tables of entities; imports come first, so that names are known."""
        for kind in facts.types:
            read_entity(kind, facts)


analyse, grammars = sweep.reading(Java)


class Resolver(PackageResolver):
    """Java names: package → files; `java.*` comes with the JDK."""

    ecosystem = "maven"
    stdlib = ("java.", "javax.")
    stdlib_ecosystem = "java-stdlib"
