"""Rust: structs, enums, traits, impls, modules; paths through crate, self and super."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from tree_sitter import Node

from jobs.parsing.code2des import sweep
from jobs.parsing.code2des.dialect import Dialect, Scope, arity, receiver_text
from jobs.parsing.code2des.facts import (
    Call,
    EntryPoint,
    FileFacts,
    Function,
    Import,
    Variable,
)
from jobs.parsing.code2des.nodes import child_of, children_of, field_of, flat, line_of, text_of
from jobs.parsing.code2des.resolving import FolderResolver, Target

__all__ = ["Resolver", "analyse", "grammars"]

QUERY = """
(use_declaration) @import

(mod_item !body) @import

(mod_item body: (_)) @scope

(struct_item) @type.struct

(union_item) @type.union

(enum_item) @type.enum

(trait_item) @type.trait

(type_item) @type.alias

(impl_item) @scope.body

(function_item) @function.function

(function_signature_item) @function.function

(field_declaration) @field

(enum_variant) @field

(let_declaration) @local

(call_expression) @call

[(if_expression) (for_expression) (while_expression) (loop_expression) (match_arm)] @branch

(binary_expression operator: ["&&" "||"]) @branch

[(if_expression) (for_expression) (while_expression) (loop_expression)
 (match_expression)] @nest

[(string_literal) (raw_string_literal)] @string

[(line_comment) (block_comment)] @comment
"""
_ATTRIBUTES = frozenset({"attribute_item", "line_comment", "block_comment"})


class Rust(Dialect):
    """How Rust is read."""

    package = "tree_sitter_rust"
    query = QUERY

    def scope_name(self, node: Node) -> str:
        """Return the module, or the type that an impl is for."""
        kind = node.child_by_field_name("type")
        return (flat(kind) or "").split("<")[0] if kind is not None else self.name(node)

    def outer(self, node: Node) -> Node:
        """Return the first of the attributes above a definition, else the definition."""
        first, sibling = node, node.prev_named_sibling
        while sibling is not None and sibling.type == "attribute_item":
            first, sibling = sibling, sibling.prev_named_sibling
        return first

    def bases(self, node: Node) -> list[str]:
        """Return the traits that a trait asks for, or what an alias stands for."""
        if node.type == "type_item":
            return [flat(node.child_by_field_name("type")) or ""]
        return [flat(part) or "" for part in children_of(field_of(node, "bounds"))]

    def modifiers(self, node: Node) -> list[str]:
        """Return pub, async, unsafe and the like."""
        found = [flat(part) or "" for part in children_of(node, "visibility_modifier")]
        words = child_of(node, "function_modifiers")
        return found + [child.type for child in (words.children if words is not None else ())]

    def decorators(self, node: Node) -> list[str]:
        """Return the attributes above a definition."""
        found = []
        sibling = node.prev_named_sibling
        while sibling is not None and sibling.type in _ATTRIBUTES:
            if sibling.type == "attribute_item":
                found.append((flat(sibling) or "").strip("#![]"))
            sibling = sibling.prev_named_sibling
        return list(reversed(found))

    def param(self, node: Node) -> Variable | None:
        """Return one parameter; `self` counts as the receiver."""
        if node.type == "self_parameter":
            return Variable(name="self")
        pattern = node.child_by_field_name("pattern")
        if pattern is None:
            return None
        return Variable(name=flat(pattern) or "", type=flat(node.child_by_field_name("type")))

    def fields(self, node: Node) -> list[Variable]:
        """Return fields of a struct and variants of an enum."""
        if node.type == "enum_variant":
            return [Variable(name=self.name(node), default=flat(field_of(node, "body")))]
        return [Variable(name=self.name(node), type=flat(field_of(node, "type")))]

    def locals(self, node: Node) -> list[tuple[str, str]]:
        """Return variables with a declared type or that of `Type::new()`."""
        kind = flat(node.child_by_field_name("type"))
        value = node.child_by_field_name("value")
        path = flat(field_of(value, "function", "path"))
        made = kind or flat(field_of(value, "name")) or path
        name = text_of(node.child_by_field_name("pattern"))
        is_class = bool(made) and (made or "").lstrip("&")[:1].isupper()
        return [(name, made or "")] if is_class else []

    def imports(self, node: Node) -> list[Import]:
        """Return one import for each name of a use; `mod x;` is one too."""
        line = line_of(node)
        if node.type == "mod_item":
            name = self.name(node)
            return [Import(module=f"self::{name}", level=0, name=None, alias=name, line=line)]
        found: list[Import] = []
        stack = [(node.child_by_field_name("argument"), "")]
        while stack:
            part, prefix = stack.pop()
            if part is None:
                continue
            if part.type == "scoped_use_list":
                path = text_of(part.child_by_field_name("path"))
                inner = f"{prefix}::{path}" if prefix and path else path or prefix
                listed = children_of(part.child_by_field_name("list"))
                stack.extend((child, inner) for child in reversed(listed))
            elif part.type == "use_list":
                stack.extend((child, prefix) for child in reversed(children_of(part)))
            else:
                found.append(_use(part, prefix, line))
        return found

    def call(self, node: Node) -> Call | None:
        """Return a call; the path before `::` is the receiver."""
        target = node.child_by_field_name("function")
        if target is not None and target.type == "generic_function":
            target = target.child_by_field_name("function")
        if target is not None and target.type == "scoped_identifier":
            path = text_of(target.child_by_field_name("path")).split("<")[0].replace("::", ".")
            name = text_of(target.child_by_field_name("name"))
            return Call(name=name, receiver=path or None, line=line_of(node))
        if target is not None and target.type == "field_expression":
            value = target.child_by_field_name("value")
            if value is not None and value.type == "field_expression":
                return self._chained(node, target, value)
            name = text_of(target.child_by_field_name("field"))
            receiver = receiver_text(value)
            return Call(name=name, receiver=receiver, line=line_of(node), arity=arity(node))
        if target is None or target.type != "identifier":
            return None
        return Call(name=text_of(target), receiver=None, line=line_of(node), arity=arity(node))

    @staticmethod
    def _chained(node: Node, target: Node, value: Node) -> Call:
        name = text_of(target.child_by_field_name("field"))
        written = text_of(value)
        receiver = written if re.fullmatch(r"[\w.]+", written) else "?"
        return Call(name=name, receiver=receiver, line=line_of(node), arity=arity(node))

    def text(self, node: Node) -> str | None:
        """Return the value of a string."""
        return text_of(node).lstrip("r#").strip('"#')

    def on_function(self, node: Node, found: Function, scope: Scope, facts: FileFacts) -> None:
        """Note the main function."""
        del node
        if found.name == "main" and not scope.prefix:
            line = found.span.line
            facts.entry_points.append(EntryPoint(kind="main", target=found.qualified, line=line))


def _use(part: Node, prefix: str, line: int) -> Import:
    alias = text_of(part.child_by_field_name("alias"))
    path = text_of(part.child_by_field_name("path")) if part.type == "use_as_clause" else ""
    written = path or text_of(part)
    is_wild = part.type == "use_wildcard"
    full = f"{prefix}::{written}" if prefix else written
    module = full.removesuffix("::*").removesuffix("::self") if is_wild or alias == "" else full
    name = "*" if is_wild else None
    last = "*" if is_wild else alias or module.rpartition("::")[2]
    return Import(module=module.removesuffix("::self"), level=0, name=name, alias=last, line=line)


analyse, grammars = sweep.reading(Rust)


class Resolver(FolderResolver):
    """Modules are files or folders below the crate's root."""

    def __init__(self, files: Sequence[FileFacts]) -> None:
        self._paths = frozenset(facts.source.path for facts in files)
        self._by_module: dict[str, str] = {}
        for path in sorted(self._paths):
            self._by_module.setdefault(self._module(path), path)

    @staticmethod
    def _module(path: str) -> str:
        bare = path.removesuffix(".rs")
        for ending in ("/mod", "/lib", "/main"):
            bare = bare.removesuffix(ending)
        return bare

    def module_name(self, path: str) -> str:
        """Return the path of a module with `::`."""
        return self._module(path).replace("/", "::")

    def resolve(self, entry: Import, path: str) -> Target:
        """Return the file of a path, with the names left to find in it."""
        parts = entry.module.split("::")
        base = self._base(parts[0], path)
        if base is None:
            is_std = parts[0] in ("std", "core", "alloc")
            return Target(external=parts[0], ecosystem="rust-stdlib" if is_std else "crates")
        while len(parts) > 1 and parts[1] == "super":
            base, parts = posixpath.dirname(base), parts[1:]
        rest = parts[1:]
        for length in range(len(rest), -1, -1):
            found = self._by_module.get("/".join(filter(None, [base, *rest[:length]])))
            if found is not None:
                return Target(path=found, member=".".join(rest[length:]) or None)
        return Target(external=entry.module, ecosystem="unresolved")

    def _base(self, first: str, path: str) -> str | None:
        if first == "crate":
            folder = posixpath.dirname(path)
            while folder:
                if any(f"{folder}/{name}" in self._paths for name in ("lib.rs", "main.rs")):
                    return folder
                folder = posixpath.dirname(folder)
            return ""
        own = self._module(path)
        if first == "self":
            return own
        if first == "super":
            return posixpath.dirname(own)
        beside = posixpath.join(own, first) if own in self._by_module else first
        return posixpath.dirname(beside) if beside in self._by_module else None
