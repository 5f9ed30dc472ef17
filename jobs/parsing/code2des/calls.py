"""Resolve calls to functions of the project, with a confidence.

`exact`: same scope, own or inherited method, imported name. `likely`: receiver with a declared type
or a constructor call, or a name that only one function of the project has. `ambiguous`: several
have it; never drawn as a fact. Calls of built-ins and external packages are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from jobs.parsing.code2des.facts import Call, FileFacts, Function
from jobs.parsing.code2des.index import Index

_MAX_CANDIDATES = 10
#: methods of built-in types: an unknown receiver most probably is one of those
_BUILTIN_METHODS = frozenset(
    (
        *dir(str),
        *dir(bytes),
        *dir(list),
        *dir(dict),
        *dir(set),
        *("read", "write", "close", "open", "flush", "seek", "send", "throw", "debug", "info"),
        *("warning", "error", "exception", "critical", "group", "groups", "match", "search"),
    )
)


@dataclass(frozen=True)
class Resolved:
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

    def resolve(self, call: Call, facts: FileFacts, function: Function | None) -> Resolved | None:
        """Return where `call` leads, or None when it leaves the project."""
        path = facts.source.path
        if call.receiver is None:
            return self._plain(call, path, function)
        first = call.receiver.split(".")[0]
        if function is not None and function.owner and first in ("self", "cls", "super()"):
            return self._own(call, path, function)
        if found := self._index.find(f"{call.receiver}.{call.name}", path):
            return self._known(found, "exact", call.name)
        declared = self._declared(call.receiver, facts, function)
        if declared is not None:
            return self._method(declared, call.name, "likely")
        if self._index.is_external(call.receiver, path):
            return None
        return self._by_name(call.name)

    def _plain(self, call: Call, path: str, function: Function | None) -> Resolved | None:
        scope = function.qualified if function else ""
        entry = self._index.files[path]
        while scope:
            if found := entry.functions.get(f"{scope}.{call.name}"):
                return self._known(found, "exact", call.name)
            scope = scope.rpartition(".")[0]
        if found := self._index.find(call.name, path):
            return self._known(found, "exact", call.name)
        return None

    def _own(self, call: Call, path: str, function: Function) -> Resolved | None:
        entry = self._index.files[path]
        owner = entry.types.get(function.owner or "")
        if owner is None:
            return None
        attributes = (call.receiver or "").split(".")[1:]
        if not attributes:
            if call.receiver == "super()":
                for base in self._index.bases(owner):
                    if found := self._method(base, call.name, "exact"):
                        return found
                return None
            return self._method(owner, call.name, "exact")
        known = {field.name: field.type for field in self._index.types[owner].fields}
        kind = known.get(attributes[0]) if len(attributes) == 1 else None
        declared = self._index.find(_class_name(kind), path) if kind else None
        if declared in self._index.types:
            return self._method(declared or "", call.name, "likely")
        return self._by_name(call.name) if kind is None else None

    def _declared(self, receiver: str, facts: FileFacts, function: Function | None) -> str | None:
        if "." in receiver:
            return None
        kind = function.locals.get(receiver) if function else None
        kind = kind or facts.globals.get(receiver)
        if receiver.endswith("()"):
            kind = receiver[:-2]
        found = self._index.find(_class_name(kind), facts.source.path) if kind else None
        return found if found in self._index.types else None

    def _method(self, type_id: str, name: str, confidence: str) -> Resolved | None:
        found = self._index.method(type_id, name)
        if found is None:
            return None
        return Resolved(found[0], "calls", confidence, name)

    def _known(self, identifier: str, confidence: str, name: str) -> Resolved | None:
        kind = "creates" if identifier in self._index.types else "calls"
        return Resolved(identifier, kind, confidence, name)

    def _by_name(self, name: str) -> Resolved | None:
        if name in _BUILTIN_METHODS or name.startswith("__"):
            return None
        candidates = self._index.by_name.get(name, [])
        if not candidates:
            return None
        if len(candidates) == 1:
            return Resolved(candidates[0], "calls", "likely", name)
        listed = tuple(sorted(candidates)[:_MAX_CANDIDATES])
        return Resolved(None, "calls", "ambiguous", name, listed)


def _class_name(written: str) -> str:
    """Return the class that a type annotation most plainly names."""
    text = written.strip().strip("\"'")
    for wrapper in ("Optional[", "t.Optional[", "typing.Optional["):
        text = text.removeprefix(wrapper)
    return text.split("[")[0].split("|")[0].strip().rstrip("]")
