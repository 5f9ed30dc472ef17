"""The project from further away: packages, their dependencies, cycles, layers that are skipped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from jobs.parsing.code2des.graph import components, layers

Row = dict[str, Any]

#: conventional role → names of packages or folders that play it; higher uses lower
_ROLES: tuple[tuple[str, int, frozenset[str]], ...] = (
    (
        "web",
        3,
        frozenset(
            (
                "web",
                "controller",
                "controllers",
                "api",
                "ui",
                "view",
                "views",
                "handler",
                "handlers",
                "presentation",
                "rest",
                "action",
                "actions",
                "routes",
            )
        ),
    ),
    (
        "service",
        2,
        frozenset(("service", "services", "usecase", "usecases", "logic", "application", "biz")),
    ),
    (
        "data",
        1,
        frozenset(
            (
                "repo",
                "repository",
                "repositories",
                "dao",
                "mapper",
                "mappers",
                "infrastructure",
                "persistence",
            )
        ),
    ),
    (
        "model",
        0,
        frozenset(("model", "models", "entity", "entities", "domain", "dto", "bean", "vo")),
    ),
)


def role_of(package: str) -> str | None:
    """Return the conventional role that the name of a package tells, by its last fitting part."""
    for part in reversed(package.replace("/", ".").lower().split(".")):
        for role, _, names in _ROLES:
            if part in names:
                return role
    return None


def describe_packages(
    modules: Sequence[Row], package_of: Mapping[str, str], edges: Mapping[str, Sequence[str]]
) -> Row:
    """Return `packages`, `package_edges`, `package_cycles` and `layer_violations` of the model.

    `package_of` gives the package of each module, `edges` the imported modules of each.
    """
    members: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        if module["role"] == "code":
            members[package_of[module["id"]]].append(module["id"])
    counted: dict[tuple[str, str], int] = defaultdict(int)
    for start, targets in edges.items():
        for end in targets:
            pair = (package_of[start], package_of[end])
            if pair[0] != pair[1] and pair[0] in members and pair[1] in members:
                counted[pair] += 1
    names = sorted(members)
    graph: dict[str, list[str]] = defaultdict(list)
    for start, end in sorted(counted):
        graph[start].append(end)
    layer = layers(names, graph)
    return {
        "packages": [
            {
                "name": name,
                "modules": len(members[name]),
                "layer": layer[name],
                "role": role_of(name),
                "uses": graph.get(name, []),
            }
            for name in names
        ],
        "package_edges": [
            {"from": start, "to": end, "imports": count}
            for (start, end), count in sorted(counted.items())
        ],
        "package_cycles": sorted(g for g in components(names, graph) if len(g) > 1),
        "layer_violations": _violations(edges, package_of, members),
    }


def _violations(
    edges: Mapping[str, Sequence[str]],
    package_of: Mapping[str, str],
    members: Mapping[str, Sequence[str]],
) -> list[Row]:
    rank = {role: number for role, number, _ in _ROLES}
    present = {role_of(package) for package in members}
    found = []
    for start, targets in sorted(edges.items()):
        role = role_of(package_of[start])
        if role is None or package_of[start] not in members:
            continue
        for end in targets:
            other = role_of(package_of[end])
            if other is None or other == role or package_of[end] not in members:
                continue
            if rank[other] > rank[role]:
                found.append({"from": start, "to": end, "kind": "upward"})
            elif (role, other) == ("web", "data") and "service" in present:
                found.append({"from": start, "to": end, "kind": "skip"})
    return found
