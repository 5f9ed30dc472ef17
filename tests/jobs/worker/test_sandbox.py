"""A parser may do what it likes; the worker gets a verdict and goes on."""

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobs.worker.errors import Interrupted, SandboxLost
from jobs.worker.sandbox import ParseJob, Sandbox
from jobs.worker.verdicts import ParseFailure
from jobs.worker.walls import Limits

LIMITS = Limits(cpu_seconds=2, memory_bytes=512 << 20, output_bytes=8 << 20)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox(["page_import"], LIMITS, wall_seconds=10, parsers="tests.jobs.hostile")
    yield made
    made.close()


@pytest.fixture
def parse(sandbox: Sandbox, tmp_path: Path) -> Callable[[str], Path | ParseFailure]:
    def run(command: str) -> Path | ParseFailure:
        return parse_with(sandbox, tmp_path, command)

    return run


def parse_with(
    sandbox: Sandbox,
    directory: Path,
    command: str,
    should_stop: Callable[[], bool] = lambda: False,
) -> Path | ParseFailure:
    source = directory / "source"
    source.write_text(command)
    job = ParseJob(type="page_import", source=source, directory=directory, file_name="name.txt")
    return sandbox.parse(job, on_progress=lambda done, total: None, should_stop=should_stop)


def page_text(output: Path | ParseFailure) -> str:
    assert isinstance(output, Path), output
    return json.loads(output.read_bytes().split(b"\n")[1])["page"]["text"]


def code_of(outcome: Path | ParseFailure) -> str:
    assert isinstance(outcome, ParseFailure), outcome
    return outcome.code


def test_lines_of_a_good_file_come_back_in_canonical_json(parse):
    output = parse("text こんにちは")

    first, second, rest = output.read_bytes().split(b"\n")
    assert rest == b""
    assert first.startswith(b'{"document":{"detected_type":"text/plain","page_count":1,')
    assert "こんにちは".encode() in second


def test_progress_of_the_parser_reaches_the_caller(sandbox, tmp_path):
    source = tmp_path / "source"
    source.write_text("text x")
    seen: list[tuple[int, int | None]] = []
    job = ParseJob(type="page_import", source=source, directory=tmp_path, file_name="n")

    sandbox.parse(job, on_progress=lambda *p: seen.append(p), should_stop=lambda: False)

    assert seen[0] == (0, 1)


def test_an_error_of_the_parser_keeps_its_own_code(parse):
    assert parse("fail file_encrypted") == ParseFailure("file_encrypted", "said so")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("loop", "parse_timeout"),
        ("hog", "parse_memory"),
        ("abort_hungry", "parse_memory"),
        ("segfault", "parse_crashed"),
        ("flood", "output_limit"),
        ("leave 3", "parse_crashed"),
        ("leave 0", "parse_crashed"),
        ("no_such_deed", "parse_crashed"),
    ],
)
def test_a_parser_that_goes_too_far_is_a_verdict_on_its_file(parse, command, code):
    assert code_of(parse(command)) == code
    assert page_text(parse("text still here")) == "still here"


def test_a_parser_that_ignores_the_processor_limit_is_killed_by_the_hard_one(tmp_path):
    limits = Limits(cpu_seconds=1, memory_bytes=512 << 20, output_bytes=1 << 20)
    sandbox = Sandbox(["page_import"], limits, wall_seconds=30, parsers="tests.jobs.hostile")

    assert code_of(parse_with(sandbox, tmp_path, "stubborn_loop")) == "parse_timeout"
    sandbox.close()


def test_a_parser_that_waits_for_ever_is_killed_by_the_wall_clock(tmp_path):
    sandbox = Sandbox(["page_import"], LIMITS, wall_seconds=0.5, parsers="tests.jobs.hostile")

    assert code_of(parse_with(sandbox, tmp_path, "sleep 60")) == "parse_timeout"
    sandbox.close()


def test_a_parser_cannot_fork_or_execute(parse):
    assert page_text(parse("fork_bomb")) == "refused: PermissionError"
    assert page_text(parse("execute")) == "refused: PermissionError"


def test_a_parser_cannot_reach_the_network(parse):
    with socket.create_server(("127.0.0.1", 0)) as server:
        outcome = page_text(parse(f"connect {server.getsockname()[1]}"))

    assert outcome == "refused: PermissionError"


def test_a_parser_cannot_read_other_files_or_the_secrets_of_the_worker(parse, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("whsec")

    assert page_text(parse(f"read {secret}")) == "refused: PermissionError"
    assert page_text(parse(f"read /proc/{os.getpid()}/environ")) == "refused: PermissionError"
    assert page_text(parse("read /etc/passwd")) == "refused: PermissionError"


def test_a_parser_cannot_write_files(parse, tmp_path):
    target = tmp_path / "target"

    assert page_text(parse(f"write {target}")) == "refused: PermissionError"
    assert not target.exists()


def test_a_parser_cannot_signal_the_worker(parse):
    assert page_text(parse(f"kill {os.getpid()}")) == "refused: PermissionError"


def test_a_parser_inherits_neither_environment_nor_descriptors(parse, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary")

    names = set(page_text(parse("environment")).split())

    assert names <= {"PYTHONHASHSEED", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE", "LC_CTYPE"}
    assert page_text(parse("descriptors")) == "0 1 2 3 4"


def test_a_stop_kills_the_child_at_once(sandbox, tmp_path):
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()

    with pytest.raises(Interrupted):
        parse_with(sandbox, tmp_path, "sleep 60", stop.is_set)

    assert time.monotonic() - began < 3


def test_a_dead_helper_is_reported_and_replaced(tmp_path):
    sandbox = Sandbox(["page_import"], LIMITS, wall_seconds=10, parsers="tests.jobs.hostile")
    parse_with(sandbox, tmp_path, "text warm")
    helper = sandbox._helper.process.pid
    threading.Timer(0.3, os.kill, (helper, signal.SIGKILL)).start()

    with pytest.raises(SandboxLost):
        parse_with(sandbox, tmp_path, "sleep 60")

    assert page_text(parse_with(sandbox, tmp_path, "text healed")) == "healed"
    sandbox.close()


def test_several_files_are_parsed_at_once(sandbox, tmp_path):
    outcomes: list[str] = []

    def one(number: int) -> None:
        directory = tmp_path / str(number)
        directory.mkdir()
        parse_with(sandbox, directory, "sleep 1")
        outcomes.append("done")

    threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert outcomes == ["done"] * 4
    assert time.monotonic() - began < 3


def test_the_self_test_names_the_walls_that_hold(sandbox, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("whsec")

    tested = sandbox.self_test(secret)

    assert tested.parser_version == "1"
    assert {"rlimits", "seccomp"} <= set(tested.walls)
    assert tested.unreadable == ()


def test_signals_to_every_process_do_not_fail_a_file(sandbox, tmp_path):
    parse_with(sandbox, tmp_path, "text warm")
    helper = sandbox._helper.process.pid
    threading.Timer(0.2, os.kill, (helper, signal.SIGTERM)).start()
    threading.Timer(0.3, os.kill, (helper, signal.SIGINT)).start()

    assert page_text(parse_with(sandbox, tmp_path, "sleep 1")) == "name.txt"
