"""PHP: classes, functions, namespaces; routes of Laravel and Slim."""

from __future__ import annotations

import re

from tree_sitter import Node

from jobs.parsing.code2des import sweep
from jobs.parsing.code2des.dialect import Dialect, Scope
from jobs.parsing.code2des.facts import (
    Call,
    Endpoint,
    FileFacts,
    Function,
    Import,
    Render,
    Variable,
)
from jobs.parsing.code2des.nodes import (
    above,
    child_of,
    children_of,
    field_of,
    flat,
    line_of,
    literal,
    text_of,
)
from jobs.parsing.code2des.packages import PackageResolver

__all__ = ["Resolver", "analyse", "grammars"]

QUERY = """
(namespace_definition) @package

(namespace_use_clause) @import

(class_declaration) @type.class

(interface_declaration) @type.interface

(trait_declaration) @type.trait

(enum_declaration) @type.enum

(function_definition) @function.function

(method_declaration) @function.method

(property_declaration) @field

(const_declaration) @field

(enum_case) @field

(assignment_expression left: (variable_name) right: (object_creation_expression)) @local

[(member_call_expression) (scoped_call_expression) (function_call_expression)
 (nullsafe_member_call_expression) (object_creation_expression)] @call

(throw_expression) @throw

[(if_statement) (else_if_clause) (for_statement) (foreach_statement) (while_statement)
 (do_statement) (catch_clause) (conditional_expression) (case_statement)
 (match_conditional_expression)] @branch

(binary_expression operator: ["&&" "||" "??" "and" "or"]) @branch

[(if_statement) (for_statement) (foreach_statement) (while_statement) (do_statement)
 (try_statement) (switch_statement)] @nest

[(string) (encapsed_string) (heredoc)] @string

(named_type (name) @word)

(object_creation_expression (name) @word)

(base_clause (name) @word)

(class_interface_clause (name) @word)

(scoped_call_expression scope: (name) @word)

(comment) @comment
"""
_VERBS = frozenset({"get", "post", "put", "delete", "patch", "options", "any"})
_ACTION = re.compile(r"([\w\\]+)(?:::class)?\s*(?:,\s*|@)['\"]?(\w+)['\"]?")
_SLIM = frozenset({"$app", "$group", "$router", "$this->app"})


def _dotted(text: str) -> str:
    return text.strip("\\").replace("\\", ".")


class Php(Dialect):
    """How PHP is read."""

    package = "tree_sitter_php"
    function = "language_php"
    query = QUERY

    def package_name(self, node: Node) -> str:
        """Return the namespace with dots."""
        return _dotted(self.name(node))

    def imports(self, node: Node) -> list[Import]:
        """Return one name of a use; those of a group carry its prefix."""
        path = child_of(node, "qualified_name", "name", "namespace_name")
        group = next((n for n in above(node) if n.type == "namespace_use_declaration"), None)
        prefix = child_of(group, "namespace_name")
        written = _dotted(f"{text_of(prefix)}\\{text_of(path)}" if prefix else text_of(path))
        alias = text_of(node.child_by_field_name("alias")) or written.rpartition(".")[2]
        return [Import(module=written, level=0, name=None, alias=alias, line=line_of(node))]

    def bases(self, node: Node) -> list[str]:
        """Return superclass, interfaces and traits."""
        parts = children_of(node, "base_clause", "class_interface_clause")
        uses = children_of(field_of(node, "body"), "use_declaration")
        return [_dotted(flat(c) or "") for part in [*parts, *uses] for c in children_of(part)]

    def modifiers(self, node: Node) -> list[str]:
        """Return visibility, static, abstract, final."""
        return [text_of(c) for c in node.named_children if c.type.endswith("_modifier")]

    def kind(self, node: Node, kind: str, scope: Scope) -> str:
        """Return constructor for __construct."""
        del scope
        return "constructor" if self.name(node) == "__construct" else kind

    def param(self, node: Node) -> Variable | None:
        """Return one parameter."""
        name = node.child_by_field_name("name")
        if name is None:
            return None
        kind = flat(field_of(node, "type"))
        mark = "..." if node.type == "variadic_parameter" else ""
        default = flat(field_of(node, "default_value"))
        return Variable(name=mark + text_of(name), type=kind, default=default)

    def fields(self, node: Node) -> list[Variable]:
        """Return properties, constants and cases."""
        if node.type == "enum_case":
            return [Variable(name=self.name(node), default=flat(field_of(node, "value")))]
        kind = flat(field_of(node, "type"))
        found = []
        for part in children_of(node, "property_element", "const_element"):
            name = field_of(part, "name") or child_of(part, "name", "variable_name")
            value = field_of(part, "default_value")
            found.append(Variable(name=text_of(name), type=kind, default=flat(value)))
        return found

    def locals(self, node: Node) -> list[tuple[str, str]]:
        """Return a variable with the class of its `new`."""
        made = child_of(node.child_by_field_name("right"), "name", "qualified_name")
        return [(text_of(node.child_by_field_name("left")), _dotted(text_of(made)))] if made else []

    def call(self, node: Node) -> Call | None:
        """Return a call; `$this->x` is written `$this.x`."""
        line = line_of(node)
        if node.type == "object_creation_expression":
            made = child_of(node, "name", "qualified_name")
            return Call(name=_dotted(text_of(made)), receiver=None, line=line) if made else None
        if node.type == "function_call_expression":
            target = node.child_by_field_name("function")
            is_name = target is not None and target.type in ("name", "qualified_name")
            name = _dotted(text_of(target))
            return Call(name=name, receiver=None, line=line) if is_name else None
        written = text_of(field_of(node, "object") or field_of(node, "scope"))
        receiver = written.replace("->", ".").strip("\\").replace("\\", ".")
        receiver = receiver if re.fullmatch(r"\$?[\w.]+", receiver) else "?"
        return Call(name=text_of(field_of(node, "name")), receiver=receiver, line=line)

    def thrown(self, node: Node) -> str | None:
        """Return the class of what is thrown."""
        made = child_of(node, "object_creation_expression")
        return _dotted(text_of(child_of(made, "name", "qualified_name"))) or None

    def on_function(self, node: Node, found: Function, scope: Scope, facts: FileFacts) -> None:
        """Note the properties that a constructor declares."""
        del found, facts
        listed = children_of(field_of(node, "parameters"), "property_promotion_parameter")
        if scope.owner is not None:
            scope.owner.fields.extend(v for p in listed if (v := self.param(p)) is not None)

    def on_call(self, node: Node, call: Call, scope: Scope, facts: FileFacts) -> None:
        """Note routes of Laravel and Slim with the prefixes of the groups around them."""
        receiver = call.receiver or ""
        if call.name == "view" and not receiver and scope.function is not None:
            first = next(iter(children_of(field_of(node, "arguments"), "argument")), None)
            template = literal(child_of(first, "string", "encapsed_string"))
            if template:
                render = Render(template=template, function=scope.function.qualified)
                facts.renders.append(render)
        is_laravel = receiver in ("Route", "?") and _is_route(node)
        if call.name not in _VERBS or not (is_laravel or receiver.replace(".", "->") in _SLIM):
            return
        arguments = children_of(field_of(node, "arguments"), "argument")
        path = literal(arguments[0].named_children[0]) if arguments else None
        if path is None or len(arguments) < 2:
            return
        match = _ACTION.search(text_of(arguments[1]))
        handler = f"{_dotted(match.group(1))}.{match.group(2)}" if match else ""
        parts = [*_prefixes(node), path]
        full = "/" + "/".join(part.strip("/") for part in parts if part.strip("/"))
        facts.endpoints.append(
            Endpoint(
                method=call.name.upper(),
                path=full,
                handler=handler or (scope.function.qualified if scope.function else ""),
                framework="laravel" if is_laravel else "slim",
                router="",
                line=line_of(node),
            )
        )


def _is_route(node: Node) -> bool:
    return re.match(r"\\?(?:\w+\\)*Route::", text_of(node)) is not None


def _prefixes(node: Node) -> list[str]:
    """Return the prefixes of the groups around a route, the outermost first."""
    found = []
    for around in above(node):
        if around.type not in ("member_call_expression", "scoped_call_expression"):
            continue
        if text_of(around.child_by_field_name("name")) != "group":
            continue
        head = text_of(field_of(around, "object"))
        found += re.findall(r"prefix\(\s*['\"]([^'\"]*)['\"]", head)
        first = next(iter(children_of(field_of(around, "arguments"), "argument")), None)
        found += re.findall(r"^['\"]([^'\"]*)['\"]$", text_of(first))
        if text_of(first).startswith("["):
            found += re.findall(r"['\"]prefix['\"]\s*=>\s*['\"]([^'\"]*)['\"]", text_of(first))
    return list(reversed(found))


analyse, grammars = sweep.reading(Php)


class Resolver(PackageResolver):
    """PHP names: namespace and class, with dots for backslashes."""

    ecosystem = "packagist"
