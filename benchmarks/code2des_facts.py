"""What Code2Des found, in the words in which oracles tell what is there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from jobs.parsing.code2des.facts import Import
from jobs.parsing.code2des.languages import language_of, load
from jobs.parsing.code2des.sources import from_file
from jobs.parsing.errors import ParseError

_NO_TYPES = frozenset({"namespace", "module", "file", "copybook"})
_NO_FUNCTIONS = frozenset({"lambda_var", "property", "macro", "expression"})
_ECMASCRIPT = ("javascript", "typescript")


def definitions(design: dict[str, Any], language: str) -> dict[str, Counter[tuple[str, str]]]:
    """Return types, functions and variables that hold a function, as (path, name), counted."""
    modules = {m["id"]: m for m in design["modules"]}
    types = Counter(
        (modules[t["module"]]["path"], t["name"].rpartition(".")[2])
        for t in design["types"]
        if modules[t["module"]]["language"] == language and t["kind"] not in _NO_TYPES
    )
    own = [f for f in design["functions"] if modules[f["module"]]["language"] == language]
    functions = Counter(
        (modules[f["module"]]["path"], f["name"].replace("operator ", "operator"))
        for f in own
        if f["kind"] not in _NO_FUNCTIONS
        and not (language == "java" and f["kind"] == "constructor")
    )
    variables = Counter(
        (modules[f["module"]]["path"], f["name"]) for f in own if f["kind"] == "lambda_var"
    )
    return {"types": types, "functions": functions, "variables": variables}


def imports(root: Path, paths: list[str]) -> Counter[tuple[str, str]]:
    """Return what the files import, as written there."""
    found: Counter[tuple[str, str]] = Counter()
    for path in paths:
        language = language_of(path) or ""
        try:
            source = from_file(root / path, path, None).files[0]
        except ParseError:
            continue
        listed = load(language).analyse(source).imports
        if language in _ECMASCRIPT:
            statements = {(entry.line, entry.module) for entry in listed}
            found.update((path, module) for _, module in statements)
        else:
            found.update((path, _written(entry, language)) for entry in listed)
    return found


def _written(entry: Import, language: str) -> str:
    if language == "python":
        return f"{'.' * entry.level}{entry.module}:{entry.name or ''}"
    return f"{entry.module}.{entry.name}" if entry.name else entry.module
