"""Tables and their use, as far as code tells: ORM classes and SQL in string literals."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from jobs.parsing.code2des.facts import FileFacts, Type
from jobs.parsing.code2des.index import Index

_COLUMN = re.compile(r"(?:\w+\.)*(mapped_column|Column|\w+Field)\((.*)", re.DOTALL)
_FOREIGN = re.compile(r"ForeignKey(?:Field)?\(\s*([\"']?)([\w.]+)\1")
_PRIMARY = re.compile(r"primary_key\s*=\s*True")
_NULLABLE = re.compile(r"null(?:able)?\s*=\s*(True|False)")
_OPERATIONS = "CRUD"


def orm_tables(files: Sequence[FileFacts], index: Index) -> list[dict[str, Any]]:
    """Return tables: classes with ORM columns, and tables that only SQL strings name."""
    tables: dict[str, dict[str, Any]] = {}
    for facts in files:
        for kind in facts.types:
            table = _table(kind, index.ids[id(kind)])
            if table is not None:
                tables.setdefault(table["name"], table)
    for facts in files:
        for use in facts.sql:
            empty: dict[str, Any] = {
                "source": "sql_literal",
                "type": None,
                "columns": [],
                "foreign_keys": [],
            }
            tables.setdefault(use.table, {"name": use.table, **empty, "indexes": []})
    return [tables[name] for name in sorted(tables)]


def _table(kind: Type, identifier: str) -> dict[str, Any] | None:
    columns, foreign = [], []
    name = None
    for field in kind.fields:
        if field.name == "__tablename__" and field.default:
            name = field.default.strip("\"'")
        match = _COLUMN.match(field.default or "")
        if match is None:
            continue
        arguments = match.group(2)
        nullable = _NULLABLE.search(arguments)
        columns.append(
            {
                "name": field.name,
                "type": _column_type(match.group(1), arguments, field.type),
                "null": nullable.group(1) == "True" if nullable else None,
                "key": "primary" if _PRIMARY.search(arguments) else None,
                "default": None,
                "comment": field.doc,
            }
        )
        if target := _FOREIGN.search(field.default or ""):
            foreign.append({"column": field.name, "references": target.group(2)})
    is_model = name is not None or any(base.split(".")[-1] == "Model" for base in kind.bases)
    if not columns or not is_model:
        return None
    return {
        "name": name or kind.name,
        "source": "orm",
        "type": identifier,
        "columns": columns,
        "foreign_keys": foreign,
        "indexes": [],
    }


def _column_type(word: str, arguments: str, annotation: str | None) -> str | None:
    if word.endswith("Field"):
        return word.removesuffix("Field")
    first = re.match(r"\s*(?:\w+\.)*([A-Z]\w*)", arguments)
    if first and first.group(1) != "ForeignKey":
        return first.group(1)
    return annotation


def crud_rows(files: Sequence[FileFacts], index: Index) -> list[dict[str, Any]]:
    """Return what each function does to each table by its SQL strings."""
    uses: dict[tuple[str, str], set[str]] = defaultdict(set)
    for facts in files:
        entry = index.files[facts.source.path]
        for use in facts.sql:
            function = entry.functions.get(use.function, f"module:{facts.source.path}")
            uses[(use.table, function)].add(use.operation)
    return [
        {"table": table, "function": function, "ops": "".join(o for o in _OPERATIONS if o in ops)}
        for (table, function), ops in sorted(uses.items())
    ]
