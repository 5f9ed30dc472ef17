"""What the sweep asks of a language: how its syntax nodes are read.

The defaults read the field names that most grammars share; a language overrides what differs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tree_sitter import Node

from jobs.parsing.code2des.facts import Call, Element, FileFacts, Function, Import, Type, Variable
from jobs.parsing.code2des.nodes import child_of, field_of, flat, line_of, text_of

#: names of a scope that nests without end would be the square of the file
MAX_PREFIX = 400


@dataclass(slots=True)
class Scope:
    """Where the sweep is: names around it, the function that gets its calls, block depth."""

    end: int
    prefix: str = ""
    owner: Type | None = None
    owner_name: str | None = None
    function: Function | None = None
    depth: int = 0

    def qualify(self, name: str) -> str:
        """Return the name with the names around it; those too deep down share a prefix."""
        prefix = self.prefix[:MAX_PREFIX]
        return f"{prefix}.{name}" if prefix else name

    def seen_from(self, owner_name: str | None) -> Scope:
        """Return this scope with another type around it."""
        return replace(self, owner_name=owner_name)


class Dialect:
    """How one language is read. The capture names of `query` are those of sweep.ORDER."""

    package = ""
    function = "language"
    query = ""
    #: nodes around a definition that belong to it: decorators, `export`
    wrappers: frozenset[str] = frozenset()
    #: captures that count as the first reading has them, even if a retry reads the rest better
    kept: tuple[str, ...] = ()

    def retry(self, text: str) -> str | None:
        """Return a text of the same length to read instead, when syntax errors were found."""
        del text
        return None

    def name(self, node: Node) -> str:
        """Return the name of a definition."""
        return text_of(node.child_by_field_name("name"))

    def outer(self, node: Node) -> Node:
        """Return a definition with what wraps it."""
        while node.parent is not None and node.parent.type in self.wrappers:
            node = node.parent
        return node

    def kind(self, node: Node, kind: str, scope: Scope) -> str:
        """Return the kind of a function as the model names it."""
        del node
        return "method" if kind == "function" and scope.owner_name else kind

    def type_kind(self, node: Node, kind: str) -> str:
        """Return the kind of a type as the model names it."""
        del node
        return kind

    def bases(self, node: Node) -> list[str]:
        """Return the types that a type extends or implements."""
        del node
        return []

    def generics(self, node: Node) -> list[str]:
        """Return type parameters."""
        listed = node.child_by_field_name("type_parameters")
        found = listed.named_children if listed is not None else []
        return [flat(child) or "" for child in found]

    def modifiers(self, node: Node) -> list[str]:
        """Return modifiers such as public, static, abstract."""
        del node
        return []

    def decorators(self, node: Node) -> list[str]:
        """Return decorators or annotations as written, without their mark."""
        del node
        return []

    def params(self, node: Node) -> list[Variable]:
        """Return the parameters of a function."""
        listed = field_of(node, "parameters")
        found = [self.param(child) for child in (listed.named_children if listed else ())]
        return [variable for variable in found if variable is not None]

    def param(self, node: Node) -> Variable | None:
        """Return one parameter, None for what is none."""
        name = node.child_by_field_name("name")
        if name is None:
            return Variable(name=text_of(node)) if node.type == "identifier" else None
        return Variable(
            name=text_of(name),
            type=flat(node.child_by_field_name("type")),
            default=flat(node.child_by_field_name("value")),
        )

    def returns(self, node: Node) -> str | None:
        """Return the declared type of what a function gives back."""
        found = flat(node.child_by_field_name("return_type"))
        return found.lstrip(":-> ") or None if found else None

    def throws(self, node: Node) -> list[str]:
        """Return the exceptions that a function declares."""
        del node
        return []

    def owner(self, node: Node) -> str | None:
        """Return the type that a function belongs to when it stands outside of it."""
        del node
        return None

    def scope_name(self, node: Node) -> str:
        """Return what a namespace or anonymous body adds to names."""
        return self.name(node)

    def imports(self, node: Node) -> list[Import]:
        """Return what an import statement brings in."""
        del node
        return []

    def package_name(self, node: Node) -> str:
        """Return the package that a file declares."""
        return self.name(node)

    def call(self, node: Node) -> Call | None:
        """Return a call by name, None when what is called is computed."""
        target = node.child_by_field_name("function")
        parts = call_target(target)
        if parts is None:
            return None
        return Call(name=parts[0], receiver=parts[1], line=line_of(node), arity=arity(node))

    def fields(self, node: Node) -> list[Variable]:
        """Return the fields that a declaration in a type declares."""
        del node
        return []

    def locals(self, node: Node) -> list[tuple[str, str]]:
        """Return (name, type) of local variables whose type is plain to see."""
        del node
        return []

    def thrown(self, node: Node) -> str | None:
        """Return the class of what a statement throws."""
        made = child_of(node, "new_expression", "object_creation_expression")
        target = field_of(made, "constructor") or field_of(made, "type")
        return flat(target)

    def text(self, node: Node) -> str | None:
        """Return the value of a string literal, for SQL."""
        return text_of(node).strip("\"'`@$")

    def element(self, node: Node) -> Element | None:
        """Return a part of a user interface."""
        del node
        return None

    def on_type(self, node: Node, found: Type, facts: FileFacts) -> None:
        """Look further into a type: prefixes of routes, mapped tables."""

    def on_function(self, node: Node, found: Function, scope: Scope, facts: FileFacts) -> None:
        """Look further into a function: routes, entry points."""

    def on_call(self, node: Node, call: Call, scope: Scope, facts: FileFacts) -> None:
        """Look further into a call: routes of frameworks that register by calls."""

    def finish(self, facts: FileFacts) -> None:
        """Look over the whole file once all is known."""


_MEMBER = {
    "member_expression": ("object", "property"),
    "field_access": ("object", "field"),
    "selector_expression": ("operand", "field"),
    "field_expression": ("argument", "field"),
    "member_access_expression": ("expression", "name"),
    "attribute": ("object", "attribute"),
    "scoped_identifier": ("path", "name"),
    "qualified_identifier": ("scope", "name"),
    "navigation_expression": ("", ""),
}
_NAMES = frozenset(
    (
        *("identifier", "field_identifier", "property_identifier", "type_identifier", "this"),
        *("super", "self", "name", "variable_name", "private_property_identifier", "constant"),
        *("simple_identifier", "instance_variable", "base", "this_expression", "package"),
    )
)


def call_target(target: Node | None) -> tuple[str, str | None] | None:
    """Return name and receiver of what is called; the receiver is `?` when it is computed."""
    if target is None:
        return None
    if target.type in _NAMES:
        return text_of(target), None
    fields = _MEMBER.get(target.type)
    if fields is None:
        return None
    if target.type == "navigation_expression":
        first, last = target.named_children[0], target.named_children[-1]
        return text_of(last).split(".")[-1].strip("?"), receiver_text(first)
    name = target.child_by_field_name(fields[1])
    return (text_of(name), receiver_text(target.child_by_field_name(fields[0]))) if name else None


def receiver_text(node: Node | None) -> str | None:
    """Return a receiver as dotted names, `name()` for a plain call, `?` for anything else."""
    parts: list[str] = []
    while node is not None:
        if node.type in _NAMES or node.type == "super_expression":
            parts.append(text_of(node))
            return ".".join(reversed(parts))
        fields = _MEMBER.get(node.type)
        if fields is None or not fields[0]:
            return "?"
        parts.append(text_of(node.child_by_field_name(fields[1])))
        node = node.child_by_field_name(fields[0])
    return "?" if parts else None


def arity(node: Node) -> int | None:
    """Return the number of arguments of a call."""
    arguments = node.child_by_field_name("arguments")
    if arguments is None:
        return None
    return sum(not child.type.endswith("comment") for child in arguments.named_children)
