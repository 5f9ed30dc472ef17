"""Resolve includes of C and C++: by path, then by the only file whose path ends so."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Sequence

from jobs.parsing.code2des.facts import FileFacts, Import
from jobs.parsing.code2des.resolving import FolderResolver, Target


class Resolver(FolderResolver):
    """Includes: relative to the file, then the only file whose path ends so."""

    def __init__(self, files: Sequence[FileFacts]) -> None:
        self._facts = {facts.source.path: facts for facts in files}
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self._facts):
            self._by_name[posixpath.basename(path)].append(path)
        self._resolved: dict[tuple[str, bool, str], Target] = {}
        self._defined: dict[str, frozenset[str]] = {}

    def module_name(self, path: str) -> str:
        """Return the path: header and source are two modules."""
        return path

    def resolve(self, entry: Import, path: str) -> Target:
        """Return the included file."""
        key = (entry.module, entry.name is None, path)
        if key not in self._resolved:
            self._resolved[key] = self._look_up(entry, path)
        return self._resolved[key]

    def _look_up(self, entry: Import, path: str) -> Target:
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), entry.module))
        if entry.name is None and beside in self._facts:
            return Target(path=beside)
        ends = [
            candidate
            for candidate in self._by_name.get(posixpath.basename(entry.module), ())
            if f"/{candidate}".endswith(f"/{entry.module}") and candidate != path
        ]
        if len(ends) == 1:
            return Target(path=ends[0], confidence="exact" if entry.name is None else "likely")
        return Target(external=entry.module, ecosystem="c-header")

    def implicit(self, name: str, path: str) -> Target | None:
        """Return the source beside an included header that defines `name`."""
        for entry in self._facts[path].imports:
            header = self.resolve(entry, path).path
            for candidate in self._with_sources(header) if header else ():
                if candidate != path and name in self._names(candidate):
                    return Target(path=candidate, member=name)
        return None

    def _names(self, path: str) -> frozenset[str]:
        """Return the qualified names that a file defines."""
        if path not in self._defined:
            facts = self._facts[path]
            names = [*(f.qualified for f in facts.functions), *(t.qualified for t in facts.types)]
            self._defined[path] = frozenset(names)
        return self._defined[path]

    def _with_sources(self, header: str) -> list[str]:
        stem = posixpath.basename(header).rsplit(".", 1)[0]
        names = [f"{stem}.{suffix}" for suffix in ("c", "cc", "cpp", "cxx")]
        return [header, *(path for name in names for path in self._by_name.get(name, ()))]
