"""Sections 5, 6 and 10 to 12: entry points, endpoints, data, external packages."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from jobs.parsing.code2des.document_markup import Writer, cell, code, place, short
from jobs.parsing.code2des.document_screens import screens

_MAX_ROWS = 500
_MAX_USERS = 5


def entry_points(writer: Writer, model: dict[str, Any]) -> None:
    """Write what starts from outside."""
    functions = {function["id"]: function for function in model["functions"]}
    rows = [
        [
            writer.say(f"entry_{entry['kind']}"),
            code(entry["name"] or short(entry["id"])),
            cell(functions.get(entry["id"], {}).get("summary")),
            code(short(entry["id"])),
            place(entry["file"], entry["line"]),
        ]
        for entry in model["entry_points"]
    ]
    rows += [
        [
            writer.say("entry_route"),
            code(f"{endpoint['method']} {endpoint['path']}"),
            cell(functions.get(endpoint["handler"], {}).get("summary")),
            code(short(endpoint["handler"] or "")),
            place(endpoint["file"], endpoint["line"]),
        ]
        for endpoint in model["endpoints"]
    ]
    if rows:
        writer.table(("kind", "name", "summary", "target", "location"), rows[:_MAX_ROWS])
    else:
        writer.phrase("none_found")
        writer.phrase("library_note")
    screens(writer, model)


def endpoints(writer: Writer, model: dict[str, Any]) -> None:
    """Write the routes."""
    functions = {function["id"]: function for function in model["functions"]}
    rows = [
        [
            cell(endpoint["method"]),
            code(endpoint["path"]),
            cell(functions.get(endpoint["handler"], {}).get("summary")),
            code(short(endpoint["handler"] or "")),
            cell(", ".join(endpoint["params"])),
            cell(endpoint["framework"]),
            place(endpoint["file"], endpoint["line"]),
        ]
        for endpoint in model["endpoints"]
    ]
    keys = ("method", "path", "summary", "handler", "path_params", "framework", "location")
    if rows:
        writer.table(keys, rows[:_MAX_ROWS])
    else:
        writer.phrase("none_found")


def data_model(writer: Writer, model: dict[str, Any]) -> None:
    """Write tables of DDL, mapped classes and SQL, and the files of COBOL programs."""
    _data_files(writer, model)
    if not model["tables"]:
        writer.phrase("none_found")
        return
    writer.phrase("sql_note")
    _table_list(writer, model)
    writer.diagram(model, "tables")
    for table in model["tables"][:_MAX_ROWS]:
        comment = f" {cell(table['comment'])}" if table["comment"] else ""
        writer.heading(3, code(table["name"]) + comment)
        if table["kind"] == "view":
            writer.phrase("view_note")
        if not table["columns"]:
            writer.phrase("columns_unknown")
            continue
        rows = [
            [
                code(column["name"]),
                code(column["type"]),
                cell({True: "○", False: "×"}.get(column["null"])),
                "PK" if column["key"] == "primary" else _foreign(table, column["name"]),
                cell(column["comment"]),
            ]
            for column in table["columns"]
        ]
        writer.table(("column", "data_type", "null", "key", "comment"), rows)


def _data_files(writer: Writer, model: dict[str, Any]) -> None:
    uses: dict[tuple[str, str], list[str]] = defaultdict(list)
    for relation in model["relations"]:
        if relation["kind"] in ("reads", "writes"):
            uses[(relation["to"], relation["kind"])].append(code(short(relation["from"])))
    rows = [
        [
            code(kind["qualified"]),
            code(", ".join(kind["bases"])),
            ", ".join(uses[(kind["id"], "reads")]) or cell(None),
            ", ".join(uses[(kind["id"], "writes")]) or cell(None),
            place(kind["module"].removeprefix("module:"), kind["span"]["line"]),
        ]
        for kind in model["types"]
        if kind["kind"] == "file"
    ]
    if rows:
        writer.heading(3, writer.say("data_files"))
        keys = ("file", "external_name", "read_by", "written_by", "location")
        writer.table(keys, rows[:_MAX_ROWS])


def _table_list(writer: Writer, model: dict[str, Any]) -> None:
    rows = [
        [
            code(table["name"]),
            cell(table["comment"]),
            writer.say("view" if table["kind"] == "view" else "table"),
            writer.say(f"source_{table['source']}"),
            code(short(table["type"] or "")),
            ", ".join(map(code, table["indexes"])) or cell(None),
            place(table["file"], table["line"]),
        ]
        for table in model["tables"][:_MAX_ROWS]
    ]
    keys = ("table", "summary", "kind", "origin", "entity", "indexes", "location")
    writer.table(keys, rows)


def _foreign(table: dict[str, Any], column: str) -> str:
    targets = [f["references"] for f in table["foreign_keys"] if f["column"] == column]
    return cell(f"FK → {targets[0]}" if targets else None)


def crud(writer: Writer, model: dict[str, Any]) -> None:
    """Write which function does what to which table."""
    rows = [
        [code(row["table"]), code(short(row["function"])), *_marks(row["ops"])]
        for row in model["crud"]
    ]
    if rows:
        writer.phrase("crud_note")
        writer.table(("table", "function", "create", "read", "update", "delete"), rows[:_MAX_ROWS])
    else:
        writer.phrase("none_found")


def _marks(operations: str) -> list[str]:
    return ["○" if operation in operations else "" for operation in "CRUD"]


def external(writer: Writer, model: dict[str, Any]) -> None:
    """Write what the project stands on; the standard library on one line a module."""
    modules = {module["id"]: module for module in model["modules"]}
    groups: dict[str, list[list[str]]] = defaultdict(list)
    for package in model["external"]:
        users = [modules[m]["name"] for m in package["used_by"] if modules[m]["role"] == "code"]
        groups[package["ecosystem"]].append(
            [
                writer.say(f"ecosystem_{package['ecosystem']}"),
                code(package["name"]),
                cell(package["version"]),
                place(package["source_file"]) if package["source_file"] else cell(None),
                _users(users) or (writer.say("tests_only") if package["used_by"] else cell(None)),
            ]
        )
    rows = [row for name in sorted(groups) for row in groups[name]]
    if rows:
        keys = ("ecosystem", "package", "version", "declared_in", "used_by")
        writer.table(keys, rows[:_MAX_ROWS])
    else:
        writer.phrase("none_found")


def _users(names: list[str]) -> str:
    shown = ", ".join(code(name) for name in names[:_MAX_USERS])
    if len(names) > _MAX_USERS:
        return f"{shown} … ({len(names)})"
    return shown
