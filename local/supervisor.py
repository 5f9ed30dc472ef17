"""Keep the product's processes alive, and end them in order.

`supervisor` and `honcho` from the package index were weighed: the first does not end groups in
stages against one deadline nor dies with its starter, the second stops all when one ends.
"""

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from local.processes import Child, Identity, spawn, wait_until

_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 8.0
_STEADY_SECONDS = 20.0


@dataclass
class Program:
    """One process type: its command and how it is doing."""

    name: str
    argv: Sequence[str]
    child: Child | None = None
    pause_seconds: float = _FIRST_PAUSE_SECONDS
    started_at: float = 0.0
    restarts: int = 0
    due_at: float | None = field(default=None)


class Supervisor:
    """Starts, restarts and stops programs. Not thread-safe: one thread owns it.

    The programs die with the thread that started them, so that thread has to live as long as they.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        *,
        env: Callable[[str], Mapping[str, str]],
        cwd: Path,
        logs: Path,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.programs = {program.name: program for program in programs}
        self._env = env
        self._cwd = cwd
        self._logs = logs
        self._on_change = on_change

    def start(self, name: str) -> None:
        """Start one program now."""
        program = self.programs[name]
        program.child = spawn(
            program.argv,
            env=self._env(name),
            cwd=self._cwd,
            log=self._logs / f"{name}.log",
        )
        program.started_at = time.monotonic()
        program.due_at = None
        self._on_change()

    def watch(self) -> None:
        """Restart what has died, after a pause that grows while it keeps dying. Call it often."""
        now = time.monotonic()
        for program in self.programs.values():
            if program.child is None or program.child.alive():
                continue
            if program.due_at is None:
                if now - program.started_at > _STEADY_SECONDS:
                    program.pause_seconds = _FIRST_PAUSE_SECONDS
                program.due_at = now + program.pause_seconds
                program.pause_seconds = min(program.pause_seconds * 2, _LONGEST_PAUSE_SECONDS)
            if now >= program.due_at:
                program.restarts += 1
                self.start(program.name)

    def stop(self, names: Sequence[str], grace_seconds: float) -> bool:
        """Ask these to end together, wait, kill what remains; say whether none had to be killed."""
        children = []
        for name in names:
            child = self.programs[name].child
            self.programs[name].child = None
            if child is not None:
                children.append(child)
                child.signal(signal.SIGTERM)
        clean = wait_until(lambda: not any([c.alive() for c in children]), grace_seconds)
        for child in children:
            child.kill()
        self._on_change()
        return clean

    def identities(self) -> dict[str, Identity]:
        """Return who runs now, for the next start to recognise."""
        return {
            name: program.child.identity
            for name, program in self.programs.items()
            if program.child is not None
        }
