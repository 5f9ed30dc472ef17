"""Names of a project: identifiers of all definitions, and what a name means in a file."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jobs.parsing.code2des.facts import FileFacts, Function, Import, Type
from jobs.parsing.code2des.resolving import ImportResolver, Target

_MAX_HOPS = 8


@dataclass
class FileIndex:
    """The definitions of one file by qualified name, and its imports by local name."""

    facts: FileFacts
    functions: dict[str, str] = field(default_factory=dict)
    overloads: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    types: dict[str, str] = field(default_factory=dict)
    imports: dict[str, Import] = field(default_factory=dict)


class Index:
    """All definitions of a project. Identifiers are `language:path#qualified(types)@ordinal`."""

    def __init__(self, files: Sequence[FileFacts], resolvers: Mapping[str, ImportResolver]) -> None:
        self.files: dict[str, FileIndex] = {}
        self.ids: dict[int, str] = {}
        self.functions: dict[str, Function] = {}
        self.types: dict[str, Type] = {}
        self.path_of: dict[str, str] = {}
        self.by_name: dict[str, list[str]] = defaultdict(list)
        self._resolvers = resolvers
        self._targets: dict[int, list[Target]] = {}
        self._fold: dict[str, dict[str, str]] = {}
        self._known_programs: dict[str, str] = {}
        self._found: dict[tuple[str, str], str | None] = {}
        self._found_types: dict[tuple[str, str, str], str | None] = {}
        self._bases: dict[str, list[str]] = {}
        self._fitting: dict[tuple[str, int | None], tuple[str, bool]] = {}
        self._methods: dict[tuple[str, str], tuple[str, bool] | None] = {}
        for facts in files:
            self._add(facts)

    def _add(self, facts: FileFacts) -> None:
        path = facts.source.path
        entry = FileIndex(facts)
        used: Counter[str] = Counter()
        for kind in facts.types:
            identifier = self._identify(facts, kind.qualified, "", used)
            self.ids[id(kind)] = identifier
            self.types[identifier] = kind
            self.path_of[identifier] = path
            entry.types[kind.qualified] = identifier
        for function in facts.functions:
            types = ",".join(p.type or p.name for p in function.params)
            identifier = self._identify(facts, function.qualified, f"({types})", used)
            self.ids[id(function)] = identifier
            self.functions[identifier] = function
            self.path_of[identifier] = path
            entry.functions[function.qualified] = identifier
            entry.overloads[function.qualified].append(identifier)
            if "overload" not in function.modifiers:
                self.by_name[function.name].append(identifier)
        for imported in facts.imports:
            entry.imports[imported.alias] = imported
        self.files[path] = entry

    @staticmethod
    def _identify(facts: FileFacts, qualified: str, suffix: str, used: Counter[str]) -> str:
        source = facts.source
        base = f"{source.language}:{source.path}#{qualified}{suffix}"
        used[base] += 1
        return base if used[base] == 1 else f"{base}@{used[base]}"

    def resolve_import(self, entry: Import, path: str) -> Target:
        """Return the first Target of an import of the file at `path`."""
        return self.import_targets(entry, path)[0]

    def import_targets(self, entry: Import, path: str) -> list[Target]:
        """Return every Target of an import of the file at `path`."""
        key = id(entry)
        if key not in self._targets:
            self._targets[key] = self.resolver(path).targets(entry, path)
        return self._targets[key]

    def resolver(self, path: str) -> ImportResolver:
        """Return the resolver of the language of a file."""
        return self._resolvers[self.files[path].facts.source.language]

    def function_at(self, qualified: str, path: str, line: int) -> str | None:
        """Return the function of that name around `line`: the right one of several overloads."""
        entry = self.files[path]
        for identifier in entry.overloads.get(qualified, ()):
            span = self.functions[identifier].span
            if span.line <= line <= span.end:
                return identifier
        return entry.functions.get(qualified)

    def by_arity(self, identifier: str, arity: int | None) -> tuple[str, bool]:
        """Return the overload with that number of parameters, and whether there is no doubt."""
        key = (identifier, arity)
        if key not in self._fitting:
            self._fitting[key] = self._look_up_overload(identifier, arity)
        return self._fitting[key]

    def _look_up_overload(self, identifier: str, arity: int | None) -> tuple[str, bool]:
        function = self.functions.get(identifier)
        if function is None or arity is None:
            return identifier, True
        listed = self.files[self.path_of[identifier]].overloads.get(function.qualified, [])
        if len(listed) == 1:
            return identifier, True
        fitting = [i for i in listed if takes(self.functions[i], arity)]
        return (fitting[0], len(fitting) == 1) if fitting else (identifier, False)

    def find(self, name: str, path: str) -> str | None:
        """Return the identifier that a dotted `name` means at the top level of a file.

        Follows imports and re-exports through a few files.
        """
        key = (path, name)
        if key not in self._found:
            self._found[key] = self._follow(name, path)
        return self._found[key]

    def _follow(self, name: str, path: str) -> str | None:
        for _ in range(_MAX_HOPS):
            entry = self.files.get(path)
            if entry is None or not name:
                return None
            if found := entry.types.get(name) or entry.functions.get(name):
                return found
            step = self._step(entry, name, path)
            if step is None:
                return None
            path, name = step
        return None

    def _step(self, entry: FileIndex, name: str, path: str) -> tuple[str, str] | None:
        """Follow the longest imported prefix of `name` to the file that it comes from."""
        parts = name.split(".")
        for length in range(len(parts), 0, -1):
            imported = entry.imports.get(".".join(parts[:length]))
            if imported is None:
                continue
            target = self.resolve_import(imported, path)
            rest = parts[length:]
            if target.path is None or target.path == path:
                return None
            return target.path, ".".join([target.member, *rest] if target.member else rest)
        implied = self.resolver(path).implicit(name, path)
        if implied is None or implied.path is None:
            return None
        return implied.path, implied.member or name

    def named(self, name: str, path: str, near: str = "") -> str | None:
        """Return the definition of that name where case does not count: near, here, anywhere."""
        key = name.casefold()
        parts = near.casefold().split(".")
        here = self._folded(path)
        for length in range(len(parts), -1, -1):
            if found := here.get(".".join([*parts[:length], key]).lstrip(".")):
                return found
        program = parts[0]
        found = next(
            (i for q, i in here.items() if q.startswith(f"{program}.") and q.endswith(f".{key}")),
            None,
        )
        return found or self._programs().get(key)

    def _folded(self, path: str) -> dict[str, str]:
        if path not in self._fold:
            entry = self.files[path]
            known = {**entry.types, **entry.functions}
            self._fold[path] = {name.casefold(): found for name, found in known.items()}
        return self._fold[path]

    def _programs(self) -> dict[str, str]:
        if not self._known_programs:
            for identifier, function in self.functions.items():
                if function.kind == "program":
                    self._known_programs.setdefault(function.name.casefold(), identifier)
        return self._known_programs

    def is_external(self, name: str, path: str) -> bool:
        """Say whether the first part of `name` is imported from outside the project."""
        entry = self.files[path].imports.get(name.split(".")[0])
        return entry is not None and self.resolve_import(entry, path).path is None

    def bases(self, type_id: str) -> list[str]:
        """Return the identifiers of the direct bases that are in the project."""
        if type_id not in self._bases:
            kind, path = self.types[type_id], self.path_of[type_id]
            scope = kind.qualified.rpartition(".")[0]
            found = (self.find_type(base, path, scope) for base in kind.bases)
            listed = [base for base in found if base in self.types and base != type_id]
            self._bases[type_id] = [base for base in listed if base is not None]
        return self._bases[type_id]

    def find_type(self, written: str, path: str, scope: str = "") -> str | None:
        """Return the type that an annotation most plainly names, seen from inside `scope`."""
        key = (written, path, scope)
        if key not in self._found_types:
            self._found_types[key] = self._look_up_type(plain_type(written), path, scope)
        return self._found_types[key]

    def _look_up_type(self, name: str, path: str, scope: str) -> str | None:
        while name:
            found = self.find(f"{scope}.{name}" if scope else name, path)
            if found in self.types:
                return found
            if not scope:
                return None
            scope = scope.rpartition(".")[0]
        return None

    def method(self, type_id: str, name: str) -> tuple[str, bool] | None:
        """Return the method of a type or of its bases, and whether it is the type's own."""
        key = (type_id, name)
        if key not in self._methods:
            self._methods[key] = self._look_up_method(type_id, name)
        return self._methods[key]

    def _look_up_method(self, type_id: str, name: str) -> tuple[str, bool] | None:
        seen: set[str] = set()
        pending = [type_id]
        while pending:
            current = pending.pop(0)
            if current in seen:
                continue
            seen.add(current)
            functions = self.files[self.path_of[current]].functions
            found = functions.get(f"{self.types[current].qualified}.{name}")
            if found is not None:
                return found, current == type_id
            pending.extend(self.bases(current))
        return None


_WRAPPERS = re.compile(r"^(?:(?:t|typing)\.)?(?:Optional|Promise|Future|Task|Box|Rc|Arc)[\[<]")
_QUALIFIERS = re.compile(r"^(?:const|final|readonly|mut|static|struct|dyn|impl|val|var)\s+")


def plain_type(written: str) -> str:
    """Return the class that a type annotation most plainly names."""
    text = written.strip().strip("\"'").lstrip("*&:?\\ ")
    for _ in range(3):
        text = _QUALIFIERS.sub("", _WRAPPERS.sub("", text)).lstrip("*& ")
    text = re.split(r"[\[<|(?!*&{\s]", text, maxsplit=1)[0]
    return text.strip().rstrip("]>").replace("::", ".").replace("\\", ".")


def takes(function: Function, arity: int) -> bool:
    """Say whether a function can be called with so many arguments."""
    params = [p for p in function.params if p.name not in ("self", "cls", "/", "*", "this")]
    if any(p.name.startswith("*") or "..." in (p.type or "") + p.name for p in params):
        return arity >= len(params) - 1
    needed = sum(p.default is None for p in params)
    return needed <= arity <= len(params)
