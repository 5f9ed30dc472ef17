"""Prefixes under which files of routes are put by other files, through several levels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from jobs.parsing.code2des.facts import FileFacts, Import
from jobs.parsing.code2des.index import Index

_MAX_PREFIXES = 20
_MAX_STEPS = 1_000


def mounts(files: Sequence[FileFacts], index: Index) -> dict[str, list[str]]:
    """Return file → the whole prefixes of its routes, sorted; files that nobody mounts lack."""
    above: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for facts in files:
        path = facts.source.path
        for mount in facts.mounts:
            entry = Import(module=mount.module, level=0, name=None, alias="", line=0)
            target = index.resolver(path).resolve(entry, path).path
            if target is not None and target != path:
                above[target].append((path, mount.prefix))
    return {path: _prefixes(path, above) for path in sorted(above)}


def _prefixes(path: str, above: dict[str, list[tuple[str, str]]]) -> list[str]:
    """Follow the mounts upwards; a file that mounts itself in a circle is left out there."""
    found: set[str] = set()
    pending = [(path, "", frozenset({path}))]
    for _ in range(_MAX_STEPS):
        if not pending or len(found) == _MAX_PREFIXES:
            break
        current, rest, seen = pending.pop()
        parents = [(p, prefix) for p, prefix in above.get(current, ()) if p not in seen]
        if not parents:
            found.add(rest)
        pending += [(p, prefix + rest, seen | {p}) for p, prefix in parents]
    return sorted(found)
