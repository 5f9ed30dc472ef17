"""Sections 1 to 4: overview, composition, modules, dependencies."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from jobs.parsing.code2des.document_markup import Writer, cell, code, place
from jobs.parsing.code2des.document_matrix import matrix
from jobs.parsing.code2des.relations import DEPENDS

_MAX_ROWS = 500


def overview(writer: Writer, model: dict[str, Any]) -> None:
    """Write what the project is, in numbers, and what nobody can tell."""
    project, totals = model["project"], model["totals"]
    generator = project["generator"]
    grammars = ", ".join(f"{name} {v}" for name, v in sorted(generator["grammars"].items()))
    made_by = f"{generator['name']} parser {generator['version']}"
    unknown = writer.say("not_derivable")
    stated = writer.say("not_stated")
    writer.facts(
        [
            ("name", cell(project["name"])),
            ("version", cell(project["version"] or stated)),
            ("declared_summary", cell(project["summary"] or stated)),
            ("purpose", unknown),
            ("input", writer.say(f"input_{project['root_kind']}")),
            ("language", cell(", ".join(row["name"] for row in project["languages"]))),
            ("files", str(totals["files_parsed"])),
            ("lines", f"{totals['lines']:,}"),
            ("type_count", _count(writer, model, "types")),
            ("function_count", _count(writer, model, "functions")),
            ("endpoint_count", str(len(model["endpoints"]))),
            ("history", unknown),
            ("generator", cell(f"{made_by} ({grammars})" if grammars else made_by)),
            ("digest", code(project["digest"][:16])),
        ]
    )


def _count(writer: Writer, model: dict[str, Any], key: str) -> str:
    roles = {module["id"]: module["role"] for module in model["modules"]}
    tests = sum(roles[row["module"]] == "test" for row in model[key])
    total = len(model[key])
    if not tests:
        return str(total)
    return writer.say("count_with_tests", code=total - tests, test=tests)


def composition(writer: Writer, model: dict[str, Any]) -> None:
    """Write languages, external packages and the packages of the project."""
    writer.table(
        ("language", "files", "lines", "code_lines", "comment_lines"),
        [
            [
                cell(row["name"]),
                *(f"{row[key]:,}" for key in ("files", "lines", "code", "comment")),
            ]
            for row in model["project"]["languages"]
        ],
    )
    if not any(not package["ecosystem"].endswith("-stdlib") for package in model["external"]):
        writer.phrase("external_none")
    writer.diagram(model, "composition")
    writer.phrase("infrastructure")


def modules(writer: Writer, model: dict[str, Any]) -> None:
    """Write the table of modules."""
    rows = [
        [
            code(module["name"]),
            cell(module["summary"]),
            place(module["path"]),
            str(module["layer"]),
            str(module["fan_in"]),
            str(module["fan_out"]),
            cell(module["instability"]),
        ]
        for module in model["modules"]
        if module["role"] == "code"
    ]
    if rows:
        keys = ("module", "summary", "file", "layer", "fan_in", "fan_out", "instability")
        writer.table(keys, rows[:_MAX_ROWS])
        writer.phrase("layer_note")
    else:
        writer.phrase("none_found")
    tests = sum(module["role"] == "test" for module in model["modules"])
    if tests:
        functions = sum(function["test"] for function in model["functions"])
        writer.phrase("tests_note", modules=tests, functions=functions)


def dependencies(writer: Writer, model: dict[str, Any]) -> None:
    """Write the diagram of modules, the layers and the cycles."""
    names = {module["id"]: module["name"] for module in model["modules"]}
    writer.diagram(model, "modules")
    layers: dict[int, list[str]] = defaultdict(list)
    for module in model["modules"]:
        if module["role"] == "code":
            layers[module["layer"]].append(code(module["name"]))
    writer.items(
        [
            writer.say("layer_row", layer=layer, names=", ".join(layers[layer][:_MAX_ROWS]))
            for layer in sorted(layers, reverse=True)
        ]
    )
    _packages(writer, model)
    matrix(writer, model)
    if not model["cycles"]:
        writer.phrase("cycles_none")
    writer.items(
        [
            writer.say("cycle_row", number=number, names=", ".join(code(names[m]) for m in cycle))
            for number, cycle in enumerate(model["cycles"], start=1)
        ]
    )
    writer.items(
        [
            writer.say("package_cycle_row", number=number, names=", ".join(map(code, cycle)))
            for number, cycle in enumerate(model["package_cycles"], start=1)
        ]
    )
    _cycle_lines(writer, model, names)
    _violations(writer, model, names)


def _packages(writer: Writer, model: dict[str, Any]) -> None:
    if len(model["packages"]) < 2:
        return
    writer.heading(3, writer.say("packages"))
    rows = [
        [
            code(package["name"]),
            writer.say(f"role_{package['role']}") if package["role"] else cell(None),
            str(package["modules"]),
            str(package["layer"]),
            ", ".join(map(code, package["uses"])) or cell(None),
        ]
        for package in model["packages"]
    ]
    keys = ("package", "role", "module_count", "layer", "uses_packages")
    writer.table(keys, rows[:_MAX_ROWS])


def _cycle_lines(writer: Writer, model: dict[str, Any], names: dict[str, str]) -> None:
    """Write which lines close the cycles: that is where they can be cut."""
    cycle_of = {module: number for number, c in enumerate(model["cycles"], 1) for module in c}
    edges = [
        relation
        for relation in model["relations"]
        if relation["kind"] in DEPENDS
        and relation["from"] in cycle_of
        and cycle_of[relation["from"]] == cycle_of.get(relation["to"])
    ]
    rows = [
        [
            str(cycle_of[relation["from"]]),
            code(names[relation["from"]]),
            code(names[relation["to"]]),
            place(relation["from"].removeprefix("module:"), relation["lines"][0]),
        ]
        for relation in edges[:_MAX_ROWS]
    ]
    if rows:
        writer.heading(3, writer.say("cycle_lines"))
        writer.table(("number", "from_module", "to_module", "location"), rows)


def _violations(writer: Writer, model: dict[str, Any], names: dict[str, str]) -> None:
    lines = {
        (relation["from"], relation["to"]): relation["lines"][0]
        for relation in model["relations"]
        if relation["kind"] in DEPENDS
    }
    rows = [
        [
            writer.say(f"violation_{row['kind']}"),
            code(names[row["from"]]),
            code(names[row["to"]]),
            place(row["from"].removeprefix("module:"), lines[(row["from"], row["to"])]),
        ]
        for row in model["layer_violations"]
    ]
    if rows:
        writer.heading(3, writer.say("violations"))
        writer.phrase("violation_note")
        writer.table(("kind", "from_module", "to_module", "location"), rows[:_MAX_ROWS])
