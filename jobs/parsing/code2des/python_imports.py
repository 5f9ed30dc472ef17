"""Python imports: read from syntax, then resolved to files of the project or external packages.

A module is found the way Python could find it: beside the importing file, from the folder above its
outermost package, from the root, from `src` or `lib`. No code is run and no path is searched.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from tree_sitter import Node

from jobs.parsing.code2des.facts import FileFacts, Import
from jobs.parsing.code2des.nodes import text_of
from jobs.parsing.code2des.python_stdlib import STDLIB
from jobs.parsing.code2des.resolving import ImportResolver, Target

_ROOTS = ("src", "lib", "python")


def read_imports(node: Node) -> list[Import]:
    """Return one Import per imported name of a statement."""
    line = node.start_point[0] + 1
    if node.type == "import_statement":
        pairs = [_alias(child) for child in node.children_by_field_name("name")]
        return [
            Import(module=name, level=0, name=None, alias=alias or name, line=line)
            for name, alias in pairs
        ]
    if node.type == "future_import_statement":
        names = [_alias(child) for child in node.children_by_field_name("name")]
        return [_future(name, alias, line) for name, alias in names]
    source = node.child_by_field_name("module_name")
    written = text_of(source)
    module = written.lstrip(".")
    level = len(written) - len(module)
    names = [_alias(child) for child in node.children_by_field_name("name")]
    if any(child.type == "wildcard_import" for child in node.named_children):
        names.append(("*", None))
    return [
        Import(module=module.strip(), level=level, name=name, alias=alias or name, line=line)
        for name, alias in names
    ]


def _future(name: str, alias: str | None, line: int) -> Import:
    return Import(module="__future__", level=0, name=name, alias=alias or name, line=line)


def _alias(node: Node) -> tuple[str, str | None]:
    if node.type != "aliased_import":
        return text_of(node), None
    name = text_of(node.child_by_field_name("name"))
    return name, text_of(node.child_by_field_name("alias"))


class Resolver(ImportResolver):
    """Resolves the imports of one project's Python files."""

    def __init__(self, files: Sequence[FileFacts]) -> None:
        paths = sorted({facts.source.path for facts in files})
        self._packages = frozenset(posixpath.dirname(path) for path in paths if _is_init(path))
        #: path without its ending → file: modules before packages before stubs
        self._by_base: dict[str, str] = {}
        for ending in (".py", "/__init__.py", ".pyi", "/__init__.pyi"):
            for path in paths:
                if f"/{path}".endswith(ending):
                    self._by_base.setdefault(f"/{path}".removesuffix(ending)[1:], path)
        self._by_name: dict[str, str] = {}
        for path in sorted(paths, key=lambda p: (p.endswith(".pyi"), p.count("/"), p)):
            for name in self._names(path):
                self._by_name.setdefault(name, path)

    def module_name(self, path: str) -> str:
        """Return the dotted name of a file, from above its outermost package."""
        folder, file = posixpath.split(path)
        stem = posixpath.splitext(file)[0]
        parts = [] if _is_init(path) else [stem]
        while folder and folder in self._packages:
            folder, name = posixpath.split(folder)
            parts.insert(0, name)
        return ".".join(parts) or posixpath.basename(folder) or stem

    def _names(self, path: str) -> list[str]:
        bare = posixpath.dirname(path) if _is_init(path) else posixpath.splitext(path)[0]
        parts = bare.split("/")
        names = [self.module_name(path), ".".join(parts)]
        for index, part in enumerate(parts[:-1]):
            if part in _ROOTS:
                names.append(".".join(parts[index + 1 :]))
        return [name for name in names if name]

    def resolve(self, entry: Import, path: str) -> Target:
        """Return where `entry`, written in the file at `path`, leads."""
        folder = posixpath.dirname(path)
        if entry.level:
            return self._relative(entry, folder)
        for name, member in self._candidates(entry):
            found = self._by_name.get(name)
            if found is None:
                found = self._by_base.get(_below(folder, name))
            if found is not None and found != path:
                return Target(path=found, member=member)
        top = entry.module.split(".")[0]
        if top in STDLIB:
            return Target(external=top, ecosystem="python-stdlib")
        return Target(external=top, ecosystem="pypi")

    def _candidates(self, entry: Import) -> list[tuple[str, str | None]]:
        """Return module names to try, with the member that would be left, best first."""
        found: list[tuple[str, str | None]] = []
        if entry.name is not None and entry.name != "*":
            found.append((f"{entry.module}.{entry.name}", None))
        found.append((entry.module, entry.name))
        return found

    def _relative(self, entry: Import, folder: str) -> Target:
        for _ in range(entry.level - 1):
            folder = posixpath.dirname(folder)
        base = _below(folder, entry.module)
        if entry.name is not None and (found := self._by_base.get(_below(base, entry.name))):
            return Target(path=found)
        if found := self._by_base.get(base):
            return Target(path=found, member=entry.name)
        return Target(external="." * entry.level + entry.module, ecosystem="unresolved")


def _below(folder: str, name: str) -> str:
    """Return the path of a dotted name below a folder; the root is empty."""
    return "/".join(filter(None, (folder, *name.split("."))))


def _is_init(path: str) -> bool:
    return posixpath.basename(path) in ("__init__.py", "__init__.pyi")
