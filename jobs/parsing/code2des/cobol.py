"""COBOL by an own scanner: programs, sections, paragraphs, calls, copies, files, embedded SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from jobs.parsing.code2des.cobol_data import DataReader, statements
from jobs.parsing.code2des.cobol_lines import Line, Remarks, Token, cut_lines, tokens
from jobs.parsing.code2des.cobol_procedure import ProcedureReader
from jobs.parsing.code2des.facts import FileFacts, Import, SourceFile, Span, Type
from jobs.parsing.code2des.resolving import ImportResolver, Target

__all__ = ["Resolver", "analyse", "grammars"]

_DIVISIONS = frozenset({"IDENTIFICATION", "ID", "ENVIRONMENT", "DATA", "PROCEDURE"})
_EXEC_SQL = re.compile(r"\bEXEC\s+SQL\b(.*?)\bEND-EXEC\b", re.IGNORECASE | re.DOTALL)


def grammars() -> dict[str, str]:
    """Return nothing: the scanner is our own and carries the parser's version."""
    return {}


def analyse(source: SourceFile) -> FileFacts:
    """Return the facts of one program or copybook."""
    lines = cut_lines(source.text)
    remarks = Remarks(lines)
    facts = FileFacts(source=source)
    facts.comment_lines = remarks.count
    facts.code_lines = sum(bool(line.text.strip()) and not line.is_comment for line in lines)
    Scanner(facts, lines, remarks).run()
    if not facts.functions:
        _copybook(facts, lines, remarks)
    facts.doc = facts.doc or next((f.doc for f in facts.functions if f.doc), None)
    return facts


def _copybook(facts: FileFacts, lines: list[Line], remarks: Remarks) -> None:
    """Take a file without a program for a member that others copy."""
    name = PurePosixPath(facts.source.path).stem
    reader = DataReader("", remarks)
    for sentence in statements(list(tokens(lines))):
        reader.describe(sentence)
    doc = remarks.first_between(1, 1) or (reader.types[0].doc if reader.types else None)
    whole = Span(1, max(1, len(lines)))
    member = Type(
        name=name,
        qualified=name,
        kind="copybook",
        generics=[],
        bases=[],
        modifiers=[],
        decorators=[],
        doc=doc,
        span=whole,
    )
    facts.types = [member, *reader.types]
    facts.doc = doc


class Scanner:
    """Walks the divisions of a file; programs may follow or contain each other."""

    def __init__(self, facts: FileFacts, lines: list[Line], remarks: Remarks) -> None:
        self._facts = facts
        self._lines = lines
        self._remarks = remarks
        self._tokens = list(tokens(lines))

    def run(self) -> None:
        """Read every program of the file."""
        starts = [n for n, token in enumerate(self._tokens) if token.upper == "PROGRAM-ID"]
        for position, start in enumerate(starts):
            end = starts[position + 1] if position + 1 < len(starts) else len(self._tokens)
            self._program(self._tokens[start:end])

    def _program(self, found: list[Token]) -> None:
        named = next((t for t in found[1:] if t.kind in ("word", "string")), None)
        if named is None:
            return
        name = named.text.strip("\"'")
        parts = _divisions(found)
        data = DataReader(name, self._remarks)
        for sentence in statements(parts.get("ENVIRONMENT", [])):
            for offset, token in enumerate(sentence):
                if token.upper == "SELECT":
                    data.select(sentence[offset:])
        for sentence in statements(self._copies(parts.get("DATA", []))):
            data.describe(sentence)
        self._facts.types.extend(data.types)
        doc = self._remarks.first_between(found[0].line, _first_line(parts, found[-1].line))
        reader = ProcedureReader(self._facts, name, data, self._remarks, doc)
        span = Span(found[0].line, found[-1].line)
        reader.run(self._copies(parts.get("PROCEDURE", [])), span)

    def _copies(self, found: list[Token]) -> list[Token]:
        """Note COPY and EXEC SQL INCLUDE; return the tokens without them."""
        kept: list[Token] = []
        position = 0
        while position < len(found):
            token = found[position]
            following = found[position + 1].upper if position + 1 < len(found) else ""
            if token.upper == "COPY" and following:
                self._add(found[position + 1], "copies")
                position = _after(found, position, lambda t: t.kind == "dot")
            elif token.upper == "EXEC" and _is_include(found[position : position + 4]):
                self._add(found[position + 3], "includes")
                position = _after(found, position, lambda t: t.upper == "END-EXEC")
                if position < len(found) and found[position].kind == "dot":
                    position += 1
            else:
                kept.append(token)
                position += 1
        return kept

    def _add(self, token: Token, kind: str) -> None:
        name = token.text.strip("\"'")
        self._facts.imports.append(
            Import(module=name, level=0, name=None, alias=name, line=token.line, kind=kind)
        )


def _is_include(found: list[Token]) -> bool:
    return len(found) == 4 and [t.upper for t in found[:3]] == ["EXEC", "SQL", "INCLUDE"]


def _after(found: list[Token], position: int, is_end: Callable[[Token], bool]) -> int:
    while position < len(found) and not is_end(found[position]):
        position += 1
    return position + 1


def _divisions(found: list[Token]) -> dict[str, list[Token]]:
    """Return the tokens of each division, headers left out; PROCEDURE keeps its USING."""
    parts: dict[str, list[Token]] = {}
    current: list[Token] = []
    for position, token in enumerate(found):
        following = found[position + 1].upper if position + 1 < len(found) else ""
        if token.upper in _DIVISIONS and following == "DIVISION":
            current = parts.setdefault(token.upper, [])
        elif token.upper == "DIVISION" and found[position - 1].upper in _DIVISIONS:
            continue
        elif token.upper == "END" and following == "PROGRAM":
            break
        else:
            current.append(token)
    return parts


def _first_line(parts: dict[str, list[Token]], last: int) -> int:
    """Return the line where the identification division is over."""
    lines = [part[0].line for name, part in parts.items() if part]
    return min(lines, default=last)


class Resolver(ImportResolver):
    """Programs by PROGRAM-ID, copybooks by file name; the case does not count."""

    def __init__(self, files: Sequence[FileFacts]) -> None:
        self._by_name: dict[str, str] = {}
        for facts in files:
            path = facts.source.path
            for function in facts.functions:
                if function.kind == "program":
                    self._by_name.setdefault(function.name.upper(), path)
            self._by_name.setdefault(PurePosixPath(path).stem.upper(), path)

    def module_name(self, path: str) -> str:
        """Return the name of the member."""
        return PurePosixPath(path).stem

    def package_of(self, path: str) -> str:
        """Return the folder."""
        return str(PurePosixPath(path).parent)

    def resolve(self, entry: Import, path: str) -> Target:
        """Return the member that a COPY or CALL names."""
        del path
        found = self._by_name.get(PurePosixPath(entry.module).stem.upper())
        if found is None:
            return Target(external=entry.module, ecosystem="cobol")
        return Target(path=found, confidence=entry.confidence)
