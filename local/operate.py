"""`run.py operate`: the operator's commands with the environment of the running stack."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from local.claim import is_running
from local.errors import LocalError
from local.files import read_text, write_private
from local.tasks import ROOT


def remember_environment(data_dir: Path, env: Mapping[str, str]) -> None:
    """Keep the environment of the web process, which holds secrets, for the owner's commands."""
    write_private(data_dir / "secrets" / "environment", json.dumps(dict(env)))


def operate(data_dir: Path, words: Sequence[str]) -> NoReturn:
    """Become `flask --app app WORDS` for the stack that runs on the directory.

    Raises LocalError when none does.
    """
    kept = read_text(data_dir / "secrets" / "environment")
    if not kept or not is_running(data_dir):
        raise LocalError(
            f"Torikomi does not run on {data_dir}: start it with `python3 run.py` and ask again "
            "when it says that it is ready."
        )
    os.chdir(ROOT)
    sys.stdout.flush()
    command = [sys.executable, "-m", "flask", "--app", "app", *words]
    os.execve(sys.executable, command, json.loads(kept))  # noqa: S606
