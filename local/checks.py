"""`run.py test`: format, lint, contracts, types, tests, in this order; all of them, always."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from local.errors import LocalError
from local.tasks import ROOT

CHECKS = (
    ("format", ("ruff", "format", "--check", "--quiet", ".")),
    ("lint", ("ruff", "check", "--quiet", ".")),
    ("contracts", ("lint-imports",)),
    ("types", ("mypy",)),
)
#: Most tests wait for a process or a server: two at a time, a file's tests in one process.
EVERYTHING = ("-n", "2", "--dist", "loadfile")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: what tesseract has to have learnt → its package
_LANGUAGES = {
    "eng": "tesseract-ocr-eng",
    "jpn": "tesseract-ocr-jpn",
    "jpn_vert": "tesseract-ocr-jpn-vert",
}


def run_checks(pytest_arguments: Sequence[str]) -> int:
    """Run every check, then the tests, whose closing line comes last; return the exit status."""
    ensure_programs()
    ensure_promtool()
    ensure_typescript()
    programs = Path(sys.executable).parent
    env = {**os.environ, "PATH": os.pathsep.join([str(programs), os.environ.get("PATH", "")])}
    failed = []
    for name, command in CHECKS:
        _say(f"--- {name}")
        if _run([str(programs / command[0]), *command[1:]], env) != 0:
            failed.append(name)
    chosen = pytest_arguments or EVERYTHING
    _say("--- tests" + (f" (failed so far: {', '.join(failed)})" if failed else ""))
    status = _run([sys.executable, "-m", "pytest", *chosen], env)
    return status or (1 if failed else 0)


def _run(command: Sequence[str], env: Mapping[str, str]) -> int:
    """Run one check on our terminal; asked to stop, let it end in its own way."""
    process = subprocess.Popen(command, env=dict(env), cwd=ROOT)

    def pass_on(number: int, _frame: FrameType | None) -> None:
        # A terminal's Ctrl-C has reached it already; pytest tidies up on SIGINT only.
        if number == signal.SIGTERM:
            process.send_signal(signal.SIGINT)

    before = {n: signal.signal(n, pass_on) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        return process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ensure_programs() -> None:
    """Have a real Chromium, a Japanese font and tesseract for the tests, or say what is missing."""
    missing = [] if any(map(shutil.which, _BROWSERS)) else ["chromium"]
    if not _has_japanese_font():
        missing.append("fonts-ipafont-gothic")
    missing += _missing_recognition()
    if not missing:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise LocalError(
            f"The tests need {' and '.join(missing)}: install with "
            f"`sudo apt-get install {' '.join(missing)}` (or your system's packages of it) "
            "and try again."
        )
    _say(f"Installing {' and '.join(missing)} for the tests.")
    _install(missing)


def ensure_promtool() -> None:
    """Have promtool for the tests of the alert rules, if this system's packages have it.

    Only the program is taken out of the package: installed, it would start a server. Without it
    those tests fail and say what to install.
    """
    target = Path(sys.executable).parent / "promtool"
    if target.exists() or shutil.which("promtool") or not shutil.which("apt-get"):
        return
    _say("Fetching promtool for the tests of the alert rules.")
    with tempfile.TemporaryDirectory(prefix="torikomi-promtool-") as directory:
        fetched = _fetch_package("prometheus", directory)
        if fetched is None and os.geteuid() == 0:
            subprocess.run(["apt-get", "update", "-q"], capture_output=True, check=False)
            fetched = _fetch_package("prometheus", directory)
        if fetched is None:
            return
        subprocess.run(["dpkg-deb", "-x", fetched, directory], check=False)
        program = Path(directory) / "usr" / "bin" / "promtool"
        if program.exists():
            shutil.copy(program, target)


def ensure_typescript() -> None:
    """Have the TypeScript compiler for the tests that compare with it, when we may install it.

    Without it those tests fail and say what to install.
    """
    is_there = shutil.which("node") and Path("/usr/share/nodejs/typescript").is_dir()
    if is_there or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    _say("Installing node-typescript for the tests that compare with its compiler.")
    try:
        _install(["node-typescript"])
    except LocalError as error:
        _say(str(error))


def _fetch_package(name: str, directory: str) -> Path | None:
    """Download one Debian package, which needs no right; None when there is none."""
    # Unsandboxed: apt's own user has no way into a private directory.
    command = ["apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", name]
    subprocess.run(command, cwd=directory, capture_output=True, check=False)
    return next(Path(directory).glob("*.deb"), None)


def _has_japanese_font() -> bool:
    if not shutil.which("fc-list"):
        return False
    found = subprocess.run(["fc-list", ":lang=ja"], capture_output=True, check=False)
    return bool(found.stdout.strip())


def _missing_recognition() -> list[str]:
    """Return the packages that reading scanned Japanese pages lacks."""
    if not shutil.which("tesseract"):
        return ["tesseract-ocr", *_LANGUAGES.values()]
    listed = subprocess.run(["tesseract", "--list-langs"], capture_output=True, check=False)
    known = listed.stdout.decode(errors="replace").split()
    return [package for name, package in _LANGUAGES.items() if name not in known]


def _install(packages: Sequence[str]) -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *packages]
    for command in (["apt-get", "update", "-q"], install):
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, errors="replace", check=False
        )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise LocalError(
            f"apt-get could not install {' '.join(packages)}, which the tests need: {reason}"
        )


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
