"""The Procfile's process types as programs, and the commands run once at the start."""

import signal
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from local.errors import LocalError
from local.processes import spawn, wait_until
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


def note(data_dir: Path, text: str) -> None:
    """Write a line to the log of the embedded default itself."""
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    with (data_dir / "logs" / "local.log").open("a", encoding="utf-8") as stream:
        stream.write(f"{moment} {text.rstrip()}\n")


def run_task(
    name: str, env: Mapping[str, str], data_dir: Path, *, is_unwanted: Callable[[], bool]
) -> None:
    """Run `release` or `resume` to its end, or until unwanted. Raises LocalError when it fails."""
    command = read_procfile(ROOT / "Procfile")["release"] if name == "release" else _RESUME
    log = data_dir / "logs" / f"{name}.log"
    child = spawn(["/bin/sh", "-c", command], env=env, cwd=ROOT, log=log)
    wait_until(lambda: not child.alive() or is_unwanted(), _TASK_SECONDS)
    child.stop(signal.SIGTERM, 2.0 if child.alive() else 0)
    if child.process.returncode != 0:
        raise LocalError(f"{_SAYS[name]} ({_last_line(log)}); more is in {log}.")


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return said[-1][:300] if said else "it said nothing"
