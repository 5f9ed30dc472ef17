"""The dependency structure matrix (DSM) of a large project: packages against packages.

A row uses the columns; rows and columns stand by layer, so that what is above the diagonal is use
of something lower, and a number below it closes a cycle or goes upwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from jobs.parsing.code2des.document_markup import Writer, cell, code
from jobs.parsing.code2des.graph import layers

#: below this the diagram of modules tells more
MIN_MODULES = 50
_MAX_GROUPS = 24
Row = dict[str, Any]


def matrix(writer: Writer, model: Row) -> None:
    """Write the matrix of a project of more than MIN_MODULES modules."""
    count = sum(module["role"] == "code" for module in model["modules"])
    if count <= MIN_MODULES:
        return
    group_of = _grouped([package["name"] for package in model["packages"]])
    uses: dict[tuple[str, str], int] = defaultdict(int)
    for edge in model["package_edges"]:
        pair = group_of[edge["from"]], group_of[edge["to"]]
        if pair[0] != pair[1]:
            uses[pair] += edge["imports"]
    names = sorted({name for pair in uses for name in pair})
    if len(names) < 2:
        return
    below: dict[str, list[str]] = defaultdict(list)
    for start, end in sorted(uses):
        below[start].append(end)
    layer = layers(names, below)
    names.sort(key=lambda name: (-layer[name], name))
    writer.heading(3, writer.say("matrix"))
    writer.phrase("matrix_note")
    head = [writer.say("number"), writer.say("package"), *map(str, range(1, len(names) + 1))]
    writer.grid(
        head,
        [
            [str(number), code(name), *(_shown(name, other, uses) for other in names)]
            for number, name in enumerate(names, start=1)
        ],
    )


def _shown(name: str, other: str, uses: dict[tuple[str, str], int]) -> str:
    if name == other:
        return "■"
    return str(uses[name, other]) if (name, other) in uses else cell("")


def _grouped(packages: Sequence[str]) -> dict[str, str]:
    """Return package → group: itself while they are few, else as many leading parts as fit."""
    parts = {package: _parts(package) for package in packages}
    for depth in range(max(map(len, parts.values()), default=1), 0, -1):
        groups = {package: "".join(parts[package][:depth]).rstrip("./") for package in packages}
        if len(set(groups.values())) <= _MAX_GROUPS:
            return groups
    return _largest(groups)


def _parts(package: str) -> list[str]:
    """Split a package or a folder at its dots or slashes, which stay with what is before."""
    mark = "/" if "/" in package else "."
    pieces = package.split(mark)
    return [piece + mark for piece in pieces[:-1]] + [pieces[-1]]


def _largest(groups: dict[str, str]) -> dict[str, str]:
    """Keep the groups with most packages; the rest stand together."""
    sizes: dict[str, int] = defaultdict(int)
    for group in groups.values():
        sizes[group] += 1
    kept = set(sorted(sizes, key=lambda group: (-sizes[group], group))[: _MAX_GROUPS - 1])
    return {package: group if group in kept else "…" for package, group in groups.items()}
