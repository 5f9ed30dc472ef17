"""Keeping programs alive and ending them in order."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from local.processes import is_same, wait_until
from local.supervisor import Program, Supervisor

TIDY = (
    "import signal, sys, time, pathlib\n"
    "def end(*_):\n"
    "    with open('order', 'a') as stream: stream.write(sys.argv[1] + '\\n')\n"
    "    sys.exit(0)\n"
    "signal.signal(signal.SIGTERM, end)\n"
    "pathlib.Path(sys.argv[1] + '.up').touch()\n"
    "time.sleep(60)\n"
)

Make = Callable[..., Supervisor]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Supervisor] = []

    def build(**sources: str) -> Supervisor:
        supervisor = Supervisor(
            [Program(name, [sys.executable, "-c", code, name]) for name, code in sources.items()],
            env=lambda name: {**os.environ, "WHO": name},
            cwd=tmp_path,
            logs=tmp_path / "logs",
        )
        made.append(supervisor)
        for name in sources:
            supervisor.start(name)
        return supervisor

    yield build
    for supervisor in made:
        supervisor.stop(list(supervisor.programs), 0)


def test_a_killed_program_is_started_again(make: Make, tmp_path: Path) -> None:
    supervisor = make(web=TIDY)
    first = supervisor.identities()["web"]
    os.kill(first.pid, signal.SIGKILL)

    def came_back() -> bool:
        supervisor.watch()
        return supervisor.identities()["web"] != first

    assert wait_until(came_back, 5)
    assert is_same(supervisor.identities()["web"])


def test_a_program_that_keeps_dying_is_started_less_and_less_often(make: Make) -> None:
    supervisor = make(web="raise SystemExit(7)")
    wait_until(lambda: supervisor.watch() or False, 2.5)

    assert 1 <= supervisor.programs["web"].restarts <= 4
    assert supervisor.programs["web"].pause_seconds >= 1.0


def test_one_dead_program_leaves_the_others_alone(make: Make, tmp_path: Path) -> None:
    supervisor = make(web=TIDY, worker="raise SystemExit(7)")
    web = supervisor.identities()["web"]
    wait_until(lambda: supervisor.watch() or False, 1)

    assert supervisor.identities()["web"] == web
    assert is_same(web)


def test_programs_end_in_the_order_asked(make: Make, tmp_path: Path) -> None:
    supervisor = make(web=TIDY, scheduler=TIDY, worker=TIDY)
    names = ("worker", "scheduler", "web")
    assert wait_until(lambda: all((tmp_path / f"{n}.up").exists() for n in names), 10)
    identities = supervisor.identities()

    assert all([supervisor.stop([name], 10) for name in names])

    assert (tmp_path / "order").read_text().split() == ["worker", "scheduler", "web"]
    assert not any(is_same(identity) for identity in identities.values())
    supervisor.watch()
    assert supervisor.identities() == {}


def test_a_program_that_will_not_end_is_killed_and_the_stop_was_not_clean(
    make: Make, tmp_path: Path
) -> None:
    deaf = "import signal, time, pathlib; signal.signal(15, signal.SIG_IGN)\n"
    supervisor = make(worker=deaf + "pathlib.Path('up').touch(); time.sleep(60)")
    assert wait_until((tmp_path / "up").exists, 10)
    identity = supervisor.identities()["worker"]

    assert supervisor.stop(["worker"], 0.3) is False
    assert not is_same(identity)
