"""Graph questions, answered without recursion: cycles, layers, ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Edges = Mapping[str, Sequence[str]]
_RANK_ROUNDS = 30
_DAMPING = 0.85


def components(nodes: Sequence[str], edges: Edges) -> list[list[str]]:
    """Return the strongly connected components (Tarjan), each sorted, callees first."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_nodes: list[str] = []
    is_open: set[str] = set()
    found: list[list[str]] = []
    for root in nodes:
        if root in index:
            continue
        work = [(root, iter(edges.get(root, ())))]
        index[root] = low[root] = len(index)
        open_nodes.append(root)
        is_open.add(root)
        while work:
            node, following = work[-1]
            target = next(following, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    found.append(_close(node, open_nodes, is_open))
            elif target not in index:
                index[target] = low[target] = len(index)
                open_nodes.append(target)
                is_open.add(target)
                work.append((target, iter(edges.get(target, ()))))
            elif target in is_open:
                low[node] = min(low[node], index[target])
    return found


def _close(node: str, open_nodes: list[str], is_open: set[str]) -> list[str]:
    component = []
    while True:
        member = open_nodes.pop()
        is_open.discard(member)
        component.append(member)
        if member == node:
            return sorted(component)


def layers(nodes: Sequence[str], edges: Edges) -> dict[str, int]:
    """Return the layer of each node: 0 uses nothing, n uses something of layer n-1.

    The members of a cycle share one layer.
    """
    found: dict[str, int] = {}
    for component in components(nodes, edges):
        members = set(component)
        below = [
            found[target]
            for node in component
            for target in edges.get(node, ())
            if target not in members
        ]
        layer = max(below, default=-1) + 1
        for node in component:
            found[node] = layer
    return found


def ranks(nodes: Sequence[str], edges: Edges) -> dict[str, float]:
    """Return how central each node is (PageRank), rounded so that every machine agrees."""
    count = len(nodes)
    if not count:
        return {}
    place = {node: number for number, node in enumerate(nodes)}
    linked = [(place[node], [place[t] for t in edges[node]]) for node in nodes if edges.get(node)]
    loose = [place[node] for node in nodes if not edges.get(node)]
    rank = [1.0 / count] * count
    for _ in range(_RANK_ROUNDS):
        lost = sum([rank[number] for number in loose])
        following = [(1 - _DAMPING + _DAMPING * lost) / count] * count
        for number, targets in linked:
            share = _DAMPING * rank[number] / len(targets)
            for target in targets:
                following[target] += share
        rank = following
    return {node: round(value, 9) for node, value in zip(nodes, rank, strict=True)}
