"""Find every guard of the modules that decide: each can be removed, and some test must turn red.

A guard is a conjunct of an SQL condition (replaced by `(… OR TRUE)`), a row lock (removed), an `if`
that only returns or raises (never taken), or an operand of `and` and `or` (made neutral). Unique
keys are guards too: they are read from the schema and dropped.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
GUARDED = ("transitions", "verdicts", "outbox", "locks", "idempotency", "redrives", "cancellations")
#: Tables without a decision: the list of migrations.
_UNGUARDED_TABLES = frozenset({"schema_migration"})
_KEYWORD = re.compile(
    r"\b(WHERE|AND|OR|ORDER BY|LIMIT|RETURNING|FOR (NO KEY )?UPDATE|GROUP BY|ON CONFLICT|UNION"
    r"|SELECT|FROM|SET|JOIN|WHEN|THEN|ELSE|END)\b"
)
#: Which row it is, which is no guard.
_NAMES_A_ROW = re.compile(r"(\w+\.)?(id|batch_id|job_id|key) = (%s|%\(id\)s|ANY\(%s\)|\w+\.id)")
_LOCK = re.compile(r"\s+FOR(?: NO KEY)? UPDATE( OF \w+)?( SKIP LOCKED)?")


@dataclass(frozen=True)
class Mutant:
    """One guard less: the bytes from `start` to `end` of a file become `text`."""

    path: Path
    line: int
    start: int
    end: int
    text: str
    was: str

    def __str__(self) -> str:
        return f"{self.path.name}:{self.line}: {' '.join(self.was.split())}"

    @property
    def module(self) -> str:
        return f"models.{self.path.stem}"

    def mutated(self) -> bytes:
        """Return the whole file without the guard."""
        honest = self.path.read_bytes()
        return honest[: self.start] + self.text.encode() + honest[self.end :]


@dataclass(frozen=True)
class UniqueKey:
    """One unique key less."""

    table: str
    columns: str

    def __str__(self) -> str:
        return f"schema.sql: {self.table} ({self.columns})"


Guard = Mutant | UniqueKey


def mutants_of(path: Path) -> list[Mutant]:
    """Return every guard of a file, in order."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            starts[node.lineno - 1] + node.col_offset,
            starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def made(start: int, end: int, text: str) -> Mutant:
        line = source.count(b"\n", 0, start) + 1
        return Mutant(path, line, start, end, text, source[start:end].decode())

    found = []
    tree = ast.parse(source)
    inside = {id(part) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for part in n.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return | ast.Raise):
            found.append(made(*place(node.test), "False"))
        if isinstance(node, ast.BoolOp) and not _is_default(node):
            neutral = "True" if isinstance(node.op, ast.And) else "False"
            found += [made(*place(value), neutral) for value in node.values]
        sql = isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
        if sql and id(node) not in inside:
            start, end = place(node)
            found += [made(start + a, start + b, text) for a, b, text in _in_sql(source[start:end])]
    return sorted(set(found), key=lambda mutant: mutant.start)


def guards_of(names: Iterable[str]) -> list[Guard]:
    """Return the guards of modules by their name; `schema` are the unique keys."""
    found: list[Guard] = []
    for name in names:
        if name == "schema":
            found += unique_keys()
        else:
            found += mutants_of(ROOT / "models" / f"{name}.py")
    return found


def unique_keys() -> list[UniqueKey]:
    """Return every unique key of the golden schema."""
    text = (ROOT / "migrations" / "schema.sql").read_text("utf-8")
    constraint = re.compile(
        r"ALTER TABLE ONLY public\.(\w+)\s+ADD CONSTRAINT \w+ (?:PRIMARY KEY|UNIQUE) \(([^)]+)\)"
    )
    index = re.compile(r"CREATE UNIQUE INDEX \w+ ON public\.(\w+) USING btree \(([^)]+)\)")
    found = [*constraint.findall(text), *index.findall(text)]
    return [UniqueKey(*each) for each in found if each[0] not in _UNGUARDED_TABLES]


def named(guards: Iterable[Guard]) -> dict[str, Guard]:
    """Give each guard a name that survives a change elsewhere in its file."""
    seen: Counter[str] = Counter()
    result = {}
    for guard in guards:
        name = re.sub(r":\d+:", ":", str(guard))
        seen[name] += 1
        result[name if seen[name] == 1 else f"{name} #{seen[name]}"] = guard
    return result


def _is_default(node: ast.BoolOp) -> bool:
    """Tell `value or "a default"` from a condition."""
    plain = (ast.Name, ast.Constant, ast.Subscript)
    return (
        isinstance(node.op, ast.Or)
        and all(isinstance(v, plain) for v in node.values)
        and (isinstance(node.values[-1], ast.Constant | ast.Name))
    )


def _in_sql(literal: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield the conjuncts and the locks of one literal, by their bytes."""
    text = literal.decode("latin-1")
    if " IS NULL" not in text and "WHERE" not in text:
        return
    words = list(_KEYWORD.finditer(text))
    opening = re.match(r'f?("""|")', text)
    bare = "WHERE" not in text and "SELECT" not in text  # a condition kept in a constant
    for number, word in enumerate([None, *words] if bare else words):
        if word is not None and word[0] not in ("WHERE", "AND"):
            continue
        start = word.end() if word else (opening.end() if opening else 0)
        following = words[number + (0 if bare else 1) :]
        end = following[0].start() if following else len(text.rstrip('"'))
        opened = re.match(r"\s*\((?=[^()]*$)", text[start:end])
        start += opened.end() if opened else 0
        piece = _balanced(text[start:end])
        if piece.strip() and not _NAMES_A_ROW.fullmatch(piece.strip()):
            yield start, start + len(piece), f" ({piece.strip()} OR TRUE) "
    for lock in _LOCK.finditer(text):
        yield lock.start(), lock.end(), " "
        if lock[2]:
            yield lock.start(2), lock.end(2), " "


def _balanced(text: str) -> str:
    """Return the text up to the parenthesis or brace that closes something outside of it."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "({") - (letter in ")}")
        if depth < 0:
            return text[:place]
    return text if depth == 0 else ""
