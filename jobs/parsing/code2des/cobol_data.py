"""The data division of COBOL: level-01 items with their fields, files, copied members."""

from __future__ import annotations

from jobs.parsing.code2des.cobol_lines import Remarks, Token, unquote
from jobs.parsing.code2des.facts import Span, Type, Variable

_MAX_PICTURE = 120


def statements(found: list[Token]) -> list[list[Token]]:
    """Split tokens into sentences at their full stops; the stops are left out."""
    parts: list[list[Token]] = [[]]
    for token in found:
        if token.kind == "dot":
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


class DataReader:
    """Collects items and files of one program; `prefix` is the program's name, or nothing."""

    def __init__(self, prefix: str, remarks: Remarks) -> None:
        self._prefix = prefix
        self._remarks = remarks
        self.types: list[Type] = []
        #: data name → literal values that VALUE gives it
        self.values: dict[str, list[str]] = {}
        #: FD name → external name of SELECT … ASSIGN
        self.assigned: dict[str, str] = {}
        self._group: Type | None = None

    def select(self, sentence: list[Token]) -> None:
        """Note `SELECT file ASSIGN TO name`."""
        words = [token.upper for token in sentence]
        if words[0] != "SELECT" or len(words) < 2:
            return
        name = sentence[2 if words[1] == "OPTIONAL" and len(words) > 2 else 1].text
        target = ""
        if "ASSIGN" in words:
            rest = sentence[words.index("ASSIGN") + 1 :]
            rest = rest[1:] if rest and rest[0].upper == "TO" else rest
            target = unquote(rest[0].text) if rest else ""
        self.assigned[name.upper()] = target

    def describe(self, sentence: list[Token]) -> None:
        """Note one sentence of the data division."""
        first = sentence[0]
        if first.upper in ("FD", "SD") and len(sentence) > 1:
            name = sentence[1].text
            target = self.assigned.get(name.upper(), "")
            found = self._type(name, "file", sentence[0].line, [target] if target else [])
            self.types.append(found)
            self._group = None
        elif first.text.isdigit() and len(sentence) > 1:
            self._item(int(first.text), sentence)

    def _item(self, level: int, sentence: list[Token]) -> None:
        name = sentence[1].text
        is_named = name.upper() not in ("PIC", "PICTURE", "REDEFINES", "VALUE", "OCCURS")
        name = name if is_named else "FILLER"
        picture, value = self._clauses(sentence[2 if is_named else 1 :])
        doc = self._remarks.above(sentence[0].line)
        if level in (1, 77) and is_named:
            self._group = self._type(name, "record", sentence[0].line, [])
            self._group.bases = [picture] if picture else []
            self.types.append(self._group)
        elif self._group is not None:
            kind = f"88 {picture or ''}".strip() if level == 88 else picture or ("group")
            self._group.fields.append(Variable(name=name, type=kind, default=value, doc=doc))
            line = sentence[-1].line
            self._group.span = Span(self._group.span.line, line)
        if value is not None and value[:1] in "\"'":
            self.values.setdefault(name.upper(), []).append(unquote(value))

    @staticmethod
    def _clauses(rest: list[Token]) -> tuple[str | None, str | None]:
        """Return picture with usage and occurrence, and the value."""
        words = [token.upper for token in rest]
        value = None
        for key in ("VALUE", "VALUES"):
            if key in words:
                after = rest[words.index(key) + 1 :]
                after = after[1:] if after and after[0].upper in ("IS", "ARE") else after
                value = after[0].text if after else None
                rest = rest[: words.index(key)]
                break
        text = " ".join(token.text for token in rest)
        for mark in (" ( ", " (", "( ", " )", " . "):
            text = text.replace(mark, mark.strip())
        text = text.removeprefix("PICTURE ").removeprefix("PIC ").removeprefix("IS ")
        return text[:_MAX_PICTURE] or None, value

    def _type(self, name: str, kind: str, line: int, bases: list[str]) -> Type:
        return Type(
            name=name,
            qualified=f"{self._prefix}.{name}" if self._prefix else name,
            kind=kind,
            generics=[],
            bases=bases,
            modifiers=[],
            decorators=[],
            doc=self._remarks.above(line),
            span=Span(line, line),
        )
