"""SQL: tables, views, indexes and keys of DDL, statement by statement, whatever the dialect."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import PurePosixPath

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from jobs.parsing.code2des.facts import (
    Column,
    FileFacts,
    ForeignKey,
    Function,
    Import,
    SourceFile,
    Span,
    Table,
)
from jobs.parsing.code2des.resolving import ImportResolver, Target
from jobs.parsing.code2des.sql_text import Statement, comment_above, comment_of, split

__all__ = ["Resolver", "analyse", "grammars"]

_DIALECTS = (None, "postgres", "mysql", "tsql", "oracle", "sqlite")
_DDL = re.compile(
    r"\s*(?:CREATE\s+(?:OR\s+REPLACE\s+)?(?:GLOBAL\s+|LOCAL\s+|TEMP(?:ORARY)?\s+|UNIQUE\s+|"
    r"MATERIALIZED\s+|CLUSTERED\s+|NONCLUSTERED\s+)*(?:TABLE|VIEW|INDEX)|ALTER\s+TABLE|COMMENT\s+ON)\b",
    re.IGNORECASE,
)
_ROUTINE = re.compile(
    r"\s*CREATE\s+(?:OR\s+(?:REPLACE|ALTER)\s+)?(PROCEDURE|FUNCTION|TRIGGER|PACKAGE)\s+"
    r"(?:BODY\s+)?([\w.\"\[\]`]+)",
    re.IGNORECASE,
)
_COMMENT_ON = re.compile(
    r"\s*COMMENT\s+ON\s+(TABLE|COLUMN)\s+([\w.\"]+)\s+IS\s+'((?:[^']|'')*)'", re.IGNORECASE
)
_NAME = re.compile(
    r"\s*CREATE\s+[\w\s]*?\b(TABLE|VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?([^\s(]+)", re.IGNORECASE
)


@lru_cache(maxsize=1)
def grammars() -> dict[str, str]:
    """Return name and version of the SQL parser; loads every dialect, for a child may not."""
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    for dialect in _DIALECTS:
        sqlglot.parse_one("CREATE TABLE a (b INT)", dialect=dialect)
    return {"sqlglot": version("sqlglot")}


def analyse(source: SourceFile) -> FileFacts:
    """Return the tables of one file; a statement that nothing understands is counted."""
    grammars()
    facts = FileFacts(source=source)
    lines = source.text.split("\n")
    facts.comment_lines = sum(line.lstrip().startswith("--") for line in lines)
    facts.code_lines = sum(bool(line.strip()) for line in lines) - facts.comment_lines
    tables: dict[str, Table] = {}
    dialect: str | None = None
    for statement in split(source.text):
        if match := _ROUTINE.match(statement.text):
            facts.functions.append(_routine(match, statement, lines))
        elif match := _COMMENT_ON.match(statement.text):
            _comment(match, tables)
        elif _DDL.match(statement.text):
            tree, dialect = _parse(statement.text, dialect)
            if tree is None:
                _by_name(statement, facts, tables)
            else:
                _read(tree, statement, lines, tables)
    facts.tables = list(tables.values())
    facts.doc = comment_above(lines, 1)
    return facts


def _parse(text: str, first: str | None) -> tuple[exp.Expression | None, str | None]:
    """Return the tree by the first dialect that takes the statement, the last good one first."""
    for dialect in dict.fromkeys([first, *_DIALECTS]):
        try:
            tree = sqlglot.parse_one(text, dialect=dialect)
        except (SqlglotError, RecursionError, ValueError):
            continue
        if isinstance(tree, (exp.Create, exp.Alter)):
            return tree, dialect
    return None, first


def _by_name(statement: Statement, facts: FileFacts, tables: dict[str, Table]) -> None:
    """Take the name alone from a statement that no dialect understands."""
    facts.error_nodes += 1
    facts.error_line = facts.error_line or statement.line
    if match := _NAME.match(statement.text):
        name = re.sub(r"[\"`\[\]]", "", match.group(2)).rpartition(".")[2]
        kind = match.group(1).lower()
        tables.setdefault(
            name.casefold(), Table(name=name, source="ddl", kind=kind, line=statement.line)
        )


def _read(
    tree: exp.Expression, statement: Statement, lines: list[str], tables: dict[str, Table]
) -> None:
    if isinstance(tree, exp.Alter):
        altered = tables.get(tree.this.name.casefold())
        keys = [key for part in tree.find_all(exp.ForeignKey) for key in _foreign(part)]
        if altered is not None:
            altered.foreign_keys.extend(keys)
        return
    if not isinstance(tree, exp.Create):
        return
    if tree.kind == "INDEX":
        index = tree.this
        table = index.args.get("table")
        found = tables.get(table.name.casefold()) if table is not None else None
        if found is not None and index.name:
            found.indexes = sorted({*found.indexes, index.name})
        return
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    if tree.kind not in ("TABLE", "VIEW") or not isinstance(target, exp.Table):
        return
    table = Table(name=target.name, source="ddl", kind=tree.kind.lower(), line=statement.line)
    table.comment = _property(tree) or comment_above(lines, statement.line)
    if isinstance(tree.this, exp.Schema):
        _columns(tree.this, table, statement, lines)
    elif isinstance(tree.expression, exp.Select):
        table.columns = [Column(name=name) for name in tree.expression.named_selects if name]
    tables.setdefault(table.name.casefold(), table)


def _property(tree: exp.Expression) -> str | None:
    found = tree.find(exp.SchemaCommentProperty)
    return found.this.name if found is not None else None


def _columns(schema: exp.Schema, table: Table, statement: Statement, lines: list[str]) -> None:
    keys: set[str] = set()
    for part in schema.expressions:
        if isinstance(part, exp.ColumnDef):
            table.columns.append(_column(part, table, statement, lines))
            continue
        for key in part.find_all(exp.PrimaryKey):
            keys |= {e.name.casefold() for e in key.expressions}
        for foreign in part.find_all(exp.ForeignKey):
            table.foreign_keys.extend(_foreign(foreign))
    for column in table.columns:
        if column.name.casefold() in keys:
            column.key, column.null = "primary", False


def _column(part: exp.ColumnDef, table: Table, statement: Statement, lines: list[str]) -> Column:
    found = Column(name=part.name, type=part.kind.sql() if part.kind else None)
    found.comment = comment_of(lines, statement, part.name)
    for constraint in part.constraints:
        kind = constraint.kind
        if isinstance(kind, exp.PrimaryKeyColumnConstraint):
            found.key, found.null = "primary", False
        elif isinstance(kind, exp.NotNullColumnConstraint):
            found.null = bool(kind.args.get("allow_null"))
        elif isinstance(kind, exp.DefaultColumnConstraint):
            found.default = kind.this.sql()
        elif isinstance(kind, exp.CommentColumnConstraint):
            found.comment = kind.this.name
        elif isinstance(kind, exp.Reference):
            table.foreign_keys.append(_reference(part.name, kind))
    if found.null is None and found.key is None:
        found.null = True
    return found


def _foreign(key: exp.ForeignKey) -> list[ForeignKey]:
    reference = key.args.get("reference")
    if not isinstance(reference, exp.Reference):
        return []
    return [
        _reference(column.name, reference, position)
        for position, column in enumerate(key.expressions)
    ]


def _reference(column: str, reference: exp.Reference, position: int = 0) -> ForeignKey:
    schema = reference.this
    if isinstance(schema, exp.Schema):
        names = [part.name for part in schema.expressions]
        target = names[position] if position < len(names) else ""
        return ForeignKey(column=column, table=schema.this.name, target=target)
    return ForeignKey(column=column, table=schema.name)


def _routine(match: re.Match[str], statement: Statement, lines: list[str]) -> Function:
    name = re.sub(r"[\"`\[\]]", "", match.group(2))
    return Function(
        name=name.rpartition(".")[2],
        qualified=name.rpartition(".")[2],
        owner=None,
        kind="function",
        params=[],
        returns=None,
        modifiers=[match.group(1).lower()],
        decorators=[],
        doc=comment_above(lines, statement.line),
        span=Span(statement.line, statement.line + statement.text.strip().count("\n")),
    )


def _comment(match: re.Match[str], tables: dict[str, Table]) -> None:
    parts = match.group(2).replace('"', "").split(".")
    text = match.group(3).replace("''", "'")
    if match.group(1).upper() == "TABLE":
        found = tables.get(parts[-1].casefold())
        if found is not None:
            found.comment = text
        return
    found = tables.get(parts[-2].casefold()) if len(parts) > 1 else None
    for column in found.columns if found is not None else ():
        if column.name.casefold() == parts[-1].casefold():
            column.comment = text


class Resolver(ImportResolver):
    """SQL files import nothing."""

    def __init__(self, files: Sequence[FileFacts]) -> None:
        del files

    def module_name(self, path: str) -> str:
        """Return the path."""
        return path

    def package_of(self, path: str) -> str:
        """Return the folder."""
        return str(PurePosixPath(path).parent)

    def resolve(self, entry: Import, path: str) -> Target:
        """Return nothing: there are no imports."""
        del path
        return Target(external=entry.module, ecosystem="unresolved")
