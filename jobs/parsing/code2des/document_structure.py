"""Sections 1 to 4: overview, composition, modules, dependencies."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from jobs.parsing.code2des.document_markup import Writer, cell, code, place

_MAX_ROWS = 500


def overview(writer: Writer, model: dict[str, Any]) -> None:
    """Write what the project is, in numbers, and what nobody can tell."""
    project, totals = model["project"], model["totals"]
    generator = project["generator"]
    grammars = ", ".join(f"{name} {v}" for name, v in sorted(generator["grammars"].items()))
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
            ("generator", cell(f"{generator['name']} parser {generator['version']} ({grammars})")),
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
    if not any(package["ecosystem"] == "pypi" for package in model["external"]):
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
    if not model["cycles"]:
        writer.phrase("cycles_none")
    writer.items(
        [
            writer.say("cycle_row", number=number, names=", ".join(code(names[m]) for m in cycle))
            for number, cycle in enumerate(model["cycles"], start=1)
        ]
    )
