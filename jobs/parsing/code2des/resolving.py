"""Where names lead: the part that every language's Resolver has in common."""

from __future__ import annotations

import posixpath
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from jobs.parsing.code2des.facts import Import


@dataclass(frozen=True, slots=True)
class Target:
    """Where an import leads: a file of the project with the name left to find in it, or outside."""

    path: str | None = None
    member: str | None = None
    external: str | None = None
    ecosystem: str | None = None
    confidence: str = "exact"


class ImportResolver(ABC):
    """Resolve the imports of one project's files of one language; built from their facts."""

    def configure(self, manifests: Mapping[str, str]) -> None:
        """Take what the manifests of the project (path → text) say of where names lead."""
        del manifests

    def module_name(self, path: str) -> str:
        """Return the name of a file as its language says it."""
        return path.rsplit(".", 1)[0]

    def package_of(self, path: str) -> str:
        """Return the package of a file: what stands above it in a diagram of packages."""
        return self.module_name(path).rpartition(".")[0]

    @abstractmethod
    def resolve(self, entry: Import, path: str) -> Target:
        """Return where `entry`, written in the file at `path`, leads."""

    def targets(self, entry: Import, path: str) -> list[Target]:
        """Return every file that `entry` brings in, at first what `resolve` returns."""
        return [self.resolve(entry, path)]

    def implicit(self, name: str, path: str) -> Target | None:
        """Return what `name` means without an import: same package, wildcard import."""
        del name, path
        return None

    def neighbours(self, path: str) -> list[tuple[str, int]]:
        """Return files used without an import (same package), with the line of the first use."""
        del path
        return []


class FolderResolver(ImportResolver):
    """Of languages in which a folder is the package."""

    def package_of(self, path: str) -> str:
        """Return the folder."""
        return posixpath.dirname(path) or "."
