"""How a child ended becomes a stable code."""

import signal
from typing import Any

import pytest

from jobs.worker.errors import DiskTrouble
from jobs.worker.verdicts import Ending, ParseFailure, judge
from jobs.worker.walls import Limits

LIMITS = Limits(cpu_seconds=10, memory_bytes=1 << 30, output_bytes=1 << 20)


def ending(status: int, **changes: Any) -> Ending:
    usual = {"cpu_seconds": 0.1, "peak_bytes": 50 << 20, "verdict": None, "complaint": ""}
    return Ending(exit=status, **{**usual, **changes})


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (ending(-signal.SIGXCPU), "parse_timeout"),
        (ending(-signal.SIGKILL, cpu_seconds=11), "parse_timeout"),
        (ending(-signal.SIGKILL, out_of_time=True), "parse_timeout"),
        (ending(-signal.SIGKILL), "parse_memory"),
        (ending(-signal.SIGSEGV, peak_bytes=900 << 20), "parse_memory"),
        (ending(-signal.SIGABRT, complaint="memory allocation of 99 bytes failed"), "parse_memory"),
        (ending(-signal.SIGABRT, complaint="std::bad_alloc"), "parse_memory"),
        (ending(70, complaint="MemoryError"), "parse_memory"),
        (ending(-signal.SIGSEGV), "parse_crashed"),
        (ending(-signal.SIGABRT), "parse_crashed"),
        (ending(-signal.SIGILL), "parse_crashed"),
        (ending(-signal.SIGSYS), "parse_crashed"),
        (ending(-signal.SIGXFSZ), "output_limit"),
        (ending(0), "parse_crashed"),
        (ending(0, verdict={"verdict": "nonsense"}), "parse_crashed"),
        (ending(1, verdict={"verdict": "completed"}), "parse_crashed"),
        (
            ending(0, verdict={"verdict": "failed", "code": "file_empty", "message": "m"}),
            "file_empty",
        ),
    ],
)
def test_an_ending_that_is_not_good_has_its_code(end, code):
    failure = judge(end, LIMITS)

    assert isinstance(failure, ParseFailure)
    assert failure.code == code
    assert failure.message


def test_a_completed_parse_is_no_failure():
    assert judge(ending(0, verdict={"verdict": "completed"}), LIMITS) is None


def test_trouble_of_the_machine_is_no_verdict_on_the_file():
    with pytest.raises(DiskTrouble):
        judge(ending(0, verdict={"verdict": "machine", "message": "No space left"}), LIMITS)


def test_what_a_parser_says_is_bounded_and_can_be_stored():
    verdict = {"verdict": "failed", "code": "file_empty", "message": "a\x00\ud800" + "m" * 10**6}

    failure = judge(ending(0, verdict=verdict), LIMITS)

    assert failure is not None
    assert failure.message.startswith("a?m")
    assert len(failure.message) < 500


@pytest.mark.parametrize("code", ["c" * 65, "", "Not A Code", "x\x00", 7, None])
def test_a_code_that_is_none_is_a_crash(code):
    verdict = {"verdict": "failed", "code": code, "message": "m"}

    failure = judge(ending(0, verdict=verdict), LIMITS)

    assert failure is not None
    assert failure.code == "parse_crashed"
