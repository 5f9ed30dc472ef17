"""Start and stop one program, and recognise it again after our own death.

A process is never signalled by its number alone: numbers are reused. Its identity is the number
together with the moment the kernel says it started.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_LEASH = Path(__file__).with_name("leash.py")
_LINUX = Path("/proc/sys/kernel/random/boot_id").exists()
_LOG_LIMIT_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class Identity:
    """One process of one boot: its number and its start mark."""

    pid: int
    started: str


def identify(pid: int) -> Identity | None:
    """Return the identity of a living process; None when it is gone or a zombie."""
    if pid <= 0:
        return None
    if _LINUX:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        except OSError:
            return None
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in "ZX" else Identity(pid, f"{boot}:{fields[19]}")
    return _identify_by_ps(pid)


def _identify_by_ps(pid: int) -> Identity | None:
    words = _ps(pid, "stat=,lstart=").split(maxsplit=1)
    if len(words) < 2 or words[0].startswith("Z"):
        return None
    return Identity(pid, words[1])


def command_line(pid: int) -> list[str]:
    """Return the arguments of a living process; empty when it is gone."""
    if _LINUX:
        try:
            raw = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return []
        return [os.fsdecode(word) for word in raw.split(b"\0") if word]
    return _ps(pid, "command=").split()


def _ps(pid: int, columns: str) -> str:
    answer = subprocess.run(
        ["ps", "-o", columns, "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return answer.stdout.strip()


def is_same(identity: Identity) -> bool:
    """Say whether exactly this process still lives."""
    return identify(identity.pid) == identity


def kill_identity(identity: Identity, grace_seconds: float, first: int = signal.SIGTERM) -> None:
    """Stop an orphan of an earlier run and its process group, if it is still the same process."""
    for number, patience in ((first, grace_seconds), (signal.SIGKILL, 5.0)):
        if not is_same(identity):
            return
        _signal_group(identity.pid, number)
        wait_until(lambda: not is_same(identity), patience)


def wait_until(condition: Callable[[], bool], timeout_seconds: float) -> bool:
    """Poll until the condition holds; False when it did not within the time."""
    deadline = time.monotonic() + timeout_seconds
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
    return True


def free_port(preferred: int | None = None) -> int:
    """Return a loopback TCP port nobody listens on; the preferred one when it is free."""
    for candidate in (preferred, 0):
        if candidate is not None and port_is_free(candidate):
            return candidate if candidate else _any_port()
    return _any_port()


def port_is_free(port: int) -> bool:
    """Say whether a server could listen on this loopback port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _any_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Child:
    """A started program: the head of its own session, so that a terminal's Ctrl-C misses it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.identity = identify(process.pid) or Identity(process.pid, "")

    @property
    def pid(self) -> int:
        """The process number; the group's number too."""
        return self.process.pid

    def alive(self) -> bool:
        """Say whether it still runs; when it does not, kill the rest of its group and reap it."""
        if self.process.returncode is not None:
            return False
        if not self._has_ended():
            return True
        # Before reaping: until then no stranger can have the group's number.
        _signal_group(self.pid, signal.SIGKILL)
        self.process.wait()
        return False

    def _has_ended(self) -> bool:
        if hasattr(os, "waitid"):
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self.pid, flags) is not None
        return self.process.poll() is not None

    def signal(self, number: int) -> None:
        """Send a signal to the program alone; harmless when it has ended."""
        if self.alive():
            self.process.send_signal(number)

    def stop(self, first: int, grace_seconds: float) -> bool:
        """Ask once, wait, then kill; leaves nothing. Says whether asking was enough."""
        self.signal(first)
        clean = wait_until(lambda: not self.alive(), grace_seconds)
        self.kill()
        return clean

    def kill(self) -> None:
        """Kill the whole group at once; harmless when it has ended."""
        if self.alive():
            _signal_group(self.pid, signal.SIGKILL)
            wait_until(lambda: not self.alive(), 10)


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def spawn(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    log: Path,
    death_signal: int = signal.SIGTERM,
    user: tuple[int, int] | None = None,
) -> Child:
    """Start a program on the leash, its output appended to the log file (0600)."""
    uid, gid = user or (-1, -1)
    leash = [sys.executable, "-I", "-S", str(_LEASH)]
    ties = [str(os.getpid()), str(int(death_signal)), str(uid), str(gid)]
    output = _open_log(log)
    try:
        process = subprocess.Popen(
            [*leash, *ties, *argv],
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    finally:
        os.close(output)
    return Child(process)


def _open_log(log: Path) -> int:
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > _LOG_LIMIT_BYTES:
        log.replace(log.with_suffix(".old"))
    return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
