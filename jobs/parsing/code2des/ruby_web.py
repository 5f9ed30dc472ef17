"""Routes of Rails and Sinatra, tables of schema.rb: their own small languages, read by line."""

from __future__ import annotations

import re

from jobs.parsing.code2des.facts import Column, Endpoint, FileFacts, ForeignKey, Table

_VERB = re.compile(r"^\s*(get|post|put|patch|delete)\s*\(?\s*['\":]([^'\",\s)]*)['\"]?(.*)$")
_TARGET = re.compile(r"(?:to:|=>)\s*['\"]([\w/]+#\w+)['\"]")
_RESOURCES = re.compile(r"^\s*(resources?)\s+((?::\w+\s*,?\s*)+)(.*)$")
_GROUP = re.compile(r"^\s*(namespace|scope)\s*\(?\s*['\":]([\w/]+)")
_ROOT = re.compile(r"^\s*root\s+(?:to:\s*)?['\"]([\w/]+#\w+)['\"]")
_OPENS = re.compile(r"\bdo\b(?:\s*\|[^|]*\|)?\s*$|^\s*(?:if|unless|case|begin|def|class|module)\b")
_ACTIONS = (
    ("index", "GET", ""),
    ("create", "POST", ""),
    ("new", "GET", "/new"),
    ("show", "GET", "/:id"),
    ("edit", "GET", "/:id/edit"),
    ("update", "PATCH", "/:id"),
    ("destroy", "DELETE", "/:id"),
)
_LIMIT = re.compile(r"\b(only|except):\s*(\[[^\]]*\]|:\w+)")
_TABLE = re.compile(r"^\s*create_table\s*\(?\s*[\"':](\w+)[\"']?(.*)$")
_COLUMN = re.compile(r"^\s*t\.(\w+)\s+[\"':](\w+)[\"']?(.*)$")
_FOREIGN = re.compile(r"^\s*add_foreign_key\s+[\"':](\w+)[\"']?\s*,\s*[\"':](\w+)")


def read_routes(facts: FileFacts) -> None:
    """Add the routes of `config/routes.rb`, or those of a Sinatra application."""
    text = facts.source.text
    if "routes.draw" in text:
        _rails(facts)
    elif any(entry.module.startswith("sinatra") for entry in facts.imports):
        for number, line in enumerate(text.split("\n"), start=1):
            match = _VERB.match(line)
            if match and match.group(2).startswith("/") and "do" in match.group(3).split():
                _add(facts, match.group(1).upper(), match.group(2), "", "sinatra", number)


def _rails(facts: FileFacts) -> None:
    stack: list[tuple[str, str]] = []
    for number, line in enumerate(facts.source.text.split("\n"), start=1):
        prefix = "".join(path for path, _ in stack)
        module = "".join(name for _, name in stack)
        opened = ("", "")
        if match := _GROUP.match(line):
            name = match.group(2).strip("/")
            is_space = match.group(1) == "namespace"
            opened = (f"/{name}", f"{name}/" if is_space else "")
        elif match := _RESOURCES.match(line):
            names = re.findall(r":(\w+)", match.group(2))
            for name in names:
                _resource(facts, match.group(1), name, match.group(3), prefix, module, number)
            is_many = match.group(1) == "resources"
            opened = (f"/{names[-1]}" + (f"/:{names[-1].rstrip('s')}_id" if is_many else ""), "")
        elif match := _ROOT.match(line):
            _add(facts, "GET", prefix or "/", match.group(1), "rails", number)
        elif match := _VERB.match(line):
            target = _TARGET.search(line)
            path = f"{prefix}/{match.group(2).strip('/')}"
            named = target.group(1) if target else match.group(2).strip("/").replace("/", "#")
            _add(facts, match.group(1).upper(), path, module + named, "rails", number)
        if _OPENS.search(line.split("#")[0].rstrip()):
            stack.append(opened)
        elif re.match(r"^\s*end\b", line) and stack:
            stack.pop()


def _resource(
    facts: FileFacts, word: str, name: str, rest: str, prefix: str, module: str, line: int
) -> None:
    limit = _LIMIT.search(rest)
    listed = set(re.findall(r":?(\w+)", limit.group(2))) if limit else set()
    for action, method, tail in _ACTIONS:
        is_listed = action in listed
        if limit and is_listed != (limit.group(1) == "only"):
            continue
        if word == "resource" and action == "index":
            continue
        path = tail.replace("/:id", "") if word == "resource" else tail
        controller = name if word == "resources" else f"{name}s"
        target = f"{module}{controller}#{action}"
        _add(facts, method, f"{prefix}/{name}{path}", target, "rails", line)


def _add(facts: FileFacts, method: str, path: str, target: str, framework: str, line: int) -> None:
    handler = ""
    if "#" in target:
        controller, _, action = target.partition("#")
        words = [_camel(part) for part in controller.split("/")]
        handler = ".".join([*words[:-1], f"{words[-1]}Controller", action])
    facts.endpoints.append(
        Endpoint(
            method=method,
            path=path if path.startswith("/") else f"/{path}",
            handler=handler,
            framework=framework,
            router="",
            line=line,
        )
    )


def _camel(word: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in word.split("_"))


def read_schema(facts: FileFacts) -> None:
    """Add the tables of `db/schema.rb` and of migrations."""
    if "create_table" not in facts.source.text:
        return
    tables: dict[str, Table] = {}
    table: Table | None = None
    for number, line in enumerate(facts.source.text.split("\n"), start=1):
        if match := _TABLE.match(line):
            table = tables.setdefault(
                match.group(1), Table(name=match.group(1), source="ddl", line=number)
            )
            if "id: false" not in match.group(2):
                table.columns.append(Column(name="id", type="bigint", null=False, key="primary"))
        elif (match := _COLUMN.match(line)) and table is not None:
            _column(match, table)
        elif match := _FOREIGN.match(line):
            start, end = match.groups()
            if start in tables:
                key = ForeignKey(column=f"{end.rstrip('s')}_id", table=end, target="id")
                tables[start].foreign_keys.append(key)
    facts.tables.extend(tables.values())


def _column(match: re.Match[str], table: Table) -> None:
    kind, name, rest = match.groups()
    if kind == "index":
        table.indexes.append(name)
        return
    if kind in ("references", "belongs_to"):
        name, kind = f"{name}_id", "bigint"
    comment = re.search(r"comment:\s*[\"']([^\"']*)[\"']", rest)
    default = re.search(r"default:\s*([^,]+)", rest)
    table.columns.append(
        Column(
            name=name,
            type=kind,
            null="null: false" not in rest,
            default=default.group(1).strip() if default else None,
            comment=comment.group(1) if comment else None,
        )
    )
