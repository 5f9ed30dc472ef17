"""The forked side of the sandbox: one file, one process, no way out but a file and a pipe.

Runs in the helper's fork. Speaks JSON lines on the pipe: `{"progress": [done, total]}` at times,
one `{"verdict": …}` at the end; the result lines go to the output file.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, BinaryIO, NoReturn

from jobs.messages import canonical_json
from jobs.worker import pictures, walls

_STDERR, _OUTPUT, _PIPE, _FIRST_FREE = 2, 3, 4, 5
_PROGRESS_SECONDS = 0.2
_BUFFER_BYTES = 256 * 1024
_TRACE_CHARACTERS = 3000
#: A drawing child ends by itself before the kernel ends it.
_DRAWING_SHARE = 0.9
#: One thread: its share of the machine is one core.
_PROGRAM_ENVIRONMENT = MappingProxyType({"OMP_THREAD_LIMIT": "1", "LC_ALL": "C"})
_NO_ROOM = "images_limited: the pictures of the first pages fill the room there is."

#: The machine's trouble, not the file's: the message is left for another try.
_MACHINE_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENFILE})


def run(request: Mapping[str, Any], parsers: ModuleType, descriptors: list[int]) -> NoReturn:
    """Parse one file inside all walls and end the process; never returns into the helper."""
    status = 70
    try:
        _arrange(*descriptors)
        limits = walls.Limits(**request["limits"])
        program = Path(request["program"]) if "program" in request else None
        up = walls.enclose(limits, [Path(path) for path in request["readable"]], program)
        if "self_test" in request:
            verdict = self_test(up, request)
        elif not set(request["walls"]) <= set(up):
            verdict = {"verdict": "machine", "message": "a wall of the sandbox did not stand"}
        elif program is not None:
            _become(program, request)
        else:
            verdict = _work(request, parsers)
        _say(verdict)
        status = 0
    except BaseException:
        # The interpreter of the helper must not see this; the exit status tells the worker.
        with suppress(BaseException):
            os.write(_STDERR, traceback.format_exc()[-_TRACE_CHARACTERS:].encode(errors="replace"))
    finally:
        os._exit(status)


def _arrange(output: int, pipe: int, stderr: int) -> None:
    """Keep the three descriptors given at fixed numbers and close everything else."""
    os.setsid()
    walls.die_with_parent()
    for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 100) for descriptor in (output, pipe, stderr)]
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    for source, target in zip(high, (_OUTPUT, _PIPE, _STDERR), strict=True):
        os.dup2(source, target)
    os.closerange(_FIRST_FREE, 65_536)


def _work(request: Mapping[str, Any], parsers: ModuleType) -> dict[str, Any]:
    try:
        with os.fdopen(_OUTPUT, "wb", buffering=_BUFFER_BYTES) as output:
            _DEEDS[request["deed"]](request, parsers, output)
    except parsers.ParseError as error:
        return {"verdict": "failed", "code": str(error.code), "message": str(error.message)}
    except MemoryError:
        return _failed("parse_memory", "the parser needed more memory than allowed")
    except OSError as error:
        if error.errno == errno.EFBIG:
            return _failed("output_limit", "the result is larger than allowed")
        if error.errno in _MACHINE_ERRORS:
            return {"verdict": "machine", "message": os.strerror(error.errno or 0)}
        return _crashed(error)
    except Exception as error:
        return _crashed(error)
    return {"verdict": "completed"}


def _parse(request: Mapping[str, Any], parsers: ModuleType, output: BinaryIO) -> None:
    lines = parsers.parse(
        request["type"],
        Path(request["path"]),
        file_name=request["file_name"],
        options=request["options"],
        progress=_Progress(),
    )
    for line in lines:
        output.write(canonical_json(line) + b"\n")


def _draw(request: Mapping[str, Any], parsers: ModuleType, output: BinaryIO) -> None:
    drawn = parsers.draw(
        Path(request["path"]),
        file_name=request["file_name"],
        options=request["options"],
        first=request["first"],
        cpu_seconds=request["limits"]["cpu_seconds"] * _DRAWING_SHARE,
        progress=_Progress(),
    )
    room = request["limits"]["output_bytes"] - pictures.MAX_PICTURE_BYTES
    for page in drawn:
        if output.tell() > room:
            pictures.write_flaw(output, 0, _NO_ROOM)
            return
        if hasattr(page, "reason"):
            pictures.write_flaw(output, page.number, page.reason)
        else:
            pictures.write_picture(output, page.number, page.data)


def _scan(request: Mapping[str, Any], parsers: ModuleType, output: BinaryIO) -> None:
    output.write(
        parsers.scan(
            Path(request["path"]),
            file_name=request["file_name"],
            options=request["options"],
            number=request["number"],
        )
    )


_DEEDS = MappingProxyType({"parse": _parse, "draw": _draw, "scan": _scan})


def _become(program: Path, request: Mapping[str, Any]) -> NoReturn:
    """Turn into another program that reads a file and writes the output; keep all walls."""
    os.dup2(os.open(request["path"], os.O_RDONLY), 0)
    os.dup2(_OUTPUT, 1)
    os.closerange(_OUTPUT, 128)
    arguments = [str(program), *request["arguments"]]
    os.execve(program, arguments, dict(_PROGRAM_ENVIRONMENT))  # noqa: S606 - no shell is wanted


def self_test(up: list[str], request: Mapping[str, Any]) -> dict[str, Any]:
    """Try what a parser must not do; return the walls that hold and the paths that do not open."""
    holds = ["rlimits"]
    if "seccomp" in up and _refused(socket.socket) and _refused(os.fork):
        holds.append("seccomp")
    if "landlock" in up and _refused(lambda: os.open(request["self_test"], os.O_RDONLY)):
        holds.append("landlock")
    wanted = [Path(__file__), Path(os.__file__), *map(Path, request["readable"])]
    unreadable = [str(path) for path in wanted if path.is_file() and not os.access(path, os.R_OK)]
    return {"verdict": "tested", "walls": holds, "unreadable": unreadable}


def _refused(attempt: Any) -> bool:
    try:
        made = attempt()
    except OSError:
        return True
    if made == 0:
        os._exit(0)
    return False


class _Progress:
    """Tell the worker at most five times a second, and never wait for it."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, done: int, total: int | None) -> None:
        now = time.monotonic()
        if now < self._next or not select.select([], [_PIPE], [], 0)[1]:
            return
        self._next = now + _PROGRESS_SECONDS
        _say({"progress": [done, total]})


def _failed(code: str, message: str) -> dict[str, Any]:
    return {"verdict": "failed", "code": code, "message": message}


def _crashed(error: Exception) -> dict[str, Any]:
    trace = "".join(traceback.format_exception(error))[-_TRACE_CHARACTERS:]
    sys.stderr.write(trace.encode(errors="replace").decode())
    sys.stderr.flush()
    return _failed("parse_crashed", f"the parser failed with {type(error).__name__}")


def _say(value: Mapping[str, Any]) -> None:
    os.write(_PIPE, json.dumps(value).encode() + b"\n")
