"""Each guard of the deciding modules is removed once, and its own test turns red."""

import subprocess
import sys

import pytest

from tests.faults.guards import GUARDED, ROOT

HALVES = (
    ("transitions", "locks", "outbox", "redrives"),
    ("verdicts", "idempotency", "cancellations", "schema"),
)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("names", HALVES, ids=["first", "second"])
def test_removing_any_one_guard_turns_its_own_test_red(names):
    only = [argument for name in names for argument in ("--only", name)]
    argv = [sys.executable, "-m", "tests.faults.mutate", "--quick", *only]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    assert " 0 survive" in done.stdout


def test_no_deciding_module_and_no_unique_key_is_left_out():
    assert {name for half in HALVES for name in half} == {*GUARDED, "schema"}
