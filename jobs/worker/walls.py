"""What stands between a parser and the machine; put up in the helper and in each parsing child.

The helper leaves the network behind once. Each child then gives up privileges, files, system
calls and resources, in that order, and can get none of them back.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from jobs.worker import landlock, seccomp

_CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWNET = 0x08000000, 0x10000000, 0x40000000
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_CAPABILITY_VERSION_3 = 0x20080522
_SIGKILL = 9

_OPEN_FILES = 64
#: After SIGXCPU a parser that ignores it lives for this long.
_CPU_GRACE_SECONDS = 1

#: What a parser may read besides Python itself: shared libraries, fonts, time zones,
#: what text recognition has learnt, randomness.
_SYSTEM_PATHS = (
    "/usr/lib",
    "/usr/lib64",
    "/lib",
    "/lib64",
    "/usr/local/lib",
    "/etc/ld.so.cache",
    "/etc/fonts",
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "/usr/share/zoneinfo",
    "/usr/share/tesseract-ocr",
    "/usr/share/tesseract",
    "/usr/share/tessdata",
    "/usr/local/share/tessdata",
    "/etc/localtime",
    "/dev/null",
    "/dev/urandom",
)

#: What the kernel runs first for a program with shared libraries.
_LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one parse may use. The wall clock is the worker's business."""

    cpu_seconds: int
    memory_bytes: int
    output_bytes: int


def hide_from_children() -> None:
    """Keep same-user processes out of this one's memory and environment (/proc, ptrace)."""
    _prctl(_PR_SET_DUMPABLE, 0)


def leave_network() -> bool:
    """Move this single-threaded process into namespaces without network; False if not allowed.

    Tried in a fork first: a half-made user namespace would leave the process without its files.
    """
    if platform.system() != "Linux":
        return False
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if _enter_namespaces() else 1)
        finally:
            os._exit(1)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
        return False
    return _enter_namespaces()


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends."""
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)


def enclose(limits: Limits, readable: Iterable[Path], program: Path | None = None) -> list[str]:
    """Put up every wall this kernel has around the calling child; return the names of those up.

    With a `program` the child may turn into it, and into nothing else where Landlock stands.
    Call it single-threaded, with only the descriptors open that the child may keep.
    """
    _limit_resources(limits)
    up = ["rlimits"]
    if platform.system() != "Linux":
        return up
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _drop_capabilities()
    _prctl(_PR_SET_DUMPABLE, 0)
    paths = [*python_paths(), *map(Path, _SYSTEM_PATHS), *readable]
    put_up: Callable[[], None]
    for name, put_up in (
        ("landlock", partial(landlock.restrict, paths, _executable(program))),
        ("seccomp", partial(seccomp.install, may_execute=program is not None)),
    ):
        # A kernel without it says so here; the self-test decides whether that is enough.
        with suppress(OSError):
            put_up()
            up.append(name)
    return up


def _executable(program: Path | None) -> list[Path]:
    return [] if program is None else [program, *map(Path, _LOADERS)]


def python_paths() -> list[Path]:
    """Return the trees that hold the interpreter, its libraries and our parsers.

    Not the working directory: secrets and data may lie next to the code.
    """
    root = Path(__file__).resolve().parents[2]
    entries = {Path(entry).resolve() for entry in (*sys.path, sys.prefix, sys.base_prefix)}
    return [root / "jobs", *sorted(entries - {root, Path("/"), Path.cwd()})]


def _limit_resources(limits: Limits) -> None:
    _limit(resource.RLIMIT_CORE, 0, 0)
    _limit(resource.RLIMIT_NOFILE, _OPEN_FILES, _OPEN_FILES)
    _limit(resource.RLIMIT_FSIZE, limits.output_bytes, limits.output_bytes)
    _limit(resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + _CPU_GRACE_SECONDS)
    _limit(resource.RLIMIT_AS, limits.memory_bytes, limits.memory_bytes)


def _limit(kind: int, soft: int, hard: int) -> None:
    _, ceiling = resource.getrlimit(kind)
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))


def _drop_capabilities() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    header = struct.pack("<Ii", _CAPABILITY_VERSION_3, 0)
    if libc.capset(header, bytes(24)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _enter_namespaces() -> bool:
    user, group = os.geteuid(), os.getegid()
    if _unshare(_CLONE_NEWNET | _CLONE_NEWIPC):
        return True
    if not _unshare(_CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWIPC):
        return False
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    return True


def _unshare(flags: int) -> bool:
    return int(ctypes.CDLL(None, use_errno=True).unshare(ctypes.c_int(flags))) == 0


def _prctl(option: int, value: int) -> None:
    if platform.system() != "Linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    if libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
