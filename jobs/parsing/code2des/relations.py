"""Edges between files, types and functions, merged and sorted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from jobs.parsing.code2des.calls import CallResolver
from jobs.parsing.code2des.facts import Call, FileFacts, Function
from jobs.parsing.code2des.index import Index

_Key = tuple[str, str, str, str, tuple[str, ...]]
_MAX_LINES = 50
#: kinds of edges by which a file depends on another
DEPENDS = frozenset({"imports", "includes", "copies"})


def find_relations(files: Sequence[FileFacts], index: Index) -> list[dict[str, Any]]:
    """Return imports, inherits, calls and creates; the end of an ambiguous call is `?name`."""
    lines: dict[_Key, set[int]] = defaultdict(set)
    calls = CallResolver(index)
    for facts in files:
        _imports(facts, index, lines)
        _inherits(facts, index, lines)
        _links(facts, index, lines)
        module = module_id(facts.source.path)
        _calls(facts, None, facts.toplevel, module, calls, lines)
        for function in facts.functions:
            _calls(facts, function, function.calls, index.ids[id(function)], calls, lines)
    return [_edge(key, sorted(found)) for key, found in sorted(lines.items())]


def module_id(path: str) -> str:
    """Return the identifier of the module that a file is."""
    return f"module:{path}"


def _edge(key: _Key, lines: list[int]) -> dict[str, Any]:
    start, end, kind, confidence, candidates = key
    edge: dict[str, Any] = {
        "from": start,
        "to": end,
        "kind": kind,
        "confidence": confidence,
        "lines": lines[:_MAX_LINES],
    }
    if candidates:
        edge["candidates"] = list(candidates)
    return edge


def _imports(facts: FileFacts, index: Index, lines: dict[_Key, set[int]]) -> None:
    path = facts.source.path
    for entry in facts.imports:
        for target in index.import_targets(entry, path):
            if target.path is not None and target.path != path:
                end = module_id(target.path)
                lines[(module_id(path), end, entry.kind, target.confidence, ())].add(entry.line)
    for neighbour, line in index.resolver(path).neighbours(path):
        lines[(module_id(path), module_id(neighbour), "imports", "likely", ())].add(line)


def _links(facts: FileFacts, index: Index, lines: dict[_Key, set[int]]) -> None:
    """Add the edges that a language states by name; a name that nobody has is left out."""
    for link in facts.links:
        start = index.named(link.start, facts.source.path)
        end = index.named(link.end, facts.source.path, near=link.start)
        if start is not None and end is not None:
            lines[(start, end, link.kind, link.confidence, ())].add(link.line)


def _inherits(facts: FileFacts, index: Index, lines: dict[_Key, set[int]]) -> None:
    for kind in facts.types:
        identifier = index.ids[id(kind)]
        for base in index.bases(identifier):
            word = "implements" if index.types[base].kind == "interface" else "inherits"
            lines[(identifier, base, word, "exact", ())].add(kind.span.line)


def _calls(
    facts: FileFacts,
    function: Function | None,
    found: Sequence[Call],
    start: str,
    resolver: CallResolver,
    lines: dict[_Key, set[int]],
) -> None:
    for call in found:
        resolved = resolver.resolve(call, facts, function)
        if resolved is None:
            continue
        end = resolved.target or f"?{resolved.name}"
        key = (start, end, resolved.kind, resolved.confidence, resolved.candidates)
        lines[key].add(call.line)
