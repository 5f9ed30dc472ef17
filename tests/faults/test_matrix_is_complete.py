"""The table of the fault matrix names a test for every row, and every test it names exists."""

import ast
import re
from pathlib import Path

import pytest

from tests.faults.test_kill_points import POINTS

ROOT = Path(__file__).parents[2]
TEXT = (Path(__file__).parent / "README.md").read_text("utf-8")
TABLE = re.findall(r"^\| F(\d+) \|.*\| (.*) \|$", TEXT, re.M)
PROMISES = TEXT.partition("## What is built and must hold")[2].partition("\n## ")[0]
HELD = re.findall(r"^\| ([^|]+) \| (`.*::.*) \|$", PROMISES, re.M)


def test_the_table_has_all_forty_three_rows_in_order():
    assert [int(number) for number, _ in TABLE] == list(range(1, 44))


@pytest.mark.parametrize(("number", "cell"), TABLE, ids=[f"F{number}" for number, _ in TABLE])
def test_every_test_that_a_row_names_exists(number, cell):
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)(?:\[(\w+)\])?`", cell)
    assert named
    for file, test, point in named:
        path = ROOT / file if "/" in file else ROOT / "tests" / "faults" / file
        tree = ast.parse(path.read_text("utf-8"))
        assert test in {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
        assert point in {"", *POINTS}
    assert set(re.findall(r"`…\[(\w+)\]`", cell)) <= set(POINTS)


@pytest.mark.parametrize(("promise", "cell"), HELD, ids=[promise for promise, _ in HELD])
def test_every_test_that_a_promise_names_exists(promise, cell):
    test_every_test_that_a_row_names_exists(promise, cell)


def test_every_promise_names_a_test():
    assert len(HELD) == PROMISES.count("\n| ") - 1
    assert len(HELD) > 25


def test_every_test_here_that_is_named_after_a_row_is_in_the_table():
    rows = {int(number): cell for number, cell in TABLE}
    for path in Path(__file__).parent.glob("test_*.py"):
        for number, rest in re.findall(r"^def test_f(\d\d)_(\w+)", path.read_text("utf-8"), re.M):
            assert f"test_f{number}_{rest}" in rows[int(number)], f"{path.name}: F{number}"
