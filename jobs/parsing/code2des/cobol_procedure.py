"""The procedure division of COBOL: sections, paragraphs, and what they perform, call and use."""

from __future__ import annotations

from jobs.parsing.code2des.cobol_data import DataReader
from jobs.parsing.code2des.cobol_lines import Remarks, Token, unquote
from jobs.parsing.code2des.facts import (
    EntryPoint,
    FileFacts,
    Function,
    Import,
    Link,
    Span,
    SqlUse,
    Variable,
)
from jobs.parsing.code2des.sql_strings import table_uses

#: words that stand alone before a full stop without being a paragraph
_NO_PARAGRAPH = frozenset(
    """EXIT GOBACK CONTINUE STOP END DECLARATIVES ELSE USING RETURNING THEN SECTION
    COMMIT ROLLBACK""".split()  # noqa: SIM905 - a list of words is easier to read
)
_LOOP = frozenset({"UNTIL", "VARYING", "TIMES", "WITH", "TEST", "THRU", "THROUGH"})
_READS = frozenset({"READ", "START", "RETURN"})
_WRITES = frozenset({"WRITE", "REWRITE", "DELETE", "RELEASE"})
_BRANCHES = frozenset({"IF", "UNTIL", "AND", "OR", "WHEN", "EXCEPTION", "TIMES"})


class ProcedureReader:
    """Reads the procedure division of one program into functions, links and SQL."""

    def __init__(
        self,
        facts: FileFacts,
        program: str,
        data: DataReader,
        remarks: Remarks,
        doc: str | None,
    ) -> None:
        self._facts = facts
        self._program = program
        self._data = data
        self._remarks = remarks
        self._doc = doc
        self._section: Function | None = None
        self._paragraph: Function | None = None
        self._main: Function | None = None
        #: data name → literals moved to it: what CALL of a name may mean
        self._moved: dict[str, list[str]] = {}
        self._variable_calls: list[tuple[str, str, int]] = []

    def run(self, found: list[Token], span: Span) -> None:
        """Read all tokens after PROCEDURE DIVISION."""
        body = self._using(found, span)
        self._note_moves(body)
        position = 0
        while position < len(body):
            position = self._step(body, position)
        self._close(span.end)
        for start, name, line in self._variable_calls:
            self._call_by_name(start, name, line)

    def _using(self, found: list[Token], span: Span) -> list[Token]:
        """Note the program with its parameters; return what follows the header."""
        stop = next((n for n, token in enumerate(found) if token.kind == "dot"), -1)
        head = found[:stop] if stop >= 0 else []
        names = [t.text for t in head if t.kind == "word" and t.upper not in _HEADER]
        kinds = {t.name.upper(): (t.bases or ["group"])[0] for t in self._data.types}
        params = [Variable(name=name, type=kinds.get(name.upper())) for name in names]
        self._main = self._function(self._program, "program", span.line, span.end)
        self._main.params = params
        self._main.doc = self._doc
        if found and not params:
            entry = EntryPoint(kind="program", target=self._program, line=span.line)
            self._facts.entry_points.append(entry)
        return found[stop + 1 :]

    def _function(self, name: str, kind: str, line: int, end: int) -> Function:
        parts = [self._program] if kind != "program" else []
        if kind == "paragraph" and self._section is not None:
            parts.append(self._section.name)
        found = Function(
            name=name,
            qualified=".".join([*parts, name]),
            owner=None,
            kind=kind,
            params=[],
            returns=None,
            modifiers=[],
            decorators=[],
            doc=self._remarks.above(line),
            span=Span(line, end),
        )
        self._facts.functions.append(found)
        return found

    def _close(self, line: int, *, with_section: bool = True) -> None:
        for function in (self._paragraph, self._section if with_section else None):
            if function is not None:
                function.span = Span(function.span.line, max(function.span.line, line))
        self._paragraph = None
        self._section = None if with_section else self._section

    def _step(self, body: list[Token], position: int) -> int:
        token = body[position]
        following = [t.upper for t in body[position + 1 : position + 3]] + ["", ""]
        if token.kind == "word" and following[0] == "SECTION" and _starts(body, position):
            self._close(token.line - 1)
            self._section = self._function(token.text, "section", token.line, token.line)
            return position + 2
        is_alone = following[0] == "." and _starts(body, position)
        is_word = token.kind == "word" and token.in_area_a
        reserved = token.upper in _NO_PARAGRAPH or token.upper.startswith("END-")
        if is_alone and is_word and not reserved:
            self._close(token.line - 1, with_section=False)
            self._paragraph = self._function(token.text, "paragraph", token.line, token.line)
            return position + 2
        return self._statement(body, position)

    def _statement(self, body: list[Token], position: int) -> int:
        token = body[position]
        word = token.upper if token.kind == "word" else ""
        after = body[position + 1] if position + 1 < len(body) else None
        self._count(word, after)
        if word == "EXEC":
            return self._exec(body, position)
        if after is None:
            return position + 1
        if word == "PERFORM":
            self._perform(body, position + 1)
        elif word == "CALL":
            self._call(after)
        elif word == "GO":
            target = (
                body[position + 2] if after.upper == "TO" and position + 2 < len(body) else after
            )
            self._link("jumps", target.text, "exact", token.line)
        elif word in _READS or word in _WRITES:
            self._link("reads" if word in _READS else "writes", after.text, "exact", token.line)
        return position + 1

    def _current(self) -> Function | None:
        return self._paragraph or self._section or self._main

    def _count(self, word: str, after: Token | None) -> None:
        is_other = word == "WHEN" and after is not None and after.upper == "OTHER"
        if word in _BRANCHES and not is_other:
            for function in {id(f): f for f in (self._current(), self._main) if f}.values():
                function.cyclomatic += 1

    def _link(self, kind: str, end: str, confidence: str, line: int) -> None:
        function = self._current()
        start = function.qualified if function else self._program
        link = Link(kind=kind, start=start, end=end, confidence=confidence, line=line)
        self._facts.links.append(link)

    def _perform(self, body: list[Token], position: int) -> None:
        target = body[position]
        following = body[position + 1].upper if position + 1 < len(body) else ""
        if target.kind != "word" or target.upper in _LOOP or following == "TIMES":
            return
        if target.text.isdigit():
            return
        self._link("calls", target.text, "exact", target.line)
        if following in ("THRU", "THROUGH") and position + 2 < len(body):
            self._link("calls", body[position + 2].text, "likely", target.line)

    def _call(self, target: Token) -> None:
        if target.kind == "string":
            name = unquote(target.text)
            self._link("calls", name, "exact", target.line)
            self._import(name, "exact", target.line)
        elif target.kind == "word":
            function = self._current()
            start = function.qualified if function else self._program
            self._variable_calls.append((start, target.text, target.line))

    def _call_by_name(self, start: str, name: str, line: int) -> None:
        """Note a CALL of a data name: whatever VALUE or MOVE puts there, likely."""
        key = name.upper()
        known = [*self._data.values.get(key, []), *self._moved.get(key, [])]
        for value in dict.fromkeys(v.strip() for v in known if v.strip()):
            link = Link(kind="calls", start=start, end=value, confidence="likely", line=line)
            self._facts.links.append(link)
            self._import(value, "likely", line)

    def _import(self, name: str, confidence: str, line: int) -> None:
        entry = Import(
            module=name, level=0, name="call", alias=name, line=line, confidence=confidence
        )
        self._facts.imports.append(entry)

    def _note_moves(self, body: list[Token]) -> None:
        for position, token in enumerate(body[:-3]):
            value, to, name = body[position + 1 : position + 4]
            if token.upper == "MOVE" and to.upper == "TO" and value.kind == "string":
                self._moved.setdefault(name.upper, []).append(unquote(value.text))

    def _exec(self, body: list[Token], position: int) -> int:
        end = position
        while end < len(body) and body[end].upper != "END-EXEC":
            end += 1
        inside = body[position + 2 : end]
        function = self._current()
        start = function.qualified if function else self._program
        if position + 1 < len(body) and body[position + 1].upper == "SQL":
            words = [token.text for token in inside]
            upper = [word.upper() for word in words]
            if upper[:1] == ["DECLARE"] and "FOR" in upper:
                words = words[upper.index("FOR") + 1 :]
            for table, operation in table_uses(" ".join(words)):
                use = SqlUse(
                    table=table, operation=operation, function=start, line=body[position].line
                )
                self._facts.sql.append(use)
        return end + 1


_HEADER = frozenset({"USING", "BY", "VALUE", "REFERENCE", "RETURNING", "CHAINING", "OPTIONAL"})


def _starts(body: list[Token], position: int) -> bool:
    """Say whether a token starts a sentence."""
    return position == 0 or body[position - 1].kind == "dot"
