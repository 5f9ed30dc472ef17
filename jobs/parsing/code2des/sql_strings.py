"""Find SQL in string literals: which tables a statement touches and how."""

from __future__ import annotations

import re

_STATEMENT = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|MERGE|WITH|REPLACE)\b", re.IGNORECASE)
_NAME = r"([\"`\[]?[^\W\d]\w*[\"`\]]?(?:\.[\"`\[]?\w+[\"`\]]?){0,2})"
_USES = (
    (re.compile(rf"\b(?:INSERT|REPLACE)\s+INTO\s+{_NAME}", re.IGNORECASE), "C"),
    (re.compile(rf"\b(?:FROM|JOIN)\s+{_NAME}", re.IGNORECASE), "R"),
    (re.compile(rf"\bUPDATE\s+{_NAME}\s+(?:AS\s+\w+\s+)?SET\b", re.IGNORECASE), "U"),
    (re.compile(rf"\bDELETE\s+FROM\s+{_NAME}", re.IGNORECASE), "D"),
)
_SHAPE = re.compile(r"\b(FROM|INTO|SET|USING)\b", re.IGNORECASE)
_MAX_CHARACTERS = 20_000
#: "UPDATE t SET" in quotes; most literals are shorter
SHORTEST_STATEMENT = 14


def table_uses(text: str) -> list[tuple[str, str]]:
    """Return (table, C|R|U|D) pairs of a string that is a SQL statement, else nothing."""
    if len(text) > _MAX_CHARACTERS or not _STATEMENT.match(text) or not _SHAPE.search(text):
        return []
    found: list[tuple[str, str]] = []
    deleted = {_plain(m.group(1)) for m in _USES[3][0].finditer(text)}
    for pattern, operation in _USES:
        for match in pattern.finditer(text):
            table = _plain(match.group(1))
            if operation == "R" and table in deleted:
                continue
            if (table, operation) not in found:
                found.append((table, operation))
    return found


def _plain(name: str) -> str:
    return re.sub(r'["`\[\]]', "", name)
