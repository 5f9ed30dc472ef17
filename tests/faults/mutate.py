"""Remove one guard after the other and see whether some test turns red.

    python -m tests.faults.mutate [--only outbox] [--quick] [--record] [--list]

Each guard's own test stands in `own_tests.tsv` and runs first, then all quick tests that come by
the guard, then, without `--quick`, the slow ones on a copy of the tree. What survives all of them
is printed at the end. `--record` writes the file anew. A guard whose entry begins with
`equivalent:` can be removed without any effect, for the reason given there.
"""

import argparse
import logging
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.faults.guards import GUARDED, ROOT, Guard, Mutant, guards_of, named
from tests.faults.removal import Removal

OWN_TESTS = Path(__file__).parent / "own_tests.tsv"
EQUIVALENT = "equivalent:"
QUICK = (
    "tests/faults/test_guards.py",
    "tests/faults/test_guards_of_rows.py",
    "tests/faults/test_guards_of_verdicts.py",
    "tests/faults/test_found.py",
    "tests/models",
)
#: Run on a copy of the tree until one is red.
SLOW = (["tests/faults/test_machine.py"], ["tests/scheduler"])
_STAGE_SECONDS = 240
_ARGUMENTS = ("-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:randomly")
#: What a red test leaves behind would be told of the next one.
_HERE = (
    "--capture=sys",
    "-p",
    "no:xdist",
    "-p",
    "no:unraisableexception",
    "-p",
    "no:threadexception",
)


def read_own() -> dict[str, str]:
    """Return guard → its own test, or why it has none."""
    lines = OWN_TESTS.read_text("utf-8").splitlines() if OWN_TESTS.exists() else []
    return dict(line.split("\t") for line in lines)


def run_quick(guards: Mapping[str, Guard], own: Mapping[str, str]) -> dict[str, str | None]:
    """Remove guards within one process; return which test told."""
    done: list[str] = []

    def tell(name: str, killer: str | None) -> None:
        done.append(name)
        text = f"{len(done)}/{len(guards)} {name}: {killer or 'SURVIVES'}"
        print(text, file=sys.__stdout__, flush=True)  # noqa: T201

    removal = Removal(guards, own, tell)
    logging.disable()
    pytest.main([*_ARGUMENTS, *_HERE, *QUICK], plugins=[removal])
    assert not removal.broken, f"red without any removal: {removal.broken}"
    assert removal.killers.keys() == guards.keys(), "the tests did not run"
    return removal.killers


def survives(tree: Path, mutant: Mutant) -> bool:
    """Run the slow stages on the copy with this guard removed; say whether all stayed green."""
    path = tree / mutant.path.relative_to(ROOT)
    honest = path.read_bytes()
    path.write_bytes(mutant.mutated())
    try:
        return all(_is_green(tree, tests) for tests in SLOW)
    finally:
        path.write_bytes(honest)


def _is_green(tree: Path, tests: list[str]) -> bool:
    argv = [sys.executable, "-m", "pytest", "-x", *_ARGUMENTS, "--timeout", str(_STAGE_SECONDS)]
    try:
        done = subprocess.run(
            [*argv, *tests], cwd=tree, capture_output=True, timeout=2 * _STAGE_SECONDS
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def run_slow(guards: Mapping[str, Guard]) -> list[str]:
    """Remove guards on a copy of the tree; return the names of those that survive."""
    with tempfile.TemporaryDirectory(prefix="torikomi-mutants-") as directory:
        tree = Path(directory) / "tree"
        Path(directory).chmod(0o711)
        left_out = shutil.ignore_patterns("var", ".git", ".venv", "__pycache__", "node_modules")
        shutil.copytree(ROOT, tree, ignore=left_out)
        tree.chmod(0o711)
        assert all(_is_green(tree, tests) for tests in SLOW), "red without any mutation"
        return [
            name
            for name, guard in guards.items()
            if not isinstance(guard, Mutant) or survives(tree, guard)
        ]


def main() -> int:
    """Go through all guards; the exit code is 1 when one survives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=[*GUARDED, "schema"], action="append")
    parser.add_argument("--list", action="store_true", help="only name the guards")
    parser.add_argument("--quick", action="store_true", help="leave the slow tests out")
    parser.add_argument("--record", action="store_true", help="write own_tests.tsv anew")
    options = parser.parse_args()
    guards = named(guards_of(options.only or [*GUARDED, "schema"]))
    if options.list:
        print("\n".join(guards))  # noqa: T201
        return 0
    own = read_own()
    equivalent = {name for name in guards if own.get(name, "").startswith(EQUIVALENT)}
    killers = run_quick({n: g for n, g in guards.items() if n not in equivalent}, own)
    if options.record:
        known = own if options.only else {n: own[n] for n in equivalent}
        known |= {name: killer for name, killer in killers.items() if killer}
        lines = [f"{name}\t{known[name]}\n" for name in sorted(known)]
        OWN_TESTS.write_text("".join(lines), "utf-8")
    survivors = [name for name, killer in killers.items() if killer is None]
    if survivors and not options.quick:
        survivors = run_slow({name: guards[name] for name in survivors})
    print(  # noqa: T201
        f"{len(guards)} guards, {len(equivalent)} equivalent, {len(survivors)} survive",
        *survivors,
        sep="\n",
    )
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
