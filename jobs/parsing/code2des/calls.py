"""Resolve calls to functions of the project, with a confidence.

`exact`: same scope, own or inherited method, imported name. `likely`: receiver with a declared type
or a constructor call, or a name that only one function of the project has. `ambiguous`: several
have it; never drawn as a fact. Calls of built-ins and external packages are left out.
"""

from __future__ import annotations

from typing import NamedTuple

from jobs.parsing.code2des.builtin_methods import BUILTIN_METHODS
from jobs.parsing.code2des.facts import Call, FileFacts, Function
from jobs.parsing.code2des.index import Index, takes
from jobs.parsing.code2des.languages import IMPLICIT_THIS

_MAX_CANDIDATES = 10
_OWN = frozenset({"self", "cls", "this", "$this", "Self", "static", "@self"})
_PARENT = frozenset({"super()", "super", "base", "parent"})


class Resolved(NamedTuple):
    """Where a call leads. `target` is None for an ambiguous one."""

    target: str | None
    kind: str
    confidence: str
    name: str
    candidates: tuple[str, ...] = ()


class CallResolver:
    """Resolves the calls of one file after another."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._named: dict[tuple[str, str, int | None], tuple[str, ...]] = {}

    def resolve(self, call: Call, facts: FileFacts, function: Function | None) -> Resolved | None:
        """Return where `call` leads, or None when it leaves the project."""
        found = self._lead(call, facts, function)
        if found is None or found.target is None:
            return found
        index = self._index
        target, is_certain = index.by_arity(found.target, call.arity)
        function_found = index.functions.get(target)
        makes = function_found is not None and function_found.kind == "constructor"
        kind = "creates" if makes and call.receiver is None else found.kind
        if is_certain and target == found.target and kind == found.kind:
            return found
        confidence = found.confidence if is_certain else "likely"
        return Resolved(target, kind, confidence, found.name)

    def _lead(self, call: Call, facts: FileFacts, function: Function | None) -> Resolved | None:
        path = facts.source.path
        if call.receiver is None:
            return self._plain(call, facts, function)
        first = call.receiver.split(".")[0]
        if function is not None and function.owner and (first in _OWN or first in _PARENT):
            return self._own(call, path, function)
        if found := self._index.find(f"{call.receiver}.{call.name}", path):
            return self._known(found, "exact", call.name)
        declared = self._declared(call.receiver, facts, function)
        if declared is not None:
            return self._method(declared, call.name, "likely")
        if self._is_typed(call.receiver, function) or self._index.is_external(call.receiver, path):
            return None
        return self._by_name(call, facts)

    def _plain(self, call: Call, facts: FileFacts, function: Function | None) -> Resolved | None:
        path = facts.source.path
        scope = function.qualified if function else ""
        entry = self._index.files[path]
        has_implicit_this = facts.source.language in IMPLICIT_THIS
        while scope:
            is_class = scope in entry.types or (function is not None and scope == function.owner)
            if not is_class or has_implicit_this:
                if found := entry.functions.get(f"{scope}.{call.name}"):
                    return self._known(found, "exact", call.name)
                if found := entry.types.get(f"{scope}.{call.name}"):
                    return self._known(found, "exact", call.name)
            owner = entry.types.get(scope) if is_class and has_implicit_this else None
            inherited = self._method(owner, call.name, "exact") if owner else None
            if inherited is not None:
                return inherited
            scope = scope.rpartition(".")[0]
        if found := self._index.find(call.name, path):
            return self._known(found, "exact", call.name)
        return None

    def _own(self, call: Call, path: str, function: Function) -> Resolved | None:
        owner = self._owner(path, function)
        if owner is None:
            return None
        receiver, *attributes = (call.receiver or "").split(".")
        if not attributes:
            if receiver in _PARENT:
                for base in self._index.bases(owner):
                    if found := self._method(base, call.name, "exact"):
                        return found
                return None
            return self._method(owner, call.name, "exact")
        kind = self._field_type(owner, attributes[0]) if len(attributes) == 1 else None
        declared = self._index.find_type(kind, path, function.owner or "") if kind else None
        if declared is not None:
            return self._method(declared, call.name, "likely")
        facts = self._index.files[path].facts
        return self._by_name(call, facts) if kind is None else None

    def _owner(self, path: str, function: Function) -> str | None:
        """Return the type of a method; in Go or Rust it may stand in another file."""
        entry = self._index.files[path]
        name = function.owner or ""
        return entry.types.get(name) or self._index.find_type(name, path)

    def _field_type(self, type_id: str, name: str) -> str | None:
        fields = self._index.types[type_id].fields
        return next((field.type for field in fields if field.name.lstrip("$") == name), None)

    def _is_typed(self, receiver: str, function: Function | None) -> bool:
        """Say whether the receiver has a declared type that is none of the project's."""
        return function is not None and "." not in receiver and receiver in function.locals

    def _declared(self, receiver: str, facts: FileFacts, function: Function | None) -> str | None:
        if "." in receiver:
            return None
        path = facts.source.path
        kind = function.locals.get(receiver) if function else None
        scope = function.owner or "" if function else ""
        if kind is None and facts.source.language in IMPLICIT_THIS:
            kind = self._inherited_field(receiver, path, scope)
        kind = kind or facts.globals.get(receiver)
        if receiver.endswith("()"):
            kind = receiver[:-2]
        return self._index.find_type(kind, path, scope) if kind else None

    def _inherited_field(self, name: str, path: str, scope: str) -> str | None:
        entry = self._index.files[path]
        while scope:
            owner = entry.types.get(scope)
            if owner is not None and (kind := self._field_type(owner, name)):
                return kind
            scope = scope.rpartition(".")[0]
        return None

    def _method(self, type_id: str, name: str, confidence: str) -> Resolved | None:
        found = self._index.method(type_id, name)
        if found is None:
            return None
        return Resolved(found[0], "calls", confidence, name)

    def _known(self, identifier: str, confidence: str, name: str) -> Resolved | None:
        kind = "creates" if identifier in self._index.types else "calls"
        return Resolved(identifier, kind, confidence, name)

    def _by_name(self, call: Call, facts: FileFacts) -> Resolved | None:
        name = call.name
        if name in BUILTIN_METHODS or name.startswith("__"):
            return None
        candidates = self._candidates(name, facts.source.language, call.arity)
        if not candidates:
            return None
        if len(candidates) == 1:
            return Resolved(candidates[0], "calls", "likely", name)
        return Resolved(None, "calls", "ambiguous", name, candidates[:_MAX_CANDIDATES])

    def _candidates(self, name: str, language: str, arity: int | None) -> tuple[str, ...]:
        """Return the functions of that name which can be called so, sorted."""
        key = (name, language, arity)
        if key not in self._named:
            index = self._index
            self._named[key] = tuple(
                sorted(
                    identifier
                    for identifier in index.by_name.get(name, ())
                    if identifier.startswith(f"{language}:")
                    and (arity is None or takes(index.functions[identifier], arity))
                )
            )
        return self._named[key]
