"""The diagrams of a design: composition, modules, classes, calls, sequences, tables."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from jobs.parsing.code2des.mermaid import (
    MAX_CLASSES,
    MAX_EDGES,
    MAX_MEMBERS,
    MAX_NODES,
    choose,
    diagram,
    escape,
    flowchart,
    number,
)
from jobs.parsing.code2des.model import call_edges, import_edges

_MAX_CALL_NODES = 30
_MAX_SEQUENCES = 3
_MAX_SEQUENCE_DEPTH = 4
_MAX_MESSAGES = 40
Row = dict[str, Any]


def draw_diagrams(model: Row) -> list[Row]:
    """Return every diagram for which the model has something to show; test code is left out."""
    drawn = [
        _composition(model),
        _modules(model),
        _classes(model),
        _calls(model),
        *_sequences(model),
        _tables(model),
    ]
    return [entry for entry in drawn if entry is not None]


def _code_modules(model: Row) -> dict[str, Row]:
    return {module["id"]: module for module in model["modules"] if module["role"] == "code"}


def _package(module: Row) -> str:
    name: str = module["name"]
    is_package = module["path"].endswith("/__init__.py")
    return name if is_package or "." not in name else name.rpartition(".")[0]


def _composition(model: Row) -> Row | None:
    modules = _code_modules(model)
    labels = {f"p:{_package(m)}": _package(m) for m in modules.values()}
    edges = set()
    inner = import_edges(model["relations"])
    for start, targets in inner.items():
        for end in targets:
            if start in modules and end in modules:
                edges.add((f"p:{_package(modules[start])}", f"p:{_package(modules[end])}"))
    external = {}
    for package in model["external"]:
        if package["ecosystem"].endswith("-stdlib"):
            continue
        users = {f"p:{_package(modules[m])}" for m in package["used_by"] if m in modules}
        if users:
            external[f"x:{package['name']}"] = package["name"]
            edges.update((user, f"x:{package['name']}") for user in users)
    labels = {**dict(sorted(labels.items())), **external}
    nodes, kept, omitted = choose(list(labels), sorted(edges), MAX_NODES)
    outside = [node for node in nodes if node.startswith("x:")]
    text = flowchart(
        {node: labels[node] for node in nodes},
        [(a, b, "") for a, b in kept],
        {"外部 / external": outside} if outside else None,
    )
    return diagram("composition", ("システム構成", "Composition"), text, len(nodes), omitted)


def _modules(model: Row) -> Row | None:
    modules = _code_modules(model)
    edges = [
        (start, end)
        for start, targets in import_edges(model["relations"]).items()
        for end in targets
        if start in modules and end in modules
    ]
    nodes, kept, omitted = choose(list(modules), edges, MAX_NODES)
    layers: dict[int, list[str]] = defaultdict(list)
    for node in nodes:
        layers[modules[node]["layer"]].append(node)
    groups = {f"L{layer}": layers[layer] for layer in sorted(layers, reverse=True)}
    text = flowchart(
        {node: modules[node]["name"] for node in nodes}, [(a, b, "") for a, b in kept], groups
    )
    title = ("モジュール依存関係", "Module dependencies")
    return diagram("modules", title, text, len(nodes), omitted)


def _classes(model: Row) -> Row | None:
    modules = _code_modules(model)
    types = {
        t["id"]: t
        for t in model["types"]
        if t["module"] in modules
        and t["kind"] not in ("alias", "namespace", "module")
        and modules[t["module"]]["language"] != "cobol"
    }
    edges = [
        (r["from"], r["to"])
        for r in model["relations"]
        if r["kind"] in ("inherits", "implements") and r["from"] in types and r["to"] in types
    ]
    nodes, kept, omitted = choose(list(types), edges, MAX_CLASSES)
    ids = number(nodes)
    methods: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for function in model["functions"]:
        methods[(function["module"], function["type"] or "")].append(function)
    lines = ["classDiagram"]
    for node in nodes:
        kind = types[node]
        lines.append(f'  class {ids[node]}["{escape(kind["qualified"])}"]')
        if kind["kind"] != "class":
            lines.append(f"  <<{kind['kind']}>> {ids[node]}")
        members = methods[(kind["module"], kind["qualified"])]
        # a second colon would end the line for Mermaid
        texts = [member.replace(":", "#58;") for member in _members(members, kind)]
        lines += [f"  {ids[node]} : {text}" for text in texts]
    lines += [f"  {ids[base]} <|-- {ids[node]}" for node, base in kept]
    lines += [
        f"  {ids[start]} --> {ids[end]} : {escape(name).replace(':', '#58;')}"
        for start, end, name in _associations(types, nodes)
    ]
    return diagram("classes", ("クラス図", "Classes"), "\n".join(lines), len(nodes), omitted)


def _members(members: list[Row], kind: Row) -> list[str]:
    fields = [
        escape(_sign(f["name"], []) + f["name"] + (f": {f['type']}" if f["type"] else ""))
        for f in kind["fields"]
        if f["name"][:2] != "__"
    ]
    methods = {
        function["name"]: escape(
            f"{_sign(function['name'], function['modifiers'])}{function['name']}()"
            + (f" {function['returns']}" if function["returns"] else "")
        )
        for function in members
    }
    found = [*dict.fromkeys(fields), *methods.values()]
    if len(found) > MAX_MEMBERS:
        return [*found[: MAX_MEMBERS - 1], escape(f"… {len(found) - MAX_MEMBERS + 1}")]
    return found


def _sign(name: str, modifiers: list[str]) -> str:
    if "private" in modifiers or (name.startswith("_") and not name.endswith("__")):
        return "-"
    return "+" if "public" in modifiers else ""


def _associations(types: dict[str, Row], nodes: list[str]) -> list[tuple[str, str, str]]:
    """Return (type, type, field) where a field holds another type of the diagram."""
    names: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        names[types[node]["name"]].append(node)
    found = []
    for node in nodes:
        for field in types[node]["fields"]:
            words = re.findall(r"\w+", field["type"] or "")
            ends = [names[word][0] for word in words if len(names.get(word, ())) == 1]
            if ends and ends[0] != node:
                found.append((node, ends[0], field["name"]))
    unique = {(start, end): (start, end, name) for start, end, name in reversed(found)}
    return sorted(unique.values())[:MAX_EDGES]


def _calls(model: Row) -> Row | None:
    functions = {
        f["id"]: f for f in model["functions"] if not f["test"] and "overload" not in f["modifiers"]
    }
    edges = [
        (start, end)
        for start, targets in call_edges(model["relations"]).items()
        for end in targets
        if start in functions and end in functions and start != end
    ]
    connected = sorted({node for edge in edges for node in edge})
    nodes, kept, omitted = choose(connected, edges, _MAX_CALL_NODES)
    labels = {node: functions[node]["qualified"] for node in nodes}
    text = flowchart(labels, [(a, b, "") for a, b in kept])
    title = ("主な関数の呼び出し関係", "Calls between the main functions")
    return diagram("calls", title, text, len(nodes), omitted)


def _sequences(model: Row) -> list[Row | None]:
    functions = {f["id"]: f for f in model["functions"]}
    edges = call_edges(model["relations"])
    starts = [e["handler"] for e in model["endpoints"]] + [e["id"] for e in model["entry_points"]]
    drawn: list[Row | None] = []
    for start in dict.fromkeys(starts):
        if start not in functions or not edges.get(start) or functions[start]["test"]:
            continue
        drawn.append(_sequence(start, functions, edges, len(drawn) + 1))
        if len(drawn) == _MAX_SEQUENCES:
            break
    return drawn


def _sequence(
    start: str, functions: dict[str, Row], edges: dict[str, list[str]], position: int
) -> Row | None:
    messages: list[tuple[str, str, str]] = []
    seen = {start}
    stack = [(start, target, 1) for target in reversed(edges[start])]
    while stack and len(messages) < _MAX_MESSAGES:
        caller, target, depth = stack.pop()
        if target not in functions:
            continue
        messages.append((_actor(functions[caller]), _actor(functions[target]), target))
        if target not in seen and depth < _MAX_SEQUENCE_DEPTH:
            seen.add(target)
            following = reversed(edges.get(target, []))
            stack.extend((target, further, depth + 1) for further in following)
    actors = list(dict.fromkeys(a for message in messages for a in message[:2]))
    ids = number(actors)
    lines = ["sequenceDiagram"]
    lines += [f"  participant {ids[a]} as {escape(a)}" for a in actors]
    lines += [f"  {ids[a]}->>{ids[b]}: {escape(functions[t]['name'])}()" for a, b, t in messages]
    name = functions[start]["qualified"]
    title = (f"処理シーケンス: {name}", f"Sequence: {name}")
    return diagram(f"sequence{position}", title, "\n".join(lines), len(actors), len(stack))


def _actor(function: Row) -> str:
    module = function["module"].removeprefix("module:").rsplit("/", 1)[-1]
    return str(function["type"] or module)


def _tables(model: Row) -> Row | None:
    tables = {table["name"]: table for table in model["tables"] if table["columns"]}
    names = sorted(tables)[:MAX_CLASSES]
    ids = number(names)
    lines = ["erDiagram"]
    for name in names:
        lines.append(f'  {ids[name]}["{escape(name)}"] {{')
        for column in tables[name]["columns"]:
            kind = re.sub(r"\W+", "_", column["type"] or "unknown", flags=re.ASCII).strip("_")
            word = re.sub(r"\W+", "_", column["name"], flags=re.ASCII).strip("_") or "column"
            key = " PK" if column["key"] == "primary" else ""
            label = column["comment"] or ("" if word == column["name"] else column["name"])
            note = f' "{escape(label)}"' if label else ""
            lines.append(f"    {kind or 'unknown'} {word}{key}{note}")
        lines.append("  }")
    seen: set[tuple[str, str]] = set()
    for name in names:
        for foreign in tables[name]["foreign_keys"]:
            target = foreign["references"].split(".")[0]
            if target in ids and (name, target) not in seen and len(seen) < MAX_EDGES:
                seen.add((name, target))
                label = escape(foreign["column"])
                lines.append(f'  {ids[name]} }}o--|| {ids[target]} : "{label}"')
    title = ("ER図", "Entities")
    return diagram("tables", title, "\n".join(lines), len(names), len(tables) - len(names))
