"""Tables of Python: SQLAlchemy and Django classes, Peewee fields."""

from __future__ import annotations

import re

from jobs.parsing.code2des.facts import Column, ForeignKey, Table, Type

_COLUMN = re.compile(r"(?:\w+\.)*(mapped_column|Column|\w+Field)\((.*)", re.DOTALL)
_FOREIGN = re.compile(r"ForeignKey(?:Field)?\(\s*([\"']?)([\w.]+)\1")
_PRIMARY = re.compile(r"primary_key\s*=\s*True")
_NULLABLE = re.compile(r"null(?:able)?\s*=\s*(True|False)")


def read_table(kind: Type) -> Table | None:
    """Return the table that a class maps, None when it maps none."""
    table = Table(name=kind.name, source="orm", type=kind.qualified, line=kind.span.line)
    table.comment = kind.doc
    is_model = any(base.split(".")[-1] == "Model" for base in kind.bases)
    for field in kind.fields:
        if field.name == "__tablename__" and field.default:
            table.name = field.default.strip("\"'")
            is_model = True
        match = _COLUMN.match(field.default or "")
        if match is None:
            continue
        arguments = match.group(2)
        nullable = _NULLABLE.search(arguments)
        table.columns.append(
            Column(
                name=field.name,
                type=_column_type(match.group(1), arguments, field.type),
                null=nullable.group(1) == "True" if nullable else None,
                key="primary" if _PRIMARY.search(arguments) else None,
                comment=field.doc,
            )
        )
        if target := _FOREIGN.search(field.default or ""):
            table.foreign_keys.append(_foreign(field.name, target.group(2)))
    return table if table.columns and is_model else None


def _foreign(column: str, target: str) -> ForeignKey:
    table, _, name = target.partition(".")
    if name:
        return ForeignKey(column=column, table=table, target=name)
    return ForeignKey(column=column, entity=table)


def _column_type(word: str, arguments: str, annotation: str | None) -> str | None:
    if word.endswith("Field"):
        return word.removesuffix("Field")
    first = re.match(r"\s*(?:\w+\.)*([A-Z]\w*)", arguments)
    if first and first.group(1) != "ForeignKey":
        return first.group(1)
    return annotation
