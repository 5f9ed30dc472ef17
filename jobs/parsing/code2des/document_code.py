"""Sections 7 to 9: types, functions, flows."""

from __future__ import annotations

from collections import Counter, defaultdict
from heapq import nsmallest
from typing import Any

from jobs.parsing.code2des.document_markup import Writer, cell, code, place, short
from jobs.parsing.code2des.summaries import summary_of

_MAX_TYPES = 300
_MAX_FIELD_TABLES = 100
_MAX_FUNCTIONS = 300
_MAX_CALLS = 200
_MAX_BYTES = 1_500_000
_COLUMNS = ("logical_name", "physical_name", "params", "returns", "throws", "complexity", "line")
Row = dict[str, Any]


def _code_rows(model: Row, key: str) -> list[Row]:
    roles = {module["id"]: module["role"] for module in model["modules"]}
    return [row for row in model[key] if roles[row["module"]] == "code"]


def types(writer: Writer, model: Row) -> None:
    """Write the table and the diagram of classes, their fields, and enumerations."""
    found = _code_rows(model, "types")
    if not found:
        writer.phrase("none_found")
        return
    methods = Counter((f["module"], f["type"]) for f in model["functions"] if f["type"])
    names = {module["id"]: module["name"] for module in model["modules"]}
    rows = [
        [
            cell(kind["summary"]),
            code(kind["qualified"]),
            writer.say(f"kind_{kind['kind']}"),
            code(", ".join(kind["bases"])),
            f"{len(kind['fields'])} / {methods[(kind['module'], kind['qualified'])]}",
            code(names[kind["module"]]),
            place(kind["module"].removeprefix("module:"), kind["span"]["line"]),
        ]
        for kind in found[:_MAX_TYPES]
    ]
    keys = ("logical_name", "physical_name", "kind", "bases", "members", "module", "location")
    writer.table(keys, rows)
    writer.diagram(model, "classes")
    _enumerations(writer, found)
    for kind in [k for k in found if k["fields"] and k["kind"] != "enum"][:_MAX_FIELD_TABLES]:
        writer.heading(4, writer.say("fields_of", name=code(kind["qualified"])))
        writer.table(
            ("field", "data_type", "default", "comment"),
            [_field(field) for field in _unique(kind["fields"])],
        )


def _field(field: Row) -> list[str]:
    """Return name, type, default and comment of a field as cells."""
    texts = [code(field[key]) for key in ("name", "type", "default")]
    return [*texts, cell(summary_of(field["doc"]))]


def _unique(fields: list[Row]) -> list[Row]:
    """Return the fields by name: a bare annotation and its later value are one field."""
    merged: dict[str, Row] = {}
    for field in fields:
        known = merged.setdefault(field["name"], dict(field))
        for key, value in field.items():
            known[key] = known[key] or value
    return list(merged.values())


def _enumerations(writer: Writer, found: list[Row]) -> None:
    enumerations = [kind for kind in found if kind["kind"] == "enum" and kind["fields"]]
    if not enumerations:
        return
    writer.heading(3, writer.say("enum_values"))
    writer.table(
        ("class", "name", "content", "comment"),
        [
            [
                code(kind["qualified"]),
                code(f["name"]),
                code(f["default"]),
                cell(summary_of(f["doc"])),
            ]
            for kind in enumerations
            for f in _constants(kind)
        ],
    )


def _constants(kind: Row) -> list[Row]:
    """Return the constants of an enumeration: its fields without a type, if there are such."""
    return [f for f in kind["fields"] if f["type"] is None] or list(kind["fields"])


def functions(writer: Writer, model: Row) -> None:
    """Write a table of functions for each module."""
    found = [f for f in model["functions"] if not f["test"]]
    overloads = sum("overload" in f["modifiers"] for f in found)
    found = [f for f in found if "overload" not in f["modifiers"]]
    if not found:
        writer.phrase("none_found")
        return
    total = len(found)
    if total > _MAX_FUNCTIONS:
        best = nsmallest(
            _MAX_FUNCTIONS, found, key=lambda f: (not f["public"], -f["rank"], f["id"])
        )
        kept = {f["id"] for f in best}
        found = [f for f in found if f["id"] in kept]
        writer.phrase("functions_selected", shown=len(found), total=total)
    if overloads:
        writer.phrase("overloads_note", count=overloads)
    names = {module["id"]: module["name"] for module in model["modules"]}
    by_module: dict[str, list[Row]] = defaultdict(list)
    for function in found:
        by_module[function["module"]].append(function)
    for module, members in by_module.items():
        if writer.size > _MAX_BYTES:
            writer.phrase("warnings_more", count=len(members))
            continue
        writer.heading(3, code(names[module]))
        writer.table(_COLUMNS, [_function(function) for function in members])


def _function(function: Row) -> list[str]:
    params = [_parameter(param) for param in function["params"]]
    span = function["span"]
    return [
        cell(function["summary"]),
        code(function["qualified"]),
        "<br>".join(code(param) for param in params) or cell(None),
        code(function["returns"]),
        ", ".join(code(name) for name in function["throws"]) or cell(None),
        str(function["metrics"]["cyclomatic"]),
        f"{span['line']}–{span['end']}",
    ]


def _parameter(param: Row) -> str:
    kind = f": {param['type']}" if param["type"] else ""
    default = f" = {param['default']}" if param["default"] else ""
    return f"{param['name']}{kind}{default}"


def flows(writer: Writer, model: Row) -> None:
    """Write the call graph, the sequences and the table of calls between modules."""
    writer.phrase("calls_note")
    drawn = [writer.diagram(model, "calls")]
    for entry in model["diagrams"]:
        if entry["id"].startswith("sequence"):
            drawn.append(writer.diagram(model, entry["id"]))
    tests = {f["id"] for f in model["functions"] if f["test"]}
    tests.update(m["id"] for m in model["modules"] if m["role"] == "test")
    calls = [
        relation
        for relation in model["relations"]
        if relation["kind"] in ("calls", "creates", "jumps")
        and relation["confidence"] != "ambiguous"
        and relation["from"] not in tests
    ]
    if not calls:
        if not any(drawn):
            writer.phrase("none_found")
        return
    rows = [
        [
            code(short(call["from"])),
            code(short(call["to"])),
            writer.say(f"relation_{call['kind']}"),
            writer.say(f"confidence_{call['confidence']}"),
            cell(", ".join(map(str, call["lines"][:5]))),
        ]
        for call in calls[:_MAX_CALLS]
    ]
    writer.table(("caller", "callee", "kind", "confidence", "line"), rows)
    if len(calls) > _MAX_CALLS:
        writer.phrase("warnings_more", count=len(calls) - _MAX_CALLS)
