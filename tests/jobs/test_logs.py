"""One event is one line of JSON, whatever is logged."""

import json
import os
import pty
import subprocess
import sys

from tests.jobs.conftest import ROOT

HOSTILE = "a\x1b[31m\r\n\x00\u2028\u2029\u202e\u2066\x9b\ufeff\ud800 名前"


def lines_of(code: str, **settings: str) -> list[str]:
    script = (
        "import logging, structlog\n"
        "from jobs.logs import configure\n"
        "from jobs.settings import LogSettings\n"
        f"configure('worker', LogSettings(**{settings!r}))\n"
        f"text = {HOSTILE!r}\n"
        "log = structlog.get_logger('x')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script + code], cwd=ROOT, capture_output=True, check=True
    )
    assert done.stdout == b""
    return done.stderr.decode("utf-8").split("\n")


def test_an_event_carries_time_level_component_and_what_is_bound():
    first, rest = lines_of(
        "structlog.contextvars.bind_contextvars(import_id='i1')\nlog.info('work_started', n=1)"
    )

    entry = json.loads(first)
    assert rest == ""
    assert list(entry)[:4] == ["ts", "level", "event", "component"]
    assert entry["ts"].endswith("Z")
    assert (entry["component"], entry["import_id"], entry["n"]) == ("worker", "i1", 1)


def test_hostile_text_cannot_break_a_line_or_reach_a_terminal():
    for settings in ({}, {"log_format": "pretty"}):
        line, rest = lines_of("log.info('e', name=text)", **settings)

        assert rest == ""
        assert "名前" in line
        assert not [c for c in line if ord(c) < 32 or c in "\u2028\u2029\u202e\u2066\x9b\ufeff"]


def test_a_terminal_gets_lines_for_people_and_a_file_json():
    parent, terminal = pty.openpty()
    script = (
        "import structlog\n"
        "from jobs.logs import configure\n"
        "from jobs.settings import LogSettings\n"
        "configure('worker', LogSettings())\n"
        f"structlog.get_logger('x').info('work_started', name={HOSTILE!r})\n"
    )
    command = [sys.executable, "-c", script]
    subprocess.run(command, cwd=ROOT, stderr=terminal, check=True)
    os.close(terminal)
    shown = os.read(parent, 10_000).decode("utf-8")
    os.close(parent)
    assert "info    worker    work_started name=" in shown
    assert shown.count("\n") == 1
    assert "\x1b" not in shown
    piped = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stderr
    assert json.loads(piped)["event"] == "work_started"


def test_the_text_itself_comes_back_from_the_json():
    line, _ = lines_of("log.info('e', name=text)")

    assert json.loads(line)["name"] == HOSTILE


def test_standard_logging_goes_the_same_way():
    line, _ = lines_of("logging.getLogger('gunicorn.error').warning('%s', text)")

    entry = json.loads(line)
    assert (entry["event"], entry["level"], entry["component"]) == (HOSTILE, "warning", "worker")


def test_libraries_that_log_requests_and_messages_are_kept_quiet():
    code = "".join(
        f"logging.getLogger({name!r}).info('secret')\n"
        for name in ("botocore.auth", "httpx", "urllib3.connectionpool", "dramatiq.worker")
    )

    assert lines_of(code, log_level="DEBUG") == [""]


def test_an_exception_is_one_line_without_local_variables():
    line, rest = lines_of(
        "def f():\n    password = 'hun' + 'ter2'\n    1 / 0\n"
        "try:\n    f()\nexcept ZeroDivisionError:\n    log.exception('tick_failed')"
    )

    assert rest == ""
    assert "ZeroDivisionError" in json.loads(line)["exception"]
    assert "hunter2" not in line


def test_a_stream_that_is_gone_costs_the_line_and_not_the_work():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import contextlib, os, sys, structlog\n"
            "from jobs import logs\n"
            "from jobs.settings import LogSettings\n"
            "logs.configure('worker', LogSettings())\n"
            "log = structlog.get_logger()\n"
            "os.dup2(os.open('/dev/full', os.O_WRONLY), 2)\n"
            "log.info('no_room')\n"
            "with contextlib.suppress(OSError):\n"
            "    sys.stderr.close()\n"
            "log.info('closed')\n"
            "print('went on')\n",
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == "went on\n"
