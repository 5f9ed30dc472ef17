"""Resolve imports of Go: a package is a folder, its path ends the import path."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from jobs.parsing.code2des.facts import FileFacts, Import
from jobs.parsing.code2des.resolving import FolderResolver, Target


class Resolver(FolderResolver):
    """A package is a folder; its path ends the import path."""

    def __init__(self, files: Sequence[FileFacts]) -> None:
        self._facts = {facts.source.path: facts for facts in files}
        self._folders: dict[str, list[str]] = {}
        for path in sorted(self._facts):
            self._folders.setdefault(posixpath.dirname(path), []).append(path)
        self._members: dict[str, dict[str, str]] = {}
        for folder, paths in self._folders.items():
            members = self._members.setdefault(folder, {})
            for path in paths:
                for function in self._facts[path].functions:
                    members.setdefault(function.qualified, path)
                for kind in self._facts[path].types:
                    members[kind.qualified] = path

    def module_name(self, path: str) -> str:
        """Return the path without its ending."""
        return path.removesuffix(".go")

    def resolve(self, entry: Import, path: str) -> Target:
        """Return the first file of the package that is used."""
        return self.targets(entry, path)[0]

    def targets(self, entry: Import, path: str) -> list[Target]:
        """Return the files of the package."""
        del path
        folder = self._folder(entry.module)
        if folder is None:
            is_own = "." not in entry.module.split("/")[0]
            ecosystem = "go-stdlib" if is_own else "go-module"
            return [Target(external=entry.module, ecosystem=ecosystem)]
        return [Target(path=file) for file in self._folders[folder] if not _is_test(file)] or [
            Target(path=self._folders[folder][0])
        ]

    def _folder(self, module: str) -> str | None:
        parts = module.split("/")
        for start in range(len(parts)):
            folder = "/".join(parts[start:])
            if folder in self._folders and (start > 0 or "." in parts[0] or len(parts) > 1):
                return folder
        return None

    def implicit(self, name: str, path: str) -> Target | None:
        """Return the file of the same package, or of an imported one, that defines `name`."""
        first, _, rest = name.partition(".")
        for entry in self._facts[path].imports:
            folder = self._folder(entry.module) if entry.alias == first and rest else None
            found = self._members[folder].get(rest) if folder is not None else None
            if found is not None:
                return Target(path=found, member=rest)
        file = self._members[posixpath.dirname(path)].get(name)
        return Target(path=file, member=name) if file is not None and file != path else None

    def neighbours(self, path: str) -> list[tuple[str, int]]:
        """Return the files of the same package whose types are used."""
        members = self._members[posixpath.dirname(path)]
        found: dict[str, int] = {}
        for name, line in self._facts[path].words.items():
            file = members.get(name)
            if file is not None and file != path:
                found[file] = min(line, found.get(file, line))
        return sorted(found.items())


def _is_test(path: str) -> bool:
    return path.endswith("_test.go")
