"""Remove one guard after the other and see whether some test turns red. Not part of CI.

    python -m tests.faults.mutate [--only outbox] [--list]

Works on a copy of the tree. A guard is a conjunct of an SQL condition (replaced by `(… OR TRUE)`),
a row lock (removed), an `if` that only returns or raises (never taken), or an operand of `and` and
`or` (made neutral). What survives all tests is printed at the end.
"""

import argparse
import ast
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
GUARDED = ("transitions", "verdicts", "outbox", "locks", "idempotency", "redrives", "cancellations")
#: Run in this order until one is red; the quick ones first.
STAGES = (
    ["tests/faults/test_guards.py", "tests/models"],
    ["tests/faults/test_machine.py"],
    ["tests/scheduler"],
)
_STAGE_SECONDS = 240
_KEYWORD = re.compile(
    r"\b(WHERE|AND|OR|ORDER BY|LIMIT|RETURNING|FOR UPDATE|GROUP BY|ON CONFLICT|UNION|SELECT|FROM"
    r"|SET|JOIN|WHEN|THEN|ELSE|END)\b"
)
#: Which row it is, which is no guard.
_NAMES_A_ROW = re.compile(r"(\w+\.)?(id|batch_id|job_id|key) = (%s|%\(id\)s|ANY\(%s\)|\w+\.id)")
_LOCK = re.compile(r"\s+FOR UPDATE( OF \w+)?( SKIP LOCKED)?")


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


def survives(tree: Path, mutant: Mutant, stages: Sequence[list[str]]) -> bool:
    """Run the stages on the copy with this guard removed; say whether all stayed green."""
    path = tree / mutant.path.relative_to(ROOT)
    honest = path.read_bytes()
    path.write_bytes(honest[: mutant.start] + mutant.text.encode() + honest[mutant.end :])
    try:
        return all(_is_green(tree, tests) for tests in stages)
    finally:
        path.write_bytes(honest)


def _is_green(tree: Path, tests: list[str]) -> bool:
    argv = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [*argv, "--timeout", str(_STAGE_SECONDS), *tests],
            cwd=tree,
            capture_output=True,
            timeout=2 * _STAGE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def main() -> int:
    """Go through all guards; the exit code is 1 when one survives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=GUARDED, action="append")
    parser.add_argument("--list", action="store_true", help="only name the guards")
    parser.add_argument("--line", type=int, action="append", help="only guards of these lines")
    parser.add_argument("--quick", action="store_true", help="run the first, quick stage only")
    options = parser.parse_args()
    stages = STAGES[:1] if options.quick else STAGES
    mutants = [
        mutant
        for name in options.only or GUARDED
        for mutant in mutants_of(ROOT / "models" / f"{name}.py")
        if not options.line or mutant.line in options.line
    ]
    if options.list:
        print("\n".join(map(str, mutants)))  # noqa: T201
        return 0
    survivors = []
    with tempfile.TemporaryDirectory(prefix="torikomi-mutants-") as directory:
        tree = Path(directory) / "tree"
        Path(directory).chmod(0o711)
        left_out = shutil.ignore_patterns("var", ".git", ".venv", "__pycache__", "node_modules")
        shutil.copytree(ROOT, tree, ignore=left_out)
        tree.chmod(0o711)
        assert all(_is_green(tree, tests) for tests in stages), "red without any mutation"
        for number, mutant in enumerate(mutants, 1):
            begun = time.monotonic()
            alive = survives(tree, mutant, stages)
            survivors += [mutant] if alive else []
            word = "SURVIVES" if alive else "killed"
            print(  # noqa: T201
                f"{number}/{len(mutants)} {word} ({time.monotonic() - begun:.0f} s) {mutant}",
                flush=True,
            )
    print(f"{len(mutants)} guards, {len(survivors)} survive", *survivors, sep="\n")  # noqa: T201
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
