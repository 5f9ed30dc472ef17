"""Rows of the model for single definitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jobs.parsing.code2des.facts import FileFacts, Function, Type, Variable
from jobs.parsing.code2des.relations import module_id
from jobs.parsing.code2des.summaries import is_public, is_test, summary_of

Row = dict[str, Any]


def _variables(variables: Sequence[Variable]) -> list[Row]:
    return [{"name": v.name, "type": v.type, "default": v.default, "doc": v.doc} for v in variables]


def type_row(kind: Type, identifier: str, facts: FileFacts) -> Row:
    """Return a class or other type as the model shows it."""
    return {
        "id": identifier,
        "module": module_id(facts.source.path),
        "kind": kind.kind,
        "name": kind.name,
        "qualified": kind.qualified,
        "generics": kind.generics,
        "bases": kind.bases,
        "modifiers": kind.modifiers,
        "decorators": kind.decorators,
        "summary": summary_of(kind.doc),
        "doc": kind.doc,
        "span": {"line": kind.span.line, "end": kind.span.end},
        "fields": _variables(kind.fields),
    }


def function_row(function: Function, identifier: str, facts: FileFacts) -> Row:
    """Return a function as the model shows it; `self` and `cls` are no parameters of its users."""
    owner = function.owner
    is_public_name = is_public(function.qualified) and "private" not in function.modifiers
    listed = function.params
    if owner and listed and listed[0].name in ("self", "cls"):
        listed = listed[1:]
    params = [{"name": p.name, "type": p.type, "default": p.default} for p in listed]
    return {
        "id": identifier,
        "module": module_id(facts.source.path),
        "type": owner,
        "kind": function.kind,
        "name": function.name,
        "qualified": function.qualified,
        "public": is_public_name,
        "test": is_test(facts.source.path),
        "signature": _signature(function),
        "params": params,
        "returns": function.returns,
        "throws": function.throws,
        "modifiers": function.modifiers,
        "decorators": function.decorators,
        "summary": summary_of(function.doc),
        "doc": function.doc,
        "span": {"line": function.span.line, "end": function.span.end},
        "metrics": {
            "lines": function.span.end - function.span.line + 1,
            "cyclomatic": function.cyclomatic,
            "nesting": function.nesting,
            "params": len([p for p in listed if p.name not in ("/", "*")]),
        },
    }


def _signature(function: Function) -> str:
    parts = []
    for param in function.params:
        text = param.name + (f": {param.type}" if param.type else "")
        if param.default is not None:
            text += f" = {param.default}" if param.type else f"={param.default}"
        parts.append(text)
    returns = f" -> {function.returns}" if function.returns else ""
    return f"{function.name}({', '.join(parts)}){returns}"
