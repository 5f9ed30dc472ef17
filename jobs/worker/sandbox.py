"""Parse one file in a child process that can harm nothing: the worker's end of the sandbox.

One warm helper serves all threads; it is started again when it dies. What the helper and its
children say is data, bounded and never trusted further than a verdict on their own file.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import structlog

from jobs.worker import child as child_module
from jobs.worker.errors import Interrupted, SandboxLost
from jobs.worker.following import Child
from jobs.worker.verdicts import ParseFailure, judge
from jobs.worker.walls import Limits
from jobs.worker.warm import WarmHelper

_START_SECONDS = 60
#: A trace may quote the file; what is logged stays short.
_LOGGED_CHARACTERS = 500
#: Ten tenths are one, also in binary.
_ROUNDING = 1e-9
_ENDED = MappingProxyType(
    {"parse": "parser_ended", "draw": "drawing_ended", "scan": "scanning_ended"}
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class ParseJob:
    """One file to parse; `directory` is private to the job and takes the output."""

    type: str
    source: Path
    directory: Path
    file_name: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Watch:
    """How a job is followed from outside while it runs."""

    on_progress: Callable[[int, int | None], None]
    should_stop: Callable[[], bool]

    def part(self, start: float, end: float, *, of: int | None = None) -> Watch:
        """Return the watch of one part of the work, which takes progress from start to end.

        What it counts is passed on as it is, or in pages `of` a document.
        """

        def note(done: int, total: int | None) -> None:
            if not total:
                self.on_progress(done, total)
                return
            share = start + (end - start) * min(done / total, 1.0)
            units = of or total
            self.on_progress(int(share * units + _ROUNDING), units)

        return Watch(on_progress=note, should_stop=self.should_stop)


@dataclass(frozen=True)
class SelfTest:
    """What the sandbox can do on this machine."""

    parser_version: str
    walls: tuple[str, ...]
    unreadable: tuple[str, ...]
    japanese_font: str | None


class Sandbox:
    """Parse files for several threads. `parsers` names the module with parse() and preload()."""

    def __init__(
        self,
        types: Sequence[str],
        limits: Limits,
        *,
        wall_seconds: float,
        parsers: str = "jobs.parsing",
    ) -> None:
        self._command = [sys.executable, "-s", "-m", "jobs.worker.helper", parsers, *types]
        self._limits = limits
        self._wall_seconds = wall_seconds
        self._lock = threading.Lock()
        self._helper: WarmHelper | None = None
        self._closed = False
        self._walls: tuple[str, ...] = ()

    def self_test(self, secret: Path) -> SelfTest:
        """Start the helper and try its walls; `secret` is a file a parser must not open."""
        with Child(self._live_helper(), self._limits) as child:
            readable = [child_module.__file__]
            request = {"self_test": str(secret), "readable": readable}
            child.start(request, secret.with_name("lines"))
            ending = child.wait(_START_SECONDS, lambda: False, lambda *_: None)
        tested = ending.verdict
        if tested is None:
            raise SandboxLost(f"the sandbox's self-test failed: {ending.complaint[-200:]!r}")
        self._walls = tuple(tested["walls"])
        hello = self._live_helper().hello
        outer = ("namespaces",) if hello["without_network"] else ()
        unreadable = tuple(tested["unreadable"])
        font = hello["machine"].get("japanese_font")
        return SelfTest(hello["parser_version"], (*self._walls, *outer), unreadable, font)

    def parse(
        self,
        job: ParseJob,
        *,
        on_progress: Callable[[int, int | None], None],
        should_stop: Callable[[], bool],
    ) -> Path | ParseFailure:
        """Return the file of result lines, or why there is none.

        Kills the child and raises Interrupted when `should_stop` says so. Raises SandboxLost when
        the helper died, DiskTrouble when the machine could not write.
        """
        output = job.directory / "lines"
        request = {**self._request(job), "deed": "parse", "type": job.type}
        watch = Watch(on_progress=on_progress, should_stop=should_stop)
        return self._run(request, output, self._limits, self._wall_seconds, watch) or output

    def draw(
        self, job: ParseJob, *, first: int, seconds: float, watch: Watch
    ) -> tuple[Path, ParseFailure | None]:
        """Return the file of the pictures made of pages `first` and on, and why they ended early.

        What the file holds is good to its last whole record, however the child ended. Raises as
        `parse` does.
        """
        output = job.directory / "pictures"
        request = {**self._request(job), "deed": "draw", "first": first}
        return output, self._run(request, output, self._within(seconds), seconds, watch)

    def scan(
        self, job: ParseJob, *, number: int, seconds: float, watch: Watch
    ) -> Path | ParseFailure:
        """Return one page as an image for text recognition. Raises as `parse` does."""
        output = job.directory / "scan"
        request = {**self._request(job), "deed": "scan", "number": number}
        return self._run(request, output, self._within(seconds), seconds, watch) or output

    def run_program(
        self,
        program: Path,
        arguments: Sequence[str],
        *,
        source: Path,
        output: Path,
        seconds: float,
        watch: Watch,
    ) -> ParseFailure | None:
        """Run a program inside all walls, `source` its input, `output` what it says.

        It may use `seconds` of processor time and twice that by the clock. Raises as `parse` does.
        """
        request = {
            "program": str(program),
            "arguments": list(arguments),
            "path": str(source),
            "readable": [str(source)],
            "walls": [*self._walls, "landlock"],
        }
        return self._run(request, output, self._within(seconds), seconds * 2, watch)

    def can_run_programs(self) -> bool:
        """Whether the wall stands that tells one program from another."""
        return "landlock" in self._walls

    def _run(
        self, request: Mapping[str, Any], output: Path, limits: Limits, seconds: float, watch: Watch
    ) -> ParseFailure | None:
        output.unlink(missing_ok=True)
        with Child(self._live_helper(), limits) as child:
            child.start(request, output)
            ending = child.wait(seconds, watch.should_stop, watch.on_progress)
        done = "program" in request and ending.exit == 0 and not ending.out_of_time
        failure = None if done else judge(ending, limits)
        log.info(
            _ENDED.get(str(request.get("deed")), "program_ended"),
            exit=ending.exit,
            cpu_seconds=round(ending.cpu_seconds, 3),
            peak_bytes=ending.peak_bytes,
            complaint=ending.complaint[-_LOGGED_CHARACTERS:] or None,
            error_code=failure.code if failure else None,
        )
        return failure

    def _within(self, seconds: float) -> Limits:
        return replace(self._limits, cpu_seconds=math.ceil(seconds))

    def can_draw(self, detected_type: object) -> bool:
        """Whether pages of this type have pictures."""
        return detected_type in self._live_helper().hello["drawn"]

    def _request(self, job: ParseJob) -> dict[str, Any]:
        return {
            "path": str(job.source),
            "file_name": job.file_name,
            "options": dict(job.options),
            "readable": [str(job.source)],
            "walls": self._walls,
        }

    def close(self) -> None:
        """End the helper and with it every child. Repeatable."""
        with self._lock:
            self._closed = True
            if self._helper is not None:
                self._helper.end()

    def _live_helper(self) -> WarmHelper:
        with self._lock:
            if self._closed:
                raise Interrupted("the sandbox is closed")
            if self._helper is None or not self._helper.alive():
                if self._helper is not None:
                    log.warning("sandbox_helper_lost", exit=self._helper.process.poll())
                    self._helper.end()
                self._helper = WarmHelper(self._command)
            return self._helper
