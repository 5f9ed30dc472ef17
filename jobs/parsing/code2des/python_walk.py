"""One walk over a Python syntax tree, with an explicit stack: any depth, every fact once."""

from __future__ import annotations

import re
from operator import itemgetter

from tree_sitter import Node

from jobs.parsing.code2des.facts import (
    Call,
    EntryPoint,
    FileFacts,
    Function,
    SqlUse,
    Type,
)
from jobs.parsing.code2des.grammar import load_grammar
from jobs.parsing.code2des.nodes import text_of
from jobs.parsing.code2des.python_assignments import Scope, read_assignment
from jobs.parsing.code2des.python_definitions import (
    bases,
    decorator_text,
    function_kind,
    modifiers,
    outer,
    span,
    type_kind,
)
from jobs.parsing.code2des.python_imports import read_imports
from jobs.parsing.code2des.python_nodes import (
    call_parts,
    comment_above,
    decorators,
    docstring,
    flat,
    parameters,
    string_value,
)
from jobs.parsing.code2des.python_web import (
    TELLING_CALLS,
    read_call,
    read_route,
    worker_kind,
)
from jobs.parsing.code2des.sql_strings import SHORTEST_STATEMENT, table_uses

_BRANCHES = frozenset(
    (
        *("if_statement", "elif_clause", "for_statement", "while_statement", "except_clause"),
        *("except_group_clause", "conditional_expression", "boolean_operator", "case_clause"),
        *("for_in_clause", "if_clause"),
    )
)
_NESTING = frozenset(
    (
        *("if_statement", "for_statement", "while_statement", "try_statement"),
        *("with_statement", "match_statement"),
    )
)
_HANDLED = (
    *("class_definition", "function_definition", "import_statement", "import_from_statement"),
    *("future_import_statement", "call", "assignment", "raise_statement", "string"),
    *("concatenated_string", "type_alias_statement"),
)
QUERY = "\n\n".join(f"({kind}) @{kind}" for kind in sorted({*_BRANCHES, *_NESTING, *_HANDLED}))
_MAIN = re.compile(r"""__name__\s*==\s*["']__main__["']""")


class Walk:
    """One pass over a file."""

    def __init__(self, facts: FileFacts) -> None:
        self._facts = facts
        #: first byte, end and meaning of the scopes around the current node
        self._open: list[tuple[int, int, Scope]] = []
        self._skip_until = 0
        #: the first type of each qualified name
        self._types: dict[str, Type] = {}
        self._handlers = {
            "class_definition": self._class,
            "function_definition": self._function,
            "import_statement": self._import,
            "import_from_statement": self._import,
            "future_import_statement": self._import,
            "call": self._call,
            "assignment": self._assignment,
            "raise_statement": self._raise,
            "string": self._string,
            "concatenated_string": self._string,
            "if_statement": self._if,
            "type_alias_statement": self._alias,
        }

    def run(self, root: Node) -> None:
        """Visit every node of interest in source order."""
        found = load_grammar("tree_sitter_python", QUERY).captures(root)
        events = [(n.start_byte, -n.end_byte, kind, n) for kind, ns in found.items() for n in ns]
        events.sort(key=itemgetter(0, 1))
        self._open = [(0, root.end_byte + 1, Scope())]
        for start, negative_end, kind, node in events:
            if start < self._skip_until:
                continue
            scope = self._scope_at(start)
            function = scope.function
            if kind in _BRANCHES and function is not None:
                function.cyclomatic += 1
            if kind in _NESTING:
                scope = Scope(scope.prefix, scope.owner, function, scope.depth + 1)
                self._open.append((start, -negative_end, scope))
                if function is not None:
                    function.nesting = max(function.nesting, scope.depth)
            handler = self._handlers.get(kind)
            if handler is not None and not handler(node, scope):
                self._skip_until = -negative_end

    def _scope_at(self, start: int) -> Scope:
        """Return the innermost scope that has begun: bases stand before the body of a class."""
        opened = self._open
        first, end, scope = opened[-1]
        if first <= start < end:
            return scope
        while opened[-1][1] <= start:
            opened.pop()
        position = len(opened) - 1
        while opened[position][0] > start:
            position -= 1
        return opened[position][2]

    def _enter(self, body: Node | None, scope: Scope) -> None:
        if body is not None:
            self._open.append((body.start_byte, body.end_byte, scope))

    def _class(self, node: Node, scope: Scope) -> bool:
        name = text_of(node.child_by_field_name("name"))
        body = node.child_by_field_name("body")
        parents, generics, words = bases(node)
        marks = [decorator_text(mark) for mark in decorators(node)]
        found = Type(
            name=name,
            qualified=scope.qualify(name),
            kind=type_kind(parents, marks),
            generics=generics,
            bases=parents,
            modifiers=words,
            decorators=marks,
            doc=docstring(body) or comment_above(outer(node)),
            span=span(node),
        )
        self._add(found)
        self._enter(body, Scope(found.qualified, owner=found, function=scope.function))
        return True

    def _add(self, found: Type) -> None:
        self._facts.types.append(found)
        self._types.setdefault(found.qualified, found)

    def _function(self, node: Node, scope: Scope) -> bool:
        name = text_of(node.child_by_field_name("name"))
        body = node.child_by_field_name("body")
        marks = decorators(node)
        texts = [decorator_text(mark) for mark in marks]
        params = parameters(node.child_by_field_name("parameters"))
        found = Function(
            name=name,
            qualified=scope.qualify(name),
            owner=scope.owner.qualified if scope.owner else None,
            kind=function_kind(name, texts, scope.owner is not None),
            params=params,
            returns=flat(node.child_by_field_name("return_type")),
            modifiers=modifiers(node, texts),
            decorators=texts,
            doc=docstring(body) or comment_above(outer(node)),
            span=span(node),
            locals={p.name: p.type for p in params if p.type},
        )
        self._facts.functions.append(found)
        for mark in marks:
            self._facts.endpoints.extend(read_route(mark, found, self._facts))
            if kind := worker_kind(mark):
                line = found.span.line
                entry = EntryPoint(kind=kind, target=found.qualified, line=line)
                self._facts.entry_points.append(entry)
        self._enter(body, Scope(found.qualified, function=found))
        return True

    def _import(self, node: Node, _scope: Scope) -> bool:
        self._facts.imports.extend(read_imports(node))
        return False

    def _call(self, node: Node, scope: Scope) -> bool:
        parts = call_parts(node)
        if parts is not None:
            call = Call(name=parts[0], receiver=parts[1], line=node.start_point[0] + 1)
            calls = self._facts.toplevel if scope.function is None else scope.function.calls
            calls.append(call)
            if parts[0] in TELLING_CALLS:
                read_call(node, parts, scope.function, self._facts)
        return True

    def _assignment(self, node: Node, scope: Scope) -> bool:
        read_assignment(node, scope, self._facts, self._types)
        return True

    def _raise(self, node: Node, scope: Scope) -> bool:
        thrown = node.named_child(0) if node.named_child_count else None
        if thrown is not None and scope.function is not None:
            target = thrown.child_by_field_name("function") if thrown.type == "call" else thrown
            name = text_of(target)
            is_class = name.rsplit(".", 1)[-1][:1].isupper()
            if is_class and name not in scope.function.throws:
                scope.function.throws.append(name)
        return True

    def _string(self, node: Node, scope: Scope) -> bool:
        is_plain = node.type == "string"
        if node.end_byte - node.start_byte < SHORTEST_STATEMENT:
            return is_plain
        value = string_value(node) or "".join(
            text_of(child) for child in node.named_children if child.type == "string_content"
        )
        target = scope.function.qualified if scope.function else ""
        for table, operation in table_uses(value):
            line = node.start_point[0] + 1
            use = SqlUse(table=table, operation=operation, function=target, line=line)
            self._facts.sql.append(use)
        return is_plain

    def _if(self, node: Node, scope: Scope) -> bool:
        condition = node.child_by_field_name("condition")
        is_top = scope.function is None and scope.owner is None
        if is_top and condition is not None and _MAIN.search(text_of(condition)):
            line = node.start_point[0] + 1
            self._facts.entry_points.append(EntryPoint(kind="main", target="", line=line))
        return True

    def _alias(self, node: Node, scope: Scope) -> bool:
        left = flat(node.child_by_field_name("left")) or ""
        name = left.split("[")[0]
        self._add(
            Type(
                name=name,
                qualified=scope.qualify(name),
                kind="alias",
                generics=[],
                bases=[flat(node.child_by_field_name("right")) or ""],
                modifiers=[],
                decorators=[],
                doc=comment_above(node),
                span=span(node),
            )
        )
        return False
