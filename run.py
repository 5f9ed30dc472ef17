#!/usr/bin/env python3
"""Start Torikomi with one command: `python3 run.py`; also `run.py test`, `token` and `operate`.

Standard library only. Makes .venv beside this file, installs the hash-locked dependencies when
their lock has changed, and hands over to `python -m local` in there. This file has to parse on
Python 3.8, so that an old one is told so in a sentence.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
LOCKS = ROOT / "local" / "locks"
NEEDED = (3, 11)
USAGE = """usage: python3 run.py          start Torikomi here
       python3 run.py test     run all checks and tests
       python3 run.py token    print an access token of the running Torikomi
       python3 run.py operate  run an operator's command on it: operate doctor
PORT (8000) and TORIKOMI_DATA (./var) choose where."""
# pip's settings that say where packages come from, as uv spells them.
UV_OPTIONS = {
    "index-url": "--index-url",
    "extra-index-url": "--extra-index-url",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
}


class SetupError(Exception):
    """One sentence that says what is wrong and what to do."""


def main(arguments: list[str]) -> int:
    """Run one command and return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may know no Japanese
    command = arguments[0] if arguments else "run"
    if command in ("-h", "--help", "help"):
        print(USAGE)
        return 0
    has_words = command in ("test", "operate")
    if command not in ("run", "test", "token", "operate") or (not has_words and arguments[1:]):
        print(USAGE, file=sys.stderr)
        return 2
    try:
        check_python()
        if command in ("run", "test"):
            set_up("test" if command == "test" else "run")
        elif not venv_python().exists():
            raise SetupError("Torikomi does not run: start it with `python3 run.py` first.")
        hand_over(command, arguments[1:])
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130


def check_python() -> None:
    """Refuse a Python that is too old, or has no venv."""
    if sys.version_info < NEEDED:
        names = ("python3.13", "python3.12", "python3.11")
        newer = [name for name in names if quietly([name, "--version"]).returncode == 0]
        remedy = f"start it with `{newer[0]} run.py`" if newer else "install a newer Python"
        this = platform.python_version()
        raise SetupError(f"Torikomi needs Python 3.11 or newer and this is {this}: {remedy}.")
    if os.name != "posix":
        raise SetupError("Torikomi runs on Linux and macOS; on Windows start it inside WSL.")


def hand_over(command: str, arguments: list[str]) -> NoReturn:
    """Become `python -m local COMMAND` inside the venv."""
    os.chdir(str(ROOT))
    sys.stdout.flush()
    python = str(venv_python())
    os.execv(python, [python, "-m", "local", command, *arguments])  # noqa: S606


def venv_python() -> Path:
    """Return the venv's interpreter."""
    return VENV / "bin" / "python"


# Setting up


def set_up(kind: str) -> None:
    """Make the venv and install the locked dependencies, unless that is done already."""
    lock = LOCKS / f"{kind}.txt"
    stamp = VENV / f"torikomi-{kind}.json"
    wanted = stamp_for(lock)
    if venv_works() and read(stamp) == wanted:
        return
    with one_at_a_time():
        if venv_works() and read(stamp) == wanted:
            return
        check_place()
        say("Setting up (the first time takes about a minute). / 準備しています。")
        make_venv()
        install(lock)
        try:
            stamp.write_text(wanted, encoding="utf-8")
        except OSError as error:
            raise SetupError(f"{stamp} cannot be written ({error.strerror}).") from error


def stamp_for(lock: Path) -> str:
    """Describe an installation: what was locked, for which Python, in which place."""
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()
    return json.dumps([digest, sys.version.split()[0], platform.machine(), str(VENV)])


def read(path: Path) -> str | None:
    """Return the text of a file, or None."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None


def venv_works() -> bool:
    """Say whether the venv belongs to this Python's version and to this place."""
    expected = json.dumps([sys.version.split()[0], str(VENV)])
    return venv_python().exists() and read(VENV / "torikomi.json") == expected


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait for another set-up of the same directory to end."""
    import fcntl  # noqa: PLC0415 -- POSIX only, checked before

    descriptor = os.open(str(ROOT), os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def check_place() -> None:
    """Refuse to set up where it cannot work, before anything is changed."""
    if venv_works():
        return
    if VENV.exists() and not (VENV / "torikomi.json").exists():
        raise SetupError(f"{VENV} exists and is not ours: move it away and start again.")
    try:
        import ensurepip  # noqa: F401, PLC0415
        import venv  # noqa: F401, PLC0415
    except ImportError:
        version = "{}.{}".format(*sys.version_info)
        raise SetupError(
            "This Python has no venv module: install it with "
            f"`apt install python{version}-venv` (or your system's package of it) and start again."
        ) from None


def make_venv() -> None:
    """Create .venv with pip; one of another Python or another place is made anew."""
    if venv_works():
        return
    shutil.rmtree(str(VENV), ignore_errors=True)
    marker = json.dumps([sys.version.split()[0], str(VENV)])
    try:
        VENV.mkdir()
        (VENV / "torikomi.json").write_text("unfinished", encoding="utf-8")
    except OSError as error:
        raise SetupError(
            f"{ROOT} cannot be written ({error.strerror}): "
            "put a copy of the project where you may write and start it there."
        ) from error
    done = quietly([sys.executable, "-m", "venv", str(VENV)])
    if done.returncode != 0:
        raise SetupError(f"Python could not make {VENV}: {last_line(done)}")
    (VENV / "torikomi.json").write_text(marker, encoding="utf-8")


def install(lock: Path) -> None:
    """Install with uv, and with pip where uv cannot be had or does not get through."""
    pip = [str(venv_python()), "-m", "pip", "--disable-pip-version-check"]
    locked = ["--require-hashes", "-r", str(lock)]
    uv = VENV / "bin" / "uv"
    settings = pip_settings(pip)
    if (
        quietly([*pip, "install", "-q", "--require-hashes", "-r", str(LOCKS / "uv.txt")]).returncode
        == 0
    ):
        command = [str(uv), "pip", "install", "-q", "--python", str(venv_python())]
        command += uv_options(settings)
        if quietly([*command, *locked], uv_environment(settings)).returncode == 0:
            return
    say("Going on with pip, which takes a little longer. / pip で続けます。")
    done = quietly([*pip, "install", "-q", *locked])
    if done.returncode != 0:
        raise SetupError(
            "The dependencies could not be installed; check the network or pip's index "
            f"(`pip config list`). pip said: {last_line(done)}"
        )


def pip_settings(pip: list[str]) -> dict[str, str]:
    """Return what pip.conf and PIP_ variables say, by option name; the strongest wins."""
    settings = {}
    for line in quietly([*pip, "config", "list"]).stdout.splitlines():
        name, found, value = line.partition("=")
        if found:
            with contextlib.suppress(ValueError, SyntaxError):
                settings[name.rpartition(".")[2]] = str(ast.literal_eval(value))
    return settings


def uv_options(settings: dict[str, str]) -> list[str]:
    """Say to uv, which reads no pip.conf, where pip would look."""
    if any(name.startswith("UV_") and "INDEX" in name for name in os.environ):
        return []
    options = ["--index-strategy", "unsafe-best-match"]  # as pip does; the hashes decide
    for name, option in UV_OPTIONS.items():
        for value in settings.get(name, "").split():
            options += [option, value]
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        options.append("--no-index")
    return options


def uv_environment(settings: dict[str, str]) -> dict[str, str]:
    """Return our environment with pip's certificates, proxy and patience said uv's way."""
    env = dict(os.environ)
    for name, variable in (
        ("cert", "SSL_CERT_FILE"),
        ("proxy", "ALL_PROXY"),
        ("timeout", "UV_HTTP_TIMEOUT"),
        ("default-timeout", "UV_HTTP_TIMEOUT"),
    ):
        if settings.get(name):
            env.setdefault(variable, settings[name])
    return env


def quietly(
    command: list[str], env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command and keep what it says."""
    try:
        return subprocess.run(
            command,
            env=env,
            cwd=str(ROOT),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    except OSError as error:
        return subprocess.CompletedProcess(command, 1, str(error))


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """Return the last thing a failed command said."""
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    errors = [line for line in lines if "ERROR" in line.upper()]
    return (errors or lines or ["nothing"])[-1]


def say(text: str) -> None:
    """Tell the person what goes on."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
