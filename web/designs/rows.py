"""The rows of a design workbook's lists, from the stored model alone; nothing is made up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]  # an object of the stored code2des/1 model: plain JSON


@dataclass(frozen=True)
class Place:
    """A line of a source file, or the file; the sheet links to it."""

    path: str
    line: int | None


Value = str | int | float | Place | None
Rows = Iterator[tuple[Value, ...]]


def _path(node: str) -> str:
    """Return the file of a module's or a member's id: `module:a.py`, `python:a.py#f(int)`."""
    return node.partition(":")[2].partition("#")[0]


def files(model: Row) -> Rows:
    """Yield path, language, encoding, newline, bytes, lines, status, reason."""
    for file in model["files"]:
        where = file["path"] if file["status"] == "skipped" else Place(file["path"], None)
        about = (file["language"], file["encoding"], file["newline"], file["bytes"])
        yield (where, *about, file["lines"], file["status"], file["reason"])


def modules(model: Row) -> Rows:
    """Yield summary, name, language, role, layer, fans, instability, place."""
    for module in model["modules"]:
        about = (module["summary"], module["name"], module["language"], module["role"])
        fans = (module["fan_in"], module["fan_out"], module["instability"])
        yield (*about, module["layer"], *fans, Place(module["path"], None))


def types(model: Row) -> Rows:
    """Yield summary, name, kind, bases, number of fields, place."""
    for kind in model["types"]:
        about = (kind["summary"], kind["qualified"], kind["kind"], ", ".join(kind["bases"]))
        yield (*about, len(kind["fields"]), Place(_path(kind["module"]), kind["span"]["line"]))


def fields(model: Row) -> Rows:
    """Yield type, field, its type, default, comment."""
    for kind in model["types"]:
        for field in kind["fields"]:
            yield (kind["qualified"], field["name"], field["type"], field["default"], field["doc"])


def functions(model: Row) -> Rows:
    """Yield summary, name, signature, returns, throws, metrics, place."""
    for function in model["functions"]:
        metrics, span = function["metrics"], function["span"]
        yield (
            function["summary"],
            function["qualified"],
            function["signature"],
            function["returns"],
            ", ".join(function["throws"]),
            metrics["cyclomatic"],
            metrics["lines"],
            metrics["fan_in"],
            Place(_path(function["module"]), span["line"]),
        )


def endpoints(model: Row) -> Rows:
    """Yield method, path, handler, framework, place."""
    for endpoint in model["endpoints"]:
        handler = endpoint["handler"] or ""
        about = (endpoint["method"], endpoint["path"], handler.partition("#")[2] or handler)
        yield (*about, endpoint["framework"], Place(endpoint["file"], endpoint["line"]))


def screens(model: Row) -> Rows:
    """Yield screen, kind, heading, routes, numbers of fields and links, place."""
    for screen in model.get("screens", ()):
        count = len(screen["fields"]) + sum(len(form["fields"]) for form in screen["forms"])
        about = (screen["name"], screen["kind"], screen["title"], ", ".join(screen["routes"]))
        yield (*about, count, len(screen["links"]), Place(screen["file"], screen["line"]))


def screen_fields(model: Row) -> Rows:
    """Yield screen, form, label, name, type, whether required, place."""
    for screen in model.get("screens", ()):
        forms = [(_form(form), form["fields"]) for form in screen["forms"]]
        for form, fields in [*forms, (None, screen["fields"])]:
            for field in fields:
                about = (screen["name"], form, field["label"], field["name"], field["type"])
                where = Place(screen["file"], field["line"])
                yield (*about, "○" if field["required"] else "", where)


def transitions(model: Row) -> Rows:
    """Yield screen, operation, target as written, the screen it is, place."""
    found = model.get("screens", ())
    names = {screen["id"]: screen["name"] for screen in found}
    for screen in found:
        ways = [(k["text"], k["target"], k["screen"], k["line"]) for k in screen["links"]]
        ways += [
            (form["method"], form["action"], form["screen"], form["line"])
            for form in screen["forms"]
            if form["action"]
        ]
        for words, target, leads, line in ways:
            where = Place(screen["file"], line)
            yield (screen["name"], words, target, names.get(leads or ""), where)


def _form(form: Row) -> str:
    return " ".join(part for part in (form["name"], form["method"], form["action"]) if part)


def entry_points(model: Row) -> Rows:
    """Yield kind, name, what starts, place."""
    for entry in model["entry_points"]:
        file = entry["file"]
        where = Place(file, entry["line"]) if file else None
        yield (entry["kind"], entry["name"], entry["id"], where)


def tables(model: Row) -> Rows:
    """Yield table, numbers of columns and indexes, source, place."""
    for table in model["tables"]:
        defined = table["type"] and Place(_path(table["type"]), None)
        counts = (len(table["columns"]), len(table["indexes"]))
        yield (table["name"], *counts, table["source"], defined)


def columns(model: Row) -> Rows:
    """Yield table, comment, name, type, nullable, key, default, target."""
    for table in model["tables"]:
        target = {key["column"]: key["references"] for key in table["foreign_keys"]}
        for column in table["columns"]:
            about = (table["name"], column["comment"], column["name"], column["type"])
            null = {True: "○", False: "×"}.get(column["null"], "")
            yield (*about, null, column["key"], column["default"], target.get(column["name"]))


def crud(model: Row) -> Rows:
    """Yield function, table, the four marks, file."""
    for row in model["crud"]:
        marks = ("○" if letter in row["ops"] else "" for letter in "CRUD")
        yield (row["function"].partition("#")[2], row["table"], *marks, _path(row["function"]))


def external(model: Row) -> Rows:
    """Yield package, version, kind, manifest, users."""
    for package in model["external"]:
        about = (package["name"], package["version"], package["ecosystem"])
        users = ", ".join(module.removeprefix("module:") for module in package["used_by"])
        yield (*about, package["source_file"], users)


def relations(model: Row) -> Rows:
    """Yield from, kind, to, confidence, place."""
    for relation in model["relations"]:
        line = relation["lines"][0] if relation["lines"] else None
        ends = (relation["from"], relation["kind"], relation["to"])
        yield (*ends, relation["confidence"], Place(_path(relation["from"]), line))


def hotspots(model: Row) -> Rows:
    """Yield function, score, complexity, callers."""
    for spot in model["hotspots"]:
        yield (spot["id"].partition("#")[2], spot["score"], spot["cyclomatic"], spot["fan_in"])


def warnings(model: Row) -> Rows:
    """Yield code, path, line, detail."""
    for warning in model["warnings"]:
        yield (warning["code"], warning["path"], warning["line"], warning["detail"])
