"""The commands of the nightly suite parse: each is in README, none runs here."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.guards import ROOT

TEXT = (Path(__file__).parent / "README.md").read_text("utf-8")
COMMANDS = re.findall(r"^\| [^|]+ \| `python (-m [^`]+)` \|$", TEXT, re.M)


def parsed(command):
    """Let a command look at its arguments and do no more; return its exit code and its words."""
    words = shlex.split(command)
    only_look = ["--collect-only", "-q"] if "pytest" in words else ["--help"]
    done = subprocess.run(
        [sys.executable, *words, *only_look], cwd=ROOT, capture_output=True, text=True, timeout=170
    )
    return done.returncode, done.stdout + done.stderr


def test_the_table_has_its_six_commands():
    assert len(COMMANDS) == len(set(COMMANDS)) == 6
    modules = {command.split()[1] for command in COMMANDS}
    assert modules == {"pytest", "tests.faults.campaign", "tests.faults.mutate"}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_nightly_suite_parses(command):
    code, said = parsed(command)
    assert code == 0, said
    if "pytest" in command:
        assert "test_any_order_of_events" in said
    else:
        assert all(word in said for word in command.split() if word.startswith("--"))


def test_a_command_that_is_wrong_would_be_told():
    code, said = parsed("-m tests.faults.campaign --secnods=3 --seed")
    assert code == 2, said
