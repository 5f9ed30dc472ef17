"""The filter's decisions on both machines, by running its program as the kernel would."""

import errno
import struct

import pytest

from jobs.worker.seccomp import DENIED, build

ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
COLUMN = {"x86_64": 0, "aarch64": 1}
ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
PID = 4242

#: read, write, mmap, futex, exit_group, openat: what every parser needs.
NEEDED = {"x86_64": (0, 1, 9, 202, 231, 257), "aarch64": (63, 64, 222, 98, 94, 56)}
CLONE = {"x86_64": 56, "aarch64": 220}
SIGNALS = {"x86_64": (62, 200, 234), "aarch64": (129, 130, 131)}
PRLIMIT = {"x86_64": 302, "aarch64": 261}


def decide(machine: str, number: int, first: int = 0, *, architecture: int | None = None) -> int:
    """Interpret the classic BPF instructions that the filter uses."""
    code = list(struct.iter_unpack("<HBBI", build(machine, PID)))
    data = {0: number, 4: architecture or ARCHITECTURE[machine], 16: first & 0xFFFFFFFF}
    value, at = 0, 0
    while True:
        operation, if_true, if_false, operand = code[at]
        at += 1
        match operation:
            case 0x20:
                value = data[operand]
            case 0x15:
                at += if_true if value == operand else if_false
            case 0x35:
                at += if_true if value >= operand else if_false
            case 0x45:
                at += if_true if value & operand else if_false
            case 0x06:
                return operand


@pytest.mark.parametrize("machine", ARCHITECTURE)
def test_what_a_parser_needs_is_allowed(machine):
    assert {decide(machine, number) for number in NEEDED[machine]} == {ALLOW}


@pytest.mark.parametrize("machine", ARCHITECTURE)
def test_everything_on_the_list_is_refused(machine):
    numbers = [pair[COLUMN[machine]] for pair in DENIED.values()]

    assert {decide(machine, number) for number in numbers if number is not None} == {EPERM}


@pytest.mark.parametrize("machine", ARCHITECTURE)
def test_threads_are_allowed_and_processes_are_not(machine):
    pthread_flags, fork_flags = 0x3D0F00, 0x1200011

    assert decide(machine, CLONE[machine], pthread_flags) == ALLOW
    assert decide(machine, CLONE[machine], fork_flags) == EPERM
    assert decide(machine, 435) == ENOSYS, "clone3 hides its flags from a filter"


@pytest.mark.parametrize("machine", ARCHITECTURE)
def test_signals_reach_only_oneself(machine):
    for number in SIGNALS[machine]:
        assert decide(machine, number, PID) == ALLOW
        assert decide(machine, number, PID + 1) == EPERM
        assert decide(machine, number, -1) == EPERM


@pytest.mark.parametrize("machine", ARCHITECTURE)
def test_only_ones_own_limits_can_be_read(machine):
    assert decide(machine, PRLIMIT[machine], 0) == ALLOW
    assert decide(machine, PRLIMIT[machine], 1) == EPERM


def test_other_system_call_tables_are_no_way_around():
    assert decide("x86_64", 1, architecture=0x40000003) == KILL, "32-bit calls"
    assert decide("x86_64", 0x40000000 + 41) == EPERM, "x32 calls"
