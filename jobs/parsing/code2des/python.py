"""Python: one walk over the syntax tree, with an explicit stack, collects all facts of a file."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import version

import tree_sitter_python
from tree_sitter import Language, Node, Parser

from jobs.parsing.code2des.facts import (
    Call,
    EntryPoint,
    FileFacts,
    Function,
    SourceFile,
    Span,
    SqlUse,
    Type,
    Variable,
)
from jobs.parsing.code2des.python_imports import Resolver, read_imports
from jobs.parsing.code2des.python_nodes import (
    call_parts,
    comment_above,
    decorators,
    docstring,
    flat,
    parameters,
    string_value,
    text_of,
)
from jobs.parsing.code2des.python_web import read_route, read_router, worker_kind
from jobs.parsing.code2des.sql_strings import table_uses

__all__ = ["Resolver", "analyse", "grammars"]

PARSE_SECONDS = 10.0
#: no file as small as this takes longer, whatever is in it
_SAFE_BYTES = 128 * 1024
_CHUNK_BYTES = 64 * 1024
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
_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})
_RECORDS = frozenset({"NamedTuple", "TypedDict"})
_MAIN = re.compile(r"""__name__\s*==\s*["']__main__["']""")


@lru_cache(maxsize=1)
def _language() -> Language:
    return Language(tree_sitter_python.language())


@lru_cache(maxsize=1)
def grammars() -> dict[str, str]:
    """Return name and version of the grammar packages."""
    return {"tree-sitter-python": version("tree-sitter-python")}


def analyse(source: SourceFile) -> FileFacts:
    """Return the facts of one file. Raises ValueError when parsing takes too long."""
    data = source.text.encode("utf-8")
    if len(data) > _SAFE_BYTES:
        _rehearse(data)
    tree = Parser(_language()).parse(data)
    facts = FileFacts(source=source, doc=docstring(tree.root_node))
    _count_lines(facts)
    _Walk(facts).run(tree.root_node)
    _count_errors(facts, tree.root_node)
    return facts


def _rehearse(data: bytes) -> None:
    """Parse within PARSE_SECONDS or raise ValueError.

    Only a parser that reads by callback can be stopped, but its nodes are slow to give their text,
    so its tree is thrown away.
    """
    end = time.process_time() + PARSE_SECONDS
    Parser(_language()).parse(
        lambda offset, _point: data[offset : offset + _CHUNK_BYTES],
        progress_callback=lambda _offset, _has_error: time.process_time() > end,
    )


def _count_errors(facts: FileFacts, root: Node) -> None:
    stack = [root]
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            facts.error_nodes += 1
            line = node.start_point[0] + 1
            facts.error_line = min(line, facts.error_line or line)
        elif node.has_error:
            stack.extend(node.children)


def _count_lines(facts: FileFacts) -> None:
    for line in facts.source.text.split("\n"):
        stripped = line.strip()
        if stripped.startswith("#"):
            facts.comment_lines += 1
        elif stripped:
            facts.code_lines += 1


@dataclass(frozen=True)
class _Scope:
    """Where the walk is: names around it, the function that gets its calls, block depth."""

    prefix: str = ""
    owner: Type | None = None
    function: Function | None = None
    depth: int = 0

    def qualify(self, name: str) -> str:
        return f"{self.prefix}.{name}" if self.prefix else name


class _Walk:
    """One pass over a file."""

    def __init__(self, facts: FileFacts) -> None:
        self._facts = facts
        self._stack: list[tuple[Node, _Scope]] = []
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
        """Visit every named node in source order."""
        self._push(root.named_children, _Scope())
        while self._stack:
            node, scope = self._stack.pop()
            kind = node.type
            function = scope.function
            if kind in _BRANCHES and function is not None:
                function.cyclomatic += 1
            if kind in _NESTING:
                scope = replace(scope, depth=scope.depth + 1)
                if function is not None:
                    function.nesting = max(function.nesting, scope.depth)
            handler = self._handlers.get(kind)
            if handler is None or handler(node, scope):
                self._push(node.named_children, scope)

    def _push(self, nodes: list[Node], scope: _Scope) -> None:
        self._stack.extend((node, scope) for node in reversed(nodes))

    def _class(self, node: Node, scope: _Scope) -> bool:
        name = text_of(node.child_by_field_name("name"))
        body = node.child_by_field_name("body")
        bases, generics, modifiers = _bases(node)
        marks = [_decorator_text(mark) for mark in decorators(node)]
        found = Type(
            name=name,
            qualified=scope.qualify(name),
            kind=_type_kind(bases, marks),
            generics=generics,
            bases=bases,
            modifiers=modifiers,
            decorators=marks,
            doc=docstring(body) or comment_above(_outer(node)),
            span=_span(node),
        )
        self._facts.types.append(found)
        inner = _Scope(found.qualified, owner=found, function=scope.function)
        if body is not None:
            self._push(body.named_children, inner)
        superclasses = node.child_by_field_name("superclasses")
        if superclasses is not None:
            self._push(superclasses.named_children, scope)
        return False

    def _function(self, node: Node, scope: _Scope) -> bool:
        name = text_of(node.child_by_field_name("name"))
        body = node.child_by_field_name("body")
        marks = decorators(node)
        texts = [_decorator_text(mark) for mark in marks]
        params = parameters(node.child_by_field_name("parameters"))
        found = Function(
            name=name,
            qualified=scope.qualify(name),
            owner=scope.owner.qualified if scope.owner else None,
            kind=_function_kind(name, texts, scope.owner is not None),
            params=params,
            returns=flat(node.child_by_field_name("return_type")),
            modifiers=_modifiers(node, texts),
            decorators=texts,
            doc=docstring(body) or comment_above(_outer(node)),
            span=_span(node),
            locals={p.name: p.type for p in params if p.type},
        )
        self._facts.functions.append(found)
        for mark in marks:
            self._facts.endpoints.extend(read_route(mark, found, self._facts))
            if kind := worker_kind(mark):
                line = found.span.line
                entry = EntryPoint(kind=kind, target=found.qualified, line=line)
                self._facts.entry_points.append(entry)
        if body is not None:
            self._push(body.named_children, _Scope(found.qualified, function=found))
        declared = node.child_by_field_name("parameters")
        if declared is not None:
            self._push(declared.named_children, scope)
        return False

    def _import(self, node: Node, _scope: _Scope) -> bool:
        self._facts.imports.extend(read_imports(node))
        return False

    def _call(self, node: Node, scope: _Scope) -> bool:
        parts = call_parts(node)
        if parts is not None:
            call = Call(name=parts[0], receiver=parts[1], line=node.start_point[0] + 1)
            calls = self._facts.toplevel if scope.function is None else scope.function.calls
            calls.append(call)
            read_router(node, parts, self._facts)
        return True

    def _assignment(self, node: Node, scope: _Scope) -> bool:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        annotation = node.child_by_field_name("type")
        if left is None:
            return True
        made = _constructed(right)
        name = text_of(left)
        if left.type == "identifier":
            self._assign_name(node, scope, name, made)
            if scope.owner is not None:
                variable = Variable(
                    name=name,
                    type=flat(annotation),
                    default=flat(right),
                    doc=comment_above(_outer(node)),
                )
                scope.owner.fields.append(variable)
        elif name.startswith("self.") and scope.function is not None:
            self._assign_attribute(scope.function, name[5:], flat(annotation), made)
        return True

    def _assign_name(self, node: Node, scope: _Scope, name: str, made: str | None) -> None:
        right = node.child_by_field_name("right")
        if made and scope.function is not None:
            scope.function.locals.setdefault(name, made)
        elif made and scope.owner is None:
            self._facts.globals.setdefault(name, made)
        if right is not None and right.type == "lambda" and scope.function is None:
            self._facts.functions.append(
                Function(
                    name=name,
                    qualified=scope.qualify(name),
                    owner=scope.owner.qualified if scope.owner else None,
                    kind="lambda_var",
                    params=parameters(right.child_by_field_name("parameters")),
                    returns=None,
                    modifiers=[],
                    decorators=[],
                    doc=comment_above(_outer(node)),
                    span=_span(node),
                )
            )

    def _assign_attribute(
        self, function: Function, name: str, annotation: str | None, made: str | None
    ) -> None:
        owner = next((t for t in self._facts.types if t.qualified == function.owner), None)
        if owner is None or "." in name or any(known.name == name for known in owner.fields):
            return
        kind = annotation or made or function.locals.get(name)
        owner.fields.append(Variable(name=name, type=kind))

    def _raise(self, node: Node, scope: _Scope) -> bool:
        thrown = node.named_children[0] if node.named_child_count else None
        if thrown is not None and scope.function is not None:
            target = thrown.child_by_field_name("function") if thrown.type == "call" else thrown
            name = text_of(target)
            is_class = name.rsplit(".", 1)[-1][:1].isupper()
            if is_class and name not in scope.function.throws:
                scope.function.throws.append(name)
        return True

    def _string(self, node: Node, scope: _Scope) -> bool:
        value = string_value(node) or "".join(
            text_of(child) for child in node.named_children if child.type == "string_content"
        )
        target = scope.function.qualified if scope.function else ""
        line = node.start_point[0] + 1
        for table, operation in table_uses(value):
            use = SqlUse(table=table, operation=operation, function=target, line=line)
            self._facts.sql.append(use)
        return node.type == "string"

    def _if(self, node: Node, scope: _Scope) -> bool:
        condition = node.child_by_field_name("condition")
        is_top = scope.function is None and scope.owner is None
        if is_top and condition is not None and _MAIN.search(text_of(condition)):
            line = node.start_point[0] + 1
            self._facts.entry_points.append(EntryPoint(kind="main", target="", line=line))
        return True

    def _alias(self, node: Node, scope: _Scope) -> bool:
        left = flat(node.child_by_field_name("left")) or ""
        name = left.split("[")[0]
        self._facts.types.append(
            Type(
                name=name,
                qualified=scope.qualify(name),
                kind="alias",
                generics=[],
                bases=[flat(node.child_by_field_name("right")) or ""],
                modifiers=[],
                decorators=[],
                doc=comment_above(node),
                span=_span(node),
            )
        )
        return False


def _outer(node: Node) -> Node:
    parent = node.parent
    wraps = ("decorated_definition", "expression_statement")
    return parent if parent is not None and parent.type in wraps else node


def _span(node: Node) -> Span:
    outer = _outer(node)
    return Span(outer.start_point[0] + 1, outer.end_point[0] + 1)


def _decorator_text(mark: Node) -> str:
    return (flat(mark) or "").removeprefix("@").strip()


def _bases(node: Node) -> tuple[list[str], list[str], list[str]]:
    bases: list[str] = []
    generics: list[str] = []
    modifiers: list[str] = []
    declared = node.child_by_field_name("superclasses")
    for child in declared.named_children if declared is not None else ():
        text = flat(child) or ""
        if child.type == "keyword_argument":
            if text.endswith("ABCMeta"):
                modifiers.append("abstract")
            continue
        bases.append(text)
        if match := re.fullmatch(r"(?:\w+\.)*(?:Generic|Protocol)\[(.+)\]", text):
            generics.extend(part.strip() for part in match.group(1).split(","))
        if text.rsplit(".", 1)[-1] == "ABC":
            modifiers.append("abstract")
    listed = node.child_by_field_name("type_parameters")
    if listed is not None:
        generics.extend(flat(child) or "" for child in listed.named_children)
    return bases, generics, modifiers


def _type_kind(bases: list[str], marks: list[str]) -> str:
    names = {base.split("[")[0].rsplit(".", 1)[-1] for base in bases}
    if names & _ENUMS:
        return "enum"
    if "Protocol" in names:
        return "interface"
    is_record = any(mark.split("(")[0].rsplit(".", 1)[-1] == "dataclass" for mark in marks)
    return "record" if is_record or names & _RECORDS else "class"


def _function_kind(name: str, marks: list[str], in_class: bool) -> str:
    if not in_class:
        return "function"
    if name == "__init__":
        return "constructor"
    last = {mark.split("(")[0].rsplit(".", 1)[-1] for mark in marks}
    return "accessor" if last & {"property", "cached_property", "setter", "deleter"} else "method"


def _modifiers(node: Node, marks: list[str]) -> list[str]:
    last = {mark.split("(")[0].rsplit(".", 1)[-1] for mark in marks}
    found = ["async"] if node.children and node.children[0].type == "async" else []
    for mark, word in (
        ("staticmethod", "static"),
        ("classmethod", "class"),
        ("abstractmethod", "abstract"),
        ("overload", "overload"),
    ):
        if mark in last:
            found.append(word)
    return found


def _constructed(right: Node | None) -> str | None:
    """Return the class name of a constructor call, judged by its capital letter."""
    parts = call_parts(right) if right is not None and right.type == "call" else None
    if parts is None or not parts[0][:1].isupper() or parts[1] == "?":
        return None
    return f"{parts[1]}.{parts[0]}" if parts[1] else parts[0]
