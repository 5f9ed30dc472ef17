"""C and C++: only definitions with a body are functions; includes are resolved by path.

Names hide inside declarators and are dug out of them. When macros break the syntax, the file is
read once more with its preprocessor lines blanked, and the better reading counts.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from jobs.parsing.code2des.dialect import Dialect, Scope
from jobs.parsing.code2des.facts import EntryPoint, FileFacts, Function, Import, Variable
from jobs.parsing.code2des.nodes import child_of, children_of, field_of, flat, line_of, text_of

C_QUERY = """
(preproc_include) @import

(function_definition) @function.function

(preproc_function_def) @function.macro

(struct_specifier name: (_) body: (_)) @type.struct

(union_specifier name: (_) body: (_)) @type.union

(enum_specifier name: (_) body: (_)) @type.enum

(type_definition type: (struct_specifier !name body: (_))) @type.struct

(type_definition type: (union_specifier !name body: (_))) @type.union

(type_definition type: (enum_specifier !name body: (_))) @type.enum

(field_declaration) @field

(enumerator) @field

(declaration) @local

(call_expression) @call

[(if_statement) (for_statement) (while_statement) (do_statement) (conditional_expression)] @branch

(case_statement "case") @branch

(binary_expression operator: ["&&" "||"]) @branch

[(if_statement) (for_statement) (while_statement) (do_statement) (switch_statement)] @nest

(string_literal) @string

(comment) @comment
"""
CPP_QUERY = """
(namespace_definition name: (_)) @scope

(class_specifier name: (_) body: (_)) @type.class

(alias_declaration) @type.alias

(for_range_loop) @branch

(for_range_loop) @nest

(catch_clause) @branch

(try_statement) @nest

(throw_statement) @throw

(new_expression) @call
"""
#: what a parser that macros lead astray takes for names of functions
_KEYWORDS = frozenset({"if", "for", "while", "switch", "return", "else", "do", "sizeof", "catch"})
_WRAPPED = frozenset(
    ("pointer_declarator", "reference_declarator", "parenthesized_declarator", "array_declarator")
)
_MACRO = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_KEPT = re.compile(r"^[ \t]*#[ \t]*include\b")


class CFamily(Dialect):
    """How C and C++ are read."""

    kept = ("function.macro",)

    def __init__(self, package: str, query: str) -> None:
        self.package, self.query = package, query

    def retry(self, text: str) -> str | None:
        """Return the text with preprocessor lines blanked to the same length."""

        def blank(match: re.Match[str]) -> str:
            found = match.group(0)
            return found if _KEPT.match(found) else re.sub(r"[^\n]", " ", found)

        return _MACRO.sub(blank, text)

    def outer(self, node: Node) -> Node:
        """Return a template with its definition; a linkage block does not belong to one."""
        parent = node.parent
        is_template = parent is not None and parent.type == "template_declaration"
        return parent if parent is not None and is_template else node

    def name(self, node: Node) -> str:
        """Return the last part of the name in a declarator."""
        return self._path(node)[-1]

    def _path(self, node: Node) -> list[str]:
        if node.type == "type_definition":
            return [text_of(node.child_by_field_name("declarator"))]
        named = node.child_by_field_name("name")
        if named is not None and node.type != "qualified_identifier":
            return [text_of(named)]
        found = node.child_by_field_name("declarator")
        while found is not None and found.type in {*_WRAPPED, "function_declarator"}:
            found = found.child_by_field_name("declarator") or child_of(
                found, "function_declarator", *_WRAPPED, "identifier", "field_identifier"
            )
        parts = []
        while found is not None and found.type == "qualified_identifier":
            parts.append(text_of(found.child_by_field_name("scope")).split("<")[0])
            found = found.child_by_field_name("name")
        name = flat(found) or ""
        if found is not None and found.type == "operator_cast":
            name = f"operator {flat(found.child_by_field_name('type'))}"
        return [part for part in parts if part] + ["" if name in _KEYWORDS else name]

    def owner(self, node: Node) -> str | None:
        """Return the class of a method that is defined outside of it."""
        if node.type != "function_definition":
            return None
        return ".".join(self._path(node)[:-1]) or None

    def kind(self, node: Node, kind: str, scope: Scope) -> str:
        """Return macro, constructor or method; a function in a namespace is a function."""
        if kind == "macro":
            return kind
        owner = scope.owner_name
        if owner is None:
            return "function"
        return "constructor" if owner.rpartition(".")[2] == self.name(node) else "method"

    def bases(self, node: Node) -> list[str]:
        """Return the base classes without their access words."""
        if node.type == "alias_declaration":
            return [flat(node.child_by_field_name("type")) or ""]
        listed = children_of(child_of(node, "base_class_clause"))
        return [flat(c) or "" for c in listed if c.type != "access_specifier"]

    def modifiers(self, node: Node) -> list[str]:
        """Return static, inline, virtual, const and the like."""
        words = children_of(node, "storage_class_specifier", "type_qualifier", "virtual")
        words += children_of(self._function(node), "type_qualifier", "virtual_specifier")
        return list(dict.fromkeys(text_of(word) for word in words))

    def _function(self, node: Node) -> Node | None:
        """Return the innermost function declarator: a function may give back a function."""
        found, last = node.child_by_field_name("declarator"), None
        while found is not None:
            last = found if found.type == "function_declarator" else last
            found = found.child_by_field_name("declarator") or child_of(
                found, "function_declarator", *_WRAPPED
            )
        return last

    def params(self, node: Node) -> list[Variable]:
        """Return parameters with the stars of their declarators in the type."""
        if node.type == "preproc_function_def":
            names = children_of(node.child_by_field_name("parameters"), "identifier")
            return [Variable(name=text_of(name)) for name in names]
        found = []
        listed = field_of(self._function(node), "parameters")
        for child in listed.children if listed is not None else ():
            if child.type == "..." or child.type == "variadic_parameter":
                found.append(Variable(name="..."))
            elif child.type.endswith("parameter_declaration"):
                found.append(self._declared(child))
        return [] if [v.type for v in found] == ["void"] else found

    def _declared(self, node: Node) -> Variable:
        declarator = node.child_by_field_name("declarator")
        head = text_of(node)
        name = self._path(node)[-1] if declarator is not None else ""
        if declarator is not None:
            end = declarator.start_byte - node.start_byte
            written = head.encode()[:end].decode("utf-8", "replace")
            stars = "".join(c for c in text_of(declarator).split("(")[0] if c in "*&")
            head = f"{written.strip()} {stars}".strip()
        default = flat(node.child_by_field_name("default_value"))
        return Variable(name=name, type=" ".join(head.split()), default=default)

    def returns(self, node: Node) -> str | None:
        """Return the type of the result; nothing for void and macros."""
        kind = flat(node.child_by_field_name("type"))
        declarator = node.child_by_field_name("declarator")
        stars = ""
        while declarator is not None and declarator.type in _WRAPPED:
            stars += "*" if declarator.type == "pointer_declarator" else "&"
            declarator = declarator.child_by_field_name("declarator") or child_of(
                declarator, "function_declarator"
            )
        return None if kind is None or (kind == "void" and not stars) else kind + stars

    def fields(self, node: Node) -> list[Variable]:
        """Return the members of a struct, or a constant; prototypes are none."""
        if node.type == "enumerator":
            default = flat(node.child_by_field_name("value"))
            return [Variable(name=text_of(node.child_by_field_name("name")), default=default)]
        found = []
        for part in node.children_by_field_name("declarator"):
            inner: Node | None = part
            while inner is not None and inner.type in _WRAPPED:
                inner = inner.child_by_field_name("declarator")
            if inner is not None and inner.type == "field_identifier":
                stars = "*" * text_of(part).count("*")
                kind = (flat(node.child_by_field_name("type")) or "") + stars
                found.append(Variable(name=text_of(inner), type=kind))
        return found

    def locals(self, node: Node) -> list[tuple[str, str]]:
        """Return local variables with their types."""
        kind = flat(node.child_by_field_name("type"))
        found = []
        for part in node.children_by_field_name("declarator") if kind else ():
            inner: Node | None = part
            while inner is not None and inner.type in {*_WRAPPED, "init_declarator"}:
                inner = inner.child_by_field_name("declarator")
            if inner is not None and inner.type == "identifier":
                found.append((text_of(inner), kind or ""))
        return found

    def thrown(self, node: Node) -> str | None:
        """Return the class of what is thrown."""
        return flat(field_of(child_of(node, "call_expression"), "function"))

    def imports(self, node: Node) -> list[Import]:
        """Return an include; its name is `system` in angle brackets."""
        path = node.child_by_field_name("path")
        written = text_of(path)
        name = "system" if written.startswith("<") else None
        header = written.strip('<>"')
        if path is None or path.type == "identifier":
            return []
        return [
            Import(
                module=header, level=0, name=name, alias=header, line=line_of(node), kind="includes"
            )
        ]

    def on_function(self, node: Node, found: Function, scope: Scope, facts: FileFacts) -> None:
        """Note the main function."""
        del node, scope
        if found.name in ("main", "wmain", "WinMain", "wWinMain") and found.owner is None:
            line = found.span.line
            facts.entry_points.append(EntryPoint(kind="main", target=found.qualified, line=line))
