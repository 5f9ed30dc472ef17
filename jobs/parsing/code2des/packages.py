"""Resolve names of languages whose files declare their package: Java, Kotlin, C#, PHP."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from jobs.parsing.code2des.facts import FileFacts, Import
from jobs.parsing.code2des.resolving import ImportResolver, Target


class PackageResolver(ImportResolver):
    """A name is `package.Type`; what is outside belongs to the package before the type."""

    ecosystem = "unknown"
    stdlib: tuple[str, ...] = ()
    stdlib_ecosystem = "unknown"
    #: confidence of a wildcard or namespace import: what is meant is told by the names in use
    wildcard_confidence = "exact"

    def __init__(self, files: Sequence[FileFacts]) -> None:
        self._facts = {facts.source.path: facts for facts in files}
        #: package → name → file
        self._members: dict[str, dict[str, str]] = defaultdict(dict)
        for facts in files:
            package = facts.package or ""
            members = self._members[package]
            for kind in facts.types:
                if "." not in kind.qualified:
                    members.setdefault(kind.name, facts.source.path)
            for function in facts.functions:
                if function.owner is None and "." not in function.qualified:
                    members.setdefault(function.name, facts.source.path)
        self._around: dict[str, list[tuple[str, int]]] = {}

    def module_name(self, path: str) -> str:
        """Return package and file name."""
        stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        package = self._facts[path].package
        return f"{package}.{stem}" if package else stem

    def package_of(self, path: str) -> str:
        """Return the declared package."""
        return self._facts[path].package or ""

    def resolve(self, entry: Import, path: str) -> Target:
        """Return the file of a class; a wildcard leads to its first file in use."""
        found = self.targets(entry, path)
        return found[0]

    def targets(self, entry: Import, path: str) -> list[Target]:
        """Return the file of an import; every file in use for a wildcard."""
        if entry.name == "*" and entry.module in self._members:
            words = self._facts[path].words
            members = self._members[entry.module]
            used = sorted({members[name] for name in words if name in members})
            found = [Target(path=p, confidence=self.wildcard_confidence) for p in used if p != path]
            return found or [Target()]
        parts = entry.module.split(".")
        for length in range(len(parts) - 1, -1, -1):
            members = self._members.get(".".join(parts[:length]), {})
            if length < len(parts) and (file := members.get(parts[length])):
                rest = [*parts[length:], *([entry.name] if entry.name not in (None, "*") else [])]
                return [Target(path=file, member=".".join(filter(None, rest)))]
        return [self._outside(entry)]

    def _outside(self, entry: Import) -> Target:
        parts = entry.module.split(".")
        if entry.name != "*" or (parts[-1][:1].isupper() and self.ecosystem != "nuget"):
            types = [n for n, part in enumerate(parts) if part[:1].isupper()]
            parts = parts[: types[0]] if types and types[0] else parts[:-1] or parts
        name = ".".join(parts)
        known = f"{name}.".startswith(self.stdlib) if self.stdlib else False
        return Target(external=name, ecosystem=self.stdlib_ecosystem if known else self.ecosystem)

    def implicit(self, name: str, path: str) -> Target | None:
        """Return what `name` means through its package or a wildcard import."""
        first = name.split(".")[0]
        facts = self._facts[path]
        packages = [facts.package or "", *(i.module for i in facts.imports if i.name == "*")]
        for package in packages:
            file = self._members.get(package, {}).get(first)
            if file is not None and file != path:
                return Target(path=file, member=name)
        return None

    def neighbours(self, path: str) -> list[tuple[str, int]]:
        """Return the files of the same package whose names are used."""
        facts = self._facts[path]
        members = self._members.get(facts.package or "", {})
        own = {kind.name for kind in facts.types}
        found: dict[str, int] = {}
        for name, line in facts.words.items():
            file = members.get(name)
            if file is not None and file != path and name not in own:
                found[file] = min(line, found.get(file, line))
        return sorted(found.items())
