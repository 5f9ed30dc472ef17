"""The Procfile's process types as programs, and the commands run once at the start."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from local.errors import LocalError
from local.procfile import read_procfile
from local.supervisor import Program

ROOT = Path(__file__).resolve().parent.parent
_TASK_SECONDS = 180.0
_RESUME = "exec flask --app app imports resume-all"
_SAYS = {
    "release": "The database could not be brought up to date",
    "resume": "What was unfinished could not be begun anew",
}


def programs() -> list[Program]:
    """Return the long-running process types of the Procfile."""
    commands = read_procfile(ROOT / "Procfile")
    return [
        Program(name, ["/bin/sh", "-c", command])
        for name, command in commands.items()
        if name != "release"
    ]


def run_task(name: str, env: Mapping[str, str], data_dir: Path) -> None:
    """Run `release` or `resume` to its end. Raises LocalError when it fails."""
    command = read_procfile(ROOT / "Procfile")["release"] if name == "release" else _RESUME
    log = data_dir / "logs" / f"{name}.log"
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with log.open("ab") as output:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            env=dict(env),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            timeout=_TASK_SECONDS,
            check=False,
        )
    if done.returncode != 0:
        raise LocalError(f"{_SAYS[name]}; the reason is at the end of {log}.")
