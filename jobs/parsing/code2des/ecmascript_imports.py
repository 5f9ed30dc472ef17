"""Resolve module names of JavaScript and TypeScript: relative files, packages, Node's own."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from jobs.parsing.code2des.facts import FileFacts, Function, Import, Type
from jobs.parsing.code2des.resolving import FolderResolver, Target
from jobs.parsing.code2des.tsconfig import PathMaps

_SUFFIXES = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_NODE_NAMES = """
    assert async_hooks buffer child_process cluster console constants crypto dgram dns
    diagnostics_channel domain events fs http http2 https inspector module net os path
    perf_hooks process punycode querystring readline repl stream string_decoder timers tls
    trace_events tty url util v8 vm wasi worker_threads zlib
"""
_NODE = frozenset(_NODE_NAMES.split())


class Resolver(FolderResolver):
    """Files by relative path with the endings that TypeScript and Node try."""

    def __init__(self, files: Sequence[FileFacts]) -> None:
        self._facts = {facts.source.path: facts for facts in files}
        self._names = {
            path: {t.qualified for t in facts.types} | {f.qualified for f in facts.functions}
            for path, facts in self._facts.items()
        }
        self._maps = PathMaps({})

    def configure(self, manifests: Mapping[str, str]) -> None:
        """Take the `paths` and `baseUrl` of tsconfig.json and jsconfig.json."""
        self._maps = PathMaps(manifests)

    def module_name(self, path: str) -> str:
        """Return the path without its ending and without `/index`."""
        for suffix in sorted(_SUFFIXES, key=len, reverse=True):
            if path.endswith(suffix):
                path = path[: -len(suffix)]
                break
        return path

    def resolve(self, entry: Import, path: str) -> Target:
        """Return the file of a relative import, else the package."""
        name = entry.module
        for candidate in self._maps.candidates(name, path):
            if found := self._tried(candidate):
                return self._target(found, entry)
        if name.startswith((".", "/", "@/", "~/")):
            found = self._file(name, path)
            if found is None:
                return Target(external=name, ecosystem="unresolved")
            return self._target(found, entry)
        if name.startswith("node:") or name.split("/")[0] in _NODE:
            top = name.removeprefix("node:").split("/")[0]
            return Target(external=top, ecosystem="node-stdlib")
        parts = name.split("/")
        return Target(external="/".join(parts[: 2 if name.startswith("@") else 1]), ecosystem="npm")

    def _target(self, found: str, entry: Import) -> Target:
        member = None if entry.name in (None, "*") else entry.name
        return Target(path=found, member=self._member(found, member))

    def _member(self, path: str, name: str | None) -> str | None:
        if name != "default":
            return name
        definitions: list[Type | Function] = [
            *self._facts[path].types,
            *self._facts[path].functions,
        ]
        names = sorted(
            definition.name
            for definition in definitions
            if "." not in definition.qualified and "export" in definition.modifiers
        )
        stem = path.rsplit("/", 1)[-1].split(".")[0]
        return stem if stem in names else names[0] if len(set(names)) == 1 else "default"

    def _file(self, name: str, path: str) -> str | None:
        if name.startswith(("@/", "~/")):
            bases = [f"src/{name[2:]}", name[2:]]
        else:
            bases = [posixpath.normpath(posixpath.join(posixpath.dirname(path), name))]
        return next((found for base in bases if (found := self._tried(base))), None)

    def _tried(self, base: str) -> str | None:
        """Return the file that Node or TypeScript would open for a path without its ending."""
        bare = base
        for ending in (".js", ".jsx", ".mjs", ".cjs"):
            bare = bare.removesuffix(ending)
        tries = [base, *(bare + s for s in _SUFFIXES), *(f"{base}/index{s}" for s in _SUFFIXES)]
        return next((candidate for candidate in tries if candidate in self._facts), None)

    def implicit(self, name: str, path: str) -> Target | None:
        """Return the file behind `export * from` that defines `name`."""
        first = name.split(".")[0]
        for entry in self._facts[path].imports:
            if entry.alias == "*":
                target = self.resolve(entry, path)
                if target.path is not None and first in self._names[target.path]:
                    return Target(path=target.path, member=name)
        return None
