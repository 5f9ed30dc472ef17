"""Module names that tsconfig.json or jsconfig.json maps: `baseUrl` and `paths`, with `extends`."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_MAX_EXTENDS = 5
_MAX_CHARACTERS = 200_000
#: a string, kept; a comment, dropped; a comma before a closing bracket, dropped
_LOOSE = re.compile(
    r'("(?:[^"\\]|\\.)*+")|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|,(?=\s*+[}\]])', re.DOTALL
)
NAMES = re.compile(r"(?:ts|js)config[\w.-]*\.json$")


@dataclass(frozen=True)
class _Config:
    #: folder that `paths` and `baseUrl` are relative to; None without `baseUrl`
    base: str | None
    #: folder that `paths` without `baseUrl` are relative to
    folder: str
    paths: tuple[tuple[str, tuple[str, ...]], ...] = field(default=())


class PathMaps:
    """What the configurations of a project say a module name may mean."""

    def __init__(self, manifests: Mapping[str, str]) -> None:
        self._texts = {p: t for p, t in manifests.items() if NAMES.search(posixpath.basename(p))}
        self._configs: dict[str, _Config] = {}
        for path in sorted(self._texts, key=lambda p: (len(posixpath.basename(p)), p)):
            folder = posixpath.dirname(path)
            found = self._read(path, 0)
            if found is not None and (found.paths or found.base is not None):
                self._configs.setdefault(folder, found)

    def candidates(self, name: str, path: str) -> Iterator[str]:
        """Yield the paths that a module name in the file at `path` may stand for, best first."""
        config = self._nearest(path)
        if config is None or name.startswith("."):
            return
        root = config.base if config.base is not None else config.folder
        for pattern, targets in config.paths:
            rest = _match(pattern, name)
            if rest is not None:
                for target in targets:
                    yield posixpath.normpath(posixpath.join(root, target.replace("*", rest, 1)))
        if config.base is not None:
            yield posixpath.normpath(posixpath.join(config.base, name))

    def _nearest(self, path: str) -> _Config | None:
        if not self._configs:
            return None
        folder = posixpath.dirname(path)
        while True:
            if folder in self._configs:
                return self._configs[folder]
            if not folder:
                return None
            folder = posixpath.dirname(folder)

    def _read(self, path: str, depth: int) -> _Config | None:
        content = _loose_json(self._texts.get(path, ""))
        if content is None:
            return None
        folder = posixpath.dirname(path)
        parent = self._parent(content.get("extends"), folder, depth)
        options = content.get("compilerOptions")
        options = options if isinstance(options, dict) else {}
        written = options.get("baseUrl")
        base = parent.base if parent else None
        if isinstance(written, str):
            base = posixpath.normpath(posixpath.join(folder, written))
        if not isinstance(options.get("paths"), dict):
            above = parent or _Config(None, folder)
            return _Config(base, above.folder, above.paths)
        return _Config(base, folder, _paths(options["paths"]))

    def _parent(self, written: Any, folder: str, depth: int) -> _Config | None:
        if not isinstance(written, str) or depth >= _MAX_EXTENDS:
            return None
        path = posixpath.normpath(posixpath.join(folder, written))
        path = path if path.endswith(".json") else f"{path}.json"
        return self._read(path, depth + 1) if path in self._texts else None


def _loose_json(text: str) -> dict[str, Any] | None:
    """Return JSON that may hold comments and trailing commas; None when it cannot be read."""
    if not text or len(text) > _MAX_CHARACTERS:
        return None
    try:
        content = json.loads(_LOOSE.sub(lambda match: match.group(1) or "", text))
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _paths(written: dict[str, Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return patterns and targets, the most exact pattern first as TypeScript chooses."""
    found = {
        pattern: tuple(target for target in targets if isinstance(target, str))
        for pattern, targets in written.items()
        if isinstance(targets, list)
    }
    order = sorted(found, key=lambda p: ("*" in p, -len(p.split("*")[0]), p))
    return tuple((pattern, found[pattern]) for pattern in order)


def _match(pattern: str, name: str) -> str | None:
    """Return what the star of a pattern stands for, empty without one; None for no match."""
    head, star, tail = pattern.partition("*")
    if not star:
        return "" if name == pattern else None
    fits = len(name) >= len(head) + len(tail) and name.startswith(head) and name.endswith(tail)
    return name[len(head) : len(name) - len(tail)] if fits else None
