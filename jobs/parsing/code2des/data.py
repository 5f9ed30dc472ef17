"""Tables and their use: DDL, mapped classes, SQL in strings, methods of repositories."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from jobs.parsing.code2des.facts import Column, FileFacts, ForeignKey, Table
from jobs.parsing.code2des.index import Index
from jobs.parsing.code2des.summaries import summary_of

_OPERATIONS = "CRUD"
_REPOSITORY = re.compile(r"(?:Repository|Dao|DAO|Mapper|Repo)(?:Impl)?$")
_VERBS = (
    ("C", re.compile(r"^(?:save|insert|create|add|persist|store)", re.IGNORECASE)),
    ("R", re.compile(r"^(?:find|get|select|read|count|exists|list|search|load|query)", re.I)),
    ("U", re.compile(r"^(?:update|merge|save)", re.IGNORECASE)),
    ("D", re.compile(r"^(?:delete|remove|purge)", re.IGNORECASE)),
)
Row = dict[str, Any]


def find_tables(files: Sequence[FileFacts], index: Index) -> list[Row]:
    """Return all tables and views: DDL over mapped classes over names in SQL strings."""
    declared = [(table, facts) for facts in files for table in facts.tables]
    declared.sort(key=lambda entry: entry[0].source != "ddl")
    entities = _entities(declared, index)
    names = {identifier: table.name for identifier, table in entities.items()}
    tables: dict[str, Row] = {}
    for table, facts in declared:
        row = _row(table, facts, index, names)
        known = tables.setdefault(table.name.casefold(), row)
        if known is not row:
            known["type"] = known["type"] or row["type"]
            known["comment"] = known["comment"] or row["comment"]
            known["indexes"] = sorted({*known["indexes"], *row["indexes"]})
            known["columns"] = known["columns"] or row["columns"]
    for facts in files:
        source = "exec_sql" if facts.source.language == "cobol" else "sql_literal"
        for use in facts.sql:
            named = Table(name=use.table, source=source, line=use.line)
            tables.setdefault(use.table.casefold(), _row(named, facts, index, names))
    return sorted(tables.values(), key=lambda row: row["name"])


def _entities(declared: list[tuple[Table, FileFacts]], index: Index) -> dict[str, Table]:
    found = {}
    for table, facts in declared:
        identifier = index.files[facts.source.path].types.get(table.type or "")
        if identifier is not None:
            found[identifier] = table
    return found


def _row(table: Table, facts: FileFacts, index: Index, names: dict[str, str]) -> Row:
    path = facts.source.path
    columns: list[Column] = table.columns
    return {
        "name": table.name,
        "kind": table.kind,
        "source": table.source,
        "type": index.files[path].types.get(table.type or ""),
        "comment": summary_of(table.comment),
        "columns": [asdict(column) for column in columns],
        "foreign_keys": [
            {"column": key.column, "references": _target(key, path, index, names)}
            for key in table.foreign_keys
        ],
        "indexes": table.indexes,
        "file": path,
        "line": table.line,
    }


def _target(key: ForeignKey, path: str, index: Index, names: dict[str, str]) -> str:
    if key.table:
        return f"{key.table}.{key.target}" if key.target else key.table
    found = index.find_type(key.entity, path)
    return names.get(found or "", key.entity)


def crud_rows(
    files: Sequence[FileFacts], index: Index, tables: Sequence[Row], relations: Sequence[Row]
) -> list[Row]:
    """Return what each function does to each table: by its SQL, or through a repository."""
    uses: dict[tuple[str, str], set[str]] = defaultdict(set)
    spelled = {table["name"].casefold(): table["name"] for table in tables}
    for facts in files:
        path = facts.source.path
        for use in facts.sql:
            function = index.function_at(use.function, path, use.line) or f"module:{path}"
            uses[(spelled.get(use.table.casefold(), use.table), function)].add(use.operation)
    repository = _repository_methods(files, index, tables)
    for identifier, (table, operations) in repository.items():
        uses[(table, identifier)] |= operations
    for relation in relations:
        is_sure = relation["kind"] == "calls" and relation["confidence"] != "ambiguous"
        if is_sure and relation["to"] in repository and relation["from"] not in repository:
            table, operations = repository[relation["to"]]
            uses[(table, relation["from"])] |= operations
    return [
        {"table": table, "function": function, "ops": "".join(o for o in _OPERATIONS if o in ops)}
        for (table, function), ops in sorted(uses.items())
    ]


def _repository_methods(
    files: Sequence[FileFacts], index: Index, tables: Sequence[Row]
) -> dict[str, tuple[str, set[str]]]:
    """Return methods of repositories by name and entity: only for entities with a table."""
    names = {table["type"]: table["name"] for table in tables if table["type"]}
    found: dict[str, tuple[str, set[str]]] = {}
    for facts in files if names else ():
        path = facts.source.path
        for function in facts.functions:
            owner = function.owner or ""
            operations = {word for word, verb in _VERBS if verb.match(function.name)}
            if not operations or not _REPOSITORY.search(owner):
                continue
            written = [function.returns or "", *(param.type or "" for param in function.params)]
            words = dict.fromkeys(re.findall(r"\w+", " ".join(written)))
            for word in words:
                kind = index.find_type(word, path)
                if kind in names:
                    found[index.ids[id(function)]] = (names[kind], operations)
                    break
    return found
