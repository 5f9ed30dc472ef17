"""The scheduler as a process: woken by NOTIFY, stopped by SIGTERM with exit 0."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.builders import item_of, register

ROOT = Path(__file__).parents[2]


@pytest.fixture
def start(database, queue):
    """Start scheduler processes that end with the test."""
    processes = []

    def run(**extra: str) -> subprocess.Popen:
        env = {**os.environ, "DATABASE_URL": database, **extra}
        process = subprocess.Popen(
            [sys.executable, "-m", "scheduler"], cwd=ROOT, env=env, stderr=subprocess.PIPE
        )
        processes.append(process)
        return process

    yield run
    for process in processes:
        process.kill()
        process.communicate()


def wait_for_line(process: subprocess.Popen, text: bytes) -> bytes:
    """Read the log until a line with the text."""
    for line in process.stderr:
        if text in line:
            return line
    raise AssertionError(f"the log ended without {text!r}")


def wait_dispatched(child_id: str, seconds: float) -> float:
    """Wait until the item is marked; return how long that took."""
    begun = time.monotonic()
    while item_of(child_id)["dispatched_at"] is None:
        assert time.monotonic() - begun < seconds, "not dispatched in time"
        time.sleep(0.01)
    return time.monotonic() - begun


def test_a_commit_wakes_the_scheduler_long_before_its_poll(start):
    process = start(DISPATCH_PERIOD_SECONDS="3600")
    wait_for_line(process, b"scheduler_started")
    time.sleep(0.5)
    _, (child_id,) = register()
    assert wait_dispatched(child_id, 10) < 5


def test_sigterm_twice_ends_the_process_with_zero(start):
    process = start()
    wait_for_line(process, b"scheduler_started")
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=15) == 0


def test_what_a_killed_scheduler_left_is_dispatched_by_the_next(start):
    first = start()
    wait_for_line(first, b"scheduler_started")
    first.kill()
    first.wait()
    _, (child_id,) = register()
    start()
    wait_dispatched(child_id, 15)


def test_missing_settings_are_one_clear_sentence(database):
    env = {k: v for k, v in os.environ.items() if k != "DATABASE_URL"}
    done = subprocess.run(
        [sys.executable, "-m", "scheduler"], cwd=ROOT, env=env, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr == "scheduler: set DATABASE_URL in the environment\n"
