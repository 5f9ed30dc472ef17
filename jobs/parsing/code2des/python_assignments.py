"""Python assignments: fields, classes of variables, lambdas that have a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tree_sitter import Node

from jobs.parsing.code2des.dialect import MAX_PREFIX
from jobs.parsing.code2des.facts import FileFacts, Function, Type, Variable
from jobs.parsing.code2des.nodes import text_of
from jobs.parsing.code2des.python_definitions import constructed, outer, span
from jobs.parsing.code2des.python_nodes import comment_above, flat, parameters
from jobs.parsing.code2des.python_web import note_view


@dataclass(slots=True)
class Scope:
    """Where a walk is: names around it, the function that gets its calls, block depth."""

    prefix: str = ""
    owner: Type | None = None
    function: Function | None = None
    depth: int = 0

    def qualify(self, name: str) -> str:
        """Return the name with the names around it; those too deep down share a prefix."""
        prefix = self.prefix[:MAX_PREFIX]
        return f"{prefix}.{name}" if prefix else name


def read_assignment(node: Node, scope: Scope, facts: FileFacts, types: Mapping[str, Type]) -> None:
    """Note what an assignment tells; `types` are the first of each qualified name so far."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None:
        return
    if left.type == "identifier":
        made = constructed(right)
        if made:
            _note_class(scope, text_of(left), made, facts)
        elif scope.function is None and right is not None and right.type == "lambda":
            facts.functions.append(_lambda(node, scope, text_of(left), right))
        if scope.owner is not None:
            scope.owner.fields.append(_field(node, text_of(left), right))
            note_view(scope.owner, text_of(left), right, facts)
    elif scope.function is not None and (name := text_of(left)).startswith("self."):
        owner = types.get(scope.function.owner or "")
        if owner is not None:
            _note_attribute(owner, name[5:], node, scope.function)


def _note_class(scope: Scope, name: str, made: str, facts: FileFacts) -> None:
    if scope.function is not None:
        scope.function.locals.setdefault(name, made)
    elif scope.owner is None:
        facts.globals.setdefault(name, made)


def _field(node: Node, name: str, right: Node | None) -> Variable:
    kind, default = flat(node.child_by_field_name("type")), flat(right)
    return Variable(name=name, type=kind, default=default, doc=comment_above(outer(node)))


def _lambda(node: Node, scope: Scope, name: str, right: Node) -> Function:
    return Function(
        name=name,
        qualified=scope.qualify(name),
        owner=scope.owner.qualified if scope.owner else None,
        kind="lambda_var",
        params=parameters(right.child_by_field_name("parameters")),
        returns=None,
        modifiers=[],
        decorators=[],
        doc=comment_above(outer(node)),
        span=span(node),
    )


def _note_attribute(owner: Type, name: str, node: Node, function: Function) -> None:
    """Note the first assignment to an attribute of `self` as a field of its class."""
    if "." in name or any(known.name == name for known in owner.fields):
        return
    kind = flat(node.child_by_field_name("type"))
    kind = kind or constructed(node.child_by_field_name("right")) or function.locals.get(name)
    owner.fields.append(Variable(name=name, type=kind))
