"""Ruby: classes, modules, methods; routes of Rails and Sinatra; tables of schema.rb."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from tree_sitter import Node

from jobs.parsing.code2des import sweep
from jobs.parsing.code2des.dialect import Dialect, Scope
from jobs.parsing.code2des.facts import Call, FileFacts, Import, Variable
from jobs.parsing.code2des.nodes import child_of, children_of, field_of, flat, line_of, text_of
from jobs.parsing.code2des.resolving import FolderResolver, Target
from jobs.parsing.code2des.ruby_web import read_routes, read_schema

__all__ = ["Resolver", "analyse", "grammars"]

QUERY = """
(call method: (identifier) @_m (#any-of? @_m "require" "require_relative" "load")) @import

(class) @type.class

(module) @type.module

(singleton_class) @scope.body

(method) @function.method

(singleton_method) @function.method

(assignment) @local

(call method: (identifier) @_attr (#match? @_attr "^attr_(accessor|reader|writer)$")) @field

(call) @call

[(if) (elsif) (unless) (while) (until) (for) (when) (rescue) (if_modifier) (unless_modifier)
 (while_modifier) (until_modifier) (rescue_modifier) (conditional) (in_clause)] @branch

(binary operator: ["&&" "||" "and" "or"]) @branch

[(if) (unless) (while) (until) (for) (case) (begin)] @nest

[(string) (heredoc_body)] @string

(comment) @comment
"""


class Ruby(Dialect):
    """How Ruby is read."""

    package = "tree_sitter_ruby"
    query = QUERY

    def name(self, node: Node) -> str:
        """Return a name; `A::B` is `A.B`."""
        return text_of(node.child_by_field_name("name")).replace("::", ".")

    def scope_name(self, node: Node) -> str:
        """`class << self` adds nothing to names."""
        del node
        return ""

    def kind(self, node: Node, kind: str, scope: Scope) -> str:
        """Return constructor for initialize, function outside of classes."""
        if self.name(node) == "initialize":
            return "constructor"
        return kind if scope.owner_name else "function"

    def bases(self, node: Node) -> list[str]:
        """Return superclass and included modules."""
        found = [flat(c) or "" for c in children_of(child_of(node, "superclass"))]
        for call in children_of(field_of(node, "body"), "call"):
            if text_of(call.child_by_field_name("method")) in ("include", "prepend", "extend"):
                listed = children_of(field_of(call, "arguments"), "constant", "scope_resolution")
                found += [text_of(part) for part in listed]
        return [base.replace("::", ".") for base in found]

    def modifiers(self, node: Node) -> list[str]:
        """Return static for a method of the class itself."""
        return ["static"] if node.type == "singleton_method" else []

    def param(self, node: Node) -> Variable | None:
        """Return one parameter; splats carry their stars."""
        name = text_of(node.child_by_field_name("name")) or text_of(node)
        stars = {"splat_parameter": "*", "hash_splat_parameter": "**", "block_parameter": "&"}
        default = flat(node.child_by_field_name("value"))
        if node.type == "keyword_parameter":
            return Variable(name=f"{name}:", default=default)
        return Variable(name=stars.get(node.type, "") + name.lstrip("*&"), default=default)

    def returns(self, node: Node) -> str | None:
        """Ruby declares no type."""
        del node
        return None

    def fields(self, node: Node) -> list[Variable]:
        """Return the attributes that `attr_accessor` and kin declare."""
        listed = children_of(field_of(node, "arguments"), "simple_symbol")
        return [Variable(name=text_of(part).lstrip(":")) for part in listed]

    def locals(self, node: Node) -> list[tuple[str, str]]:
        """Return a variable with the class of its `X.new`."""
        right = node.child_by_field_name("right")
        if right is None or text_of(right.child_by_field_name("method")) != "new":
            return []
        made = text_of(right.child_by_field_name("receiver")).replace("::", ".")
        return [(text_of(node.child_by_field_name("left")), made)]

    def imports(self, node: Node) -> list[Import]:
        """Return a require."""
        path = child_of(field_of(node, "arguments"), "string")
        word = text_of(node.child_by_field_name("method"))
        name = text_of(child_of(path, "string_content"))
        level = 1 if word == "require_relative" or name.startswith(".") else 0
        if not name:
            return []
        return [Import(module=name, level=level, name=None, alias=name, line=line_of(node))]

    def call(self, node: Node) -> Call | None:
        """Return a call; `X.new` makes an X."""
        name = text_of(node.child_by_field_name("method"))
        receiver = node.child_by_field_name("receiver")
        line = line_of(node)
        if name in ("require", "require_relative", "load", "raise"):
            return None
        if receiver is None:
            return Call(name=name, receiver=None, line=line)
        written = text_of(receiver).replace("::", ".")
        if name == "new" and re.fullmatch(r"[A-Z][\w.]*", written):
            return Call(name=written, receiver=None, line=line)
        plain = written if re.fullmatch(r"@{0,2}[\w.]+", written) else "?"
        return Call(name=name, receiver=plain, line=line)

    def finish(self, facts: FileFacts) -> None:
        """Note what only makes sense over the whole file."""
        for function in facts.functions:
            for match in _RAISE.finditer(_body(facts, function.span.line, function.span.end)):
                name = match.group(1).replace("::", ".")
                if name not in function.throws:
                    function.throws.append(name)
        read_routes(facts)
        read_schema(facts)


_RAISE = re.compile(r"^\s*raise\s+([A-Z][\w:]*)", re.MULTILINE)


def _body(facts: FileFacts, first: int, last: int) -> str:
    return "\n".join(facts.source.text.split("\n")[first - 1 : last])


analyse, grammars = sweep.reading(Ruby)


class Resolver(FolderResolver):
    """`require_relative` beside the file, `require` below lib and app; constants load by name."""

    def __init__(self, files: Sequence[FileFacts]) -> None:
        self._paths = frozenset(facts.source.path for facts in files)
        self._constants: dict[str, str] = {}
        for facts in files:
            for kind in facts.types:
                self._constants.setdefault(kind.qualified, facts.source.path)

    def module_name(self, path: str) -> str:
        """Return the path without its ending."""
        return path.removesuffix(".rb")

    def resolve(self, entry: Import, path: str) -> Target:
        """Return the required file."""
        folder = posixpath.dirname(path)
        bases = [folder] if entry.level else ["lib", "app", ""]
        for base in bases:
            name = posixpath.normpath(posixpath.join(base, entry.module))
            for candidate in (name, f"{name}.rb"):
                if candidate in self._paths:
                    return Target(path=candidate)
        ends = [p for p in self._paths if f"/{p}".endswith(f"/lib/{entry.module}.rb")]
        if len(ends) == 1:
            return Target(path=ends[0])
        if entry.level:
            return Target(external=entry.module, ecosystem="unresolved")
        return Target(external=entry.module.split("/")[0], ecosystem="rubygems")

    def implicit(self, name: str, path: str) -> Target | None:
        """Return the file of a constant: Rails loads it by its name."""
        parts = name.split(".")
        for length in range(len(parts), 0, -1):
            file = self._constants.get(".".join(parts[:length]))
            if file is not None and file != path:
                return Target(path=file, member=name, confidence="likely")
        return None
