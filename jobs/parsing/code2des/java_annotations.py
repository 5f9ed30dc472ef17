"""What annotations of Java mean: Spring and JAX-RS routes, JPA tables."""

from __future__ import annotations

import re

from jobs.parsing.code2des.facts import (
    Column,
    Endpoint,
    FileFacts,
    ForeignKey,
    Function,
    Table,
    Type,
)

_MAPPING = re.compile(r"^(?:[\w.]*\.)?(Get|Post|Put|Delete|Patch|Request)Mapping\b(.*)$", re.DOTALL)
_PATHS = re.compile(r"(?:(?:value|path)\s*=\s*)(\{[^}]*\}(?:[^{}]*\})*|\"[^\"]*\")")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_VERB = re.compile(r"\b(GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS)\b")
_METHOD = re.compile(r"\bmethod\s*=\s*(\{[^}]*\}|[\w.]+)")
_JAXRS = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"})


def _arguments(mark: str) -> str:
    return mark.partition("(")[2].rpartition(")")[0].strip()


def _name(mark: str) -> str:
    return mark.partition("(")[0].strip().rpartition(".")[2]


def paths_of(arguments: str) -> list[str]:
    """Return the paths of a mapping annotation; [""] when it has none."""
    text = arguments.strip()
    if text.startswith(('"', "{")) and "=" not in _STRING.sub("", text):
        return _STRING.findall(text) or [""]
    named = re.search(r"\b(?:value|path)\s*=\s*", text)
    if named is None:
        return [""]
    rest = text[named.end() :]
    if rest.startswith("{"):
        quoted = _until_brace(rest)
        return _STRING.findall(quoted) or [""]
    found = _STRING.match(rest)
    return [found.group(1)] if found else [""]


def _until_brace(text: str) -> str:
    """Return `{…}` at the head of `text`; braces inside strings do not count."""
    inside = False
    for position, character in enumerate(text):
        if character == '"' and text[position - 1] != "\\":
            inside = not inside
        elif character == "}" and not inside:
            return text[: position + 1]
    return text


def _outside_strings(text: str) -> str:
    return _STRING.sub('""', text)


def read_routes(function: Function, owner: Type | None, facts: FileFacts) -> None:
    """Add the routes that the annotations of a method declare, with the prefix of its class."""
    marks = owner.decorators if owner is not None else []
    for mark in function.decorators:
        match = _MAPPING.match(mark)
        if match is not None:
            _spring(mark, match.group(1), marks, function, facts)
    verbs = [_name(mark) for mark in function.decorators if _name(mark) in _JAXRS]
    if verbs and any(
        entry.module.startswith(("javax.ws.rs", "jakarta.ws.rs")) for entry in facts.imports
    ):
        _jaxrs(verbs, marks, function, facts)


def _spring(
    mark: str, word: str, class_marks: list[str], function: Function, facts: FileFacts
) -> None:
    arguments = _arguments(mark)
    verbs = [word.upper()]
    if word == "Request":
        listed = _METHOD.search(_outside_strings(arguments))
        verbs = _VERB.findall(listed.group(1)) if listed else ["ANY"]
    prefixes = next(
        (paths_of(_arguments(m)) for m in class_marks if _name(m) == "RequestMapping"), [""]
    )
    for prefix in prefixes:
        for path in paths_of(arguments):
            for verb in verbs:
                _add(verb, prefix, path, "spring", function, facts)


def _jaxrs(verbs: list[str], class_marks: list[str], function: Function, facts: FileFacts) -> None:
    prefix = next((paths_of(_arguments(m))[0] for m in class_marks if _name(m) == "Path"), "")
    path = next((paths_of(_arguments(m))[0] for m in function.decorators if _name(m) == "Path"), "")
    for verb in verbs:
        _add(verb, prefix, path, "jax-rs", function, facts)


def _add(
    verb: str, prefix: str, path: str, framework: str, function: Function, facts: FileFacts
) -> None:
    parts = [part.strip("/") for part in (prefix, path) if part.strip("/")]
    facts.endpoints.append(
        Endpoint(
            method=verb,
            path="/" + "/".join(parts),
            handler=function.qualified,
            framework=framework,
            router="",
            line=function.span.line,
        )
    )


_NO_COLUMN = frozenset({"OneToMany", "ManyToMany", "Transient", "ElementCollection"})
_TO_ONE = frozenset({"ManyToOne", "OneToOne"})


def _value(arguments: str, key: str) -> str | None:
    match = re.search(rf"\b{key}\s*=\s*(\"[^\"]*\"|[\w.]+)", arguments)
    return match.group(1).strip('"') if match else None


def read_entity(kind: Type, facts: FileFacts) -> None:
    """Add the table of a class with @Entity; a static field is no column."""
    marks = {_name(mark): _arguments(mark) for mark in kind.decorators}
    if "Entity" not in marks:
        return
    name = _value(marks.get("Table", ""), "name") or _value(marks["Entity"], "name") or kind.name
    table = Table(
        name=name, source="orm", type=kind.qualified, comment=kind.doc, line=kind.span.line
    )
    for field in kind.fields:
        marked = {_name(mark): _arguments(mark) for mark in field.decorators}
        if marked.keys() & _NO_COLUMN or "static" in field.modifiers or "mappedBy" in str(marked):
            continue
        table.columns.append(_column(field.name, field.type, field.doc, marked))
        if marked.keys() & _TO_ONE:
            key = ForeignKey(column=table.columns[-1].name, entity=field.type or "")
            table.foreign_keys.append(key)
    facts.tables.append(table)


def _column(name: str, kind: str | None, doc: str | None, marked: dict[str, str]) -> Column:
    arguments = marked.get("Column", "") or marked.get("JoinColumn", "")
    length = _value(arguments, "length")
    nullable = _value(arguments, "nullable")
    return Column(
        name=_value(arguments, "name") or name,
        type=f"{kind}({length})" if kind and length else kind,
        null=False if "Id" in marked else None if nullable is None else nullable == "true",
        key="primary" if marked.keys() & {"Id", "EmbeddedId"} else None,
        comment=doc,
    )
