"""Starting, stopping and recognising programs."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from local.processes import (
    Child,
    Identity,
    free_port,
    identify,
    is_same,
    kill_identity,
    port_is_free,
    spawn,
    wait_until,
)

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def start(tmp_path: Path, argv: list[str]) -> Child:
    return spawn(argv, env=dict(os.environ), cwd=tmp_path, log=tmp_path / "logs" / "x.log")


def test_a_program_that_ignores_the_request_is_killed_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "grandchild"
    child = start(tmp_path, ["/bin/sh", "-c", f"trap '' TERM; sleep 60 & echo $! > {note}; wait"])
    assert wait_until(lambda: note.exists() and note.read_text().strip() != "", 5)
    grandchild = identify(int(note.read_text()))
    assert grandchild is not None

    assert child.stop(signal.SIGTERM, 0.3) is False

    assert not child.alive()
    assert wait_until(lambda: not is_same(grandchild), 5)


def test_a_program_that_ends_when_asked_ended_cleanly(tmp_path: Path) -> None:
    child = start(tmp_path, SLEEP)

    assert child.stop(signal.SIGTERM, 5) is True
    assert child.stop(signal.SIGTERM, 5) is True


def test_a_dead_process_and_a_zombie_have_no_identity(tmp_path: Path) -> None:
    zombie = subprocess.Popen([sys.executable, "-c", ""])
    assert wait_until(lambda: identify(zombie.pid) is None, 10)
    zombie.wait()

    assert identify(zombie.pid) is None
    assert identify(0) is None


def test_a_stranger_with_a_reused_number_is_spared(tmp_path: Path) -> None:
    stranger = subprocess.Popen(SLEEP)
    try:
        kill_identity(Identity(stranger.pid, "another boot:1"), 0.2)

        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_program_ends_when_its_starter_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    starter = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, sys, time; from pathlib import Path; from local.processes import spawn\n"
            "log = Path(sys.argv[1])\n"
            f"child = spawn({SLEEP!r}, env=dict(os.environ), cwd=Path('/'), log=log)\n"
            "Path(sys.argv[2]).write_text(str(child.pid)); time.sleep(60)",
            str(tmp_path / "log"),
            str(note),
        ]
    )
    assert wait_until(lambda: note.exists() and note.read_text() != "", 10)
    time.sleep(0.3)  # let the leash become the program
    orphan = identify(int(note.read_text()))
    assert orphan is not None

    starter.kill()
    starter.wait()

    assert wait_until(lambda: not is_same(orphan), 5)


def test_its_output_is_readable_by_the_owner_only(tmp_path: Path) -> None:
    child = start(tmp_path, [sys.executable, "-c", "print('said')"])
    assert wait_until(lambda: not child.alive(), 10)

    log = tmp_path / "logs" / "x.log"
    assert log.read_text() == "said\n"
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_taken_port_is_not_chosen() -> None:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        taken = listener.getsockname()[1]

        assert not port_is_free(taken)
        assert free_port(taken) != taken
