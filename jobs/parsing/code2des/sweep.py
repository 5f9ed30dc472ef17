"""One sweep over what the query of a language found: any depth, every fact once.

The query gives the interesting nodes of a file; sorted by their place they are met in source order,
and a stack of open definitions tells what each of them belongs to. Nothing recurses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter

from tree_sitter import Node

from jobs.parsing.code2des.comments import Comments
from jobs.parsing.code2des.dialect import Dialect, Scope
from jobs.parsing.code2des.facts import (
    FileFacts,
    Function,
    Render,
    SourceFile,
    Span,
    SqlUse,
    Type,
)
from jobs.parsing.code2des.grammar import errors_of, load_grammar
from jobs.parsing.code2des.nodes import line_of, text_of
from jobs.parsing.code2des.sql_strings import SHORTEST_STATEMENT, table_uses

_Handler = Callable[[Node, str, Scope], None]
#: capture name (before the dot) → order among captures of the same node
ORDER = {
    "package": 0,
    "scope": 1,
    "type": 2,
    "function": 3,
    "import": 4,
    "field": 5,
    "local": 6,
    "throw": 7,
    "branch": 8,
    "nest": 9,
    "call": 10,
    "string": 11,
    "view": 12,
    "element": 13,
}


def analyse(source: SourceFile, dialect: Dialect) -> FileFacts:
    """Return the facts of one file. Raises ValueError when parsing takes too long."""
    grammar = load_grammar(dialect.package, dialect.query, dialect.function)
    data = source.text.encode("utf-8")
    tree = grammar.parse(data)
    found = grammar.captures(tree.root_node)
    if tree.root_node.has_error and (other := dialect.retry(source.text)):
        again = grammar.parse(other.encode("utf-8"))
        if errors_of(again.root_node)[0] < errors_of(tree.root_node)[0]:
            tree = again
            kept = {name: found[name] for name in dialect.kept if name in found}
            found = {**grammar.captures(tree.root_node), **kept}
    comments = Comments(found.pop("comment", []), data)
    facts = FileFacts(source=source, doc=comments.header or None, unasked=list(grammar.missing))
    Sweep(dialect, facts, comments).run(found, len(data))
    _count_lines(facts, comments)
    facts.error_nodes, facts.error_line = errors_of(tree.root_node)
    dialect.finish(facts)
    return facts


def grammars(dialect: Dialect) -> dict[str, str]:
    """Return name and version of the grammar package; builds parser and query."""
    grammar = load_grammar(dialect.package, dialect.query, dialect.function)
    return {grammar.package: grammar.version}


def reading(
    make: Callable[[], Dialect],
) -> tuple[Callable[[SourceFile], FileFacts], Callable[[], dict[str, str]]]:
    """Return `analyse` and `grammars` of a language; its dialect is made when first needed."""
    dialect = lru_cache(maxsize=1)(make)
    return lambda source: analyse(source, dialect()), lambda: grammars(dialect())


def _count_lines(facts: FileFacts, comments: Comments) -> None:
    lines = facts.source.text.split("\n")
    commented = [lines[row] for row in comments.rows if row < len(lines)]
    facts.comment_lines = len(commented)
    facts.code_lines = _written(lines) - _written(commented)


def _written(lines: Iterable[str]) -> int:
    """Return how many of the lines are not blank."""
    return sum(map(bool, map(str.strip, lines)))


class Sweep:
    """One pass over a file."""

    def __init__(self, dialect: Dialect, facts: FileFacts, comments: Comments) -> None:
        self._dialect = dialect
        self._facts = facts
        self._comments = comments
        self._open: list[Scope] = []

    def run(self, captures: dict[str, list[Node]], size: int) -> None:
        """Meet every captured node in source order."""
        self._note_words(captures.pop("word", ()))
        events: list[tuple[int, int, int, int, _Handler, Node, str]] = []
        for name in sorted(captures):
            word, _, kind = name.partition(".")
            if name[0] == "_":
                continue
            order, handler = ORDER[word], getattr(self, f"_{word}")
            for node in captures[name]:
                place = (node.start_byte, -node.end_byte, order, len(events))
                events.append((*place, handler, node, kind))
        events.sort()  # the places differ, so nothing else is compared
        opened = self._open = [Scope(size + 1)]
        for start, _, _, _, handler, node, kind in events:
            while opened[-1].end <= start:
                opened.pop()
            handler(node, kind, opened[-1])

    def _note_words(self, nodes: Iterable[Node]) -> None:
        """Note the names in use; no matter what they stand in."""
        words = self._facts.words
        for node in sorted(nodes, key=attrgetter("start_byte")):
            word = text_of(node)
            if word not in words:
                words[word] = line_of(node)

    def _package(self, node: Node, _kind: str, _scope: Scope) -> None:
        self._facts.package = self._facts.package or self._dialect.package_name(node)

    def _scope(self, node: Node, kind: str, scope: Scope) -> None:
        """Open a namespace, or (`scope.body`) a body whose functions are methods."""
        name = self._dialect.scope_name(node)
        inside = scope.qualify(name) if name else scope.prefix
        owner = inside if kind == "body" else None
        self._open.append(Scope(node.end_byte, inside, None, owner, scope.function))

    def _type(self, node: Node, kind: str, scope: Scope) -> None:
        dialect = self._dialect
        name = dialect.name(node)
        if not name:
            return
        span = self._span(node)
        found = Type(
            name=name,
            qualified=scope.qualify(name),
            kind=dialect.type_kind(node, kind),
            generics=dialect.generics(node),
            bases=dialect.bases(node),
            modifiers=dialect.modifiers(node),
            decorators=dialect.decorators(node),
            doc=self._comments.above(span.line - 1),
            span=span,
        )
        self._facts.types.append(found)
        inner = Scope(node.end_byte, found.qualified, found, found.qualified, scope.function)
        self._open.append(inner)
        dialect.on_type(node, found, self._facts)

    def _function(self, node: Node, kind: str, scope: Scope) -> None:
        dialect = self._dialect
        name = dialect.name(node)
        if not name:
            return
        span = self._span(node)
        outside = dialect.owner(node)
        owner = scope.qualify(outside) if outside else scope.owner_name
        params = dialect.params(node)
        found = Function(
            name=name,
            qualified=f"{owner}.{name}" if owner else scope.qualify(name),
            owner=owner,
            kind=dialect.kind(node, kind, scope if not outside else scope.seen_from(owner)),
            params=params,
            returns=dialect.returns(node),
            modifiers=dialect.modifiers(node),
            decorators=dialect.decorators(node),
            doc=self._function_doc(span.line, scope),
            span=span,
            throws=dialect.throws(node),
            locals={param.name: param.type for param in params if param.type},
        )
        self._facts.functions.append(found)
        self._open.append(Scope(node.end_byte, found.qualified, function=found))
        dialect.on_function(node, found, scope, self._facts)

    def _function_doc(self, line: int, scope: Scope) -> str | None:
        """Return the comment of a function, unless it is that of the type on the same line."""
        if scope.owner is not None and scope.owner.span.line == line:
            return None
        return self._comments.at(line - 1)

    def _span(self, node: Node) -> Span:
        whole = self._dialect.outer(node)
        end = node.end_point[0]
        if whole is not node:
            end = max(whole.end_point[0], end)
        return Span(whole.start_point[0] + 1, end + 1)

    def _import(self, node: Node, _kind: str, _scope: Scope) -> None:
        self._facts.imports.extend(self._dialect.imports(node))

    def _field(self, node: Node, _kind: str, scope: Scope) -> None:
        if scope.owner is None:
            return
        row = self._dialect.outer(node).start_point[0]
        doc = self._comments.at(row) or self._comments.beside(node.end_point[0])
        for variable in self._dialect.fields(node):
            is_plain = variable.doc or not doc
            scope.owner.fields.append(variable if is_plain else replace(variable, doc=doc))

    def _local(self, node: Node, _kind: str, scope: Scope) -> None:
        for name, kind in self._dialect.locals(node):
            if scope.function is not None:
                scope.function.locals.setdefault(name, kind)
            elif scope.owner is None:
                self._facts.globals.setdefault(name, kind)

    def _throw(self, node: Node, _kind: str, scope: Scope) -> None:
        name = self._dialect.thrown(node)
        if name and scope.function is not None and name not in scope.function.throws:
            scope.function.throws.append(name)

    def _branch(self, _node: Node, _kind: str, scope: Scope) -> None:
        if scope.function is not None:
            scope.function.cyclomatic += 1

    def _nest(self, node: Node, _kind: str, scope: Scope) -> None:
        depth, function = scope.depth + 1, scope.function
        inner = Scope(node.end_byte, scope.prefix, scope.owner, scope.owner_name, function, depth)
        if function is not None and function.nesting < depth:
            function.nesting = depth
        self._open.append(inner)

    def _call(self, node: Node, _kind: str, scope: Scope) -> None:
        call = self._dialect.call(node)
        if call is None or not call.name:
            return
        calls = self._facts.toplevel if scope.function is None else scope.function.calls
        calls.append(call)
        self._dialect.on_call(node, call, scope, self._facts)

    def _string(self, node: Node, _kind: str, scope: Scope) -> None:
        if node.end_byte - node.start_byte < SHORTEST_STATEMENT:
            return
        target = scope.function.qualified if scope.function else ""
        for table, operation in table_uses(self._dialect.text(node) or ""):
            use = SqlUse(table=table, operation=operation, function=target, line=line_of(node))
            self._facts.sql.append(use)

    def _view(self, node: Node, _kind: str, scope: Scope) -> None:
        name = self._dialect.text(node)
        if name and scope.function is not None:
            self._facts.renders.append(Render(template=name, function=scope.function.qualified))

    def _element(self, node: Node, _kind: str, scope: Scope) -> None:
        element = self._dialect.element(node)
        if element is not None:
            element.owner = scope.function.qualified if scope.function else scope.prefix
            self._facts.elements.append(element)
