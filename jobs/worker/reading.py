"""From a fetched source to its result lines: the text first, then the pictures of its pages,
then the text in pictures of pages that have no other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path, PurePath

import structlog

from jobs.parsing.page_import.formats import SUFFIXES
from jobs.worker.drawing import Drawing, read_head
from jobs.worker.errors import DiskTrouble, Interrupted, ReportStopped, SandboxLost, Verdict
from jobs.worker.merging import Additions, merge
from jobs.worker.patience import Patience
from jobs.worker.recognition import Recognition
from jobs.worker.reporting import ProgressReporter
from jobs.worker.sandbox import ParseJob, Sandbox, Watch
from jobs.worker.verdicts import ParseFailure

#: Parses of one file by a helper that dies before the message is left to another worker.
_PARSES = 2
#: How far a document is when its text is read, and when its pages are drawn but not yet read.
_TEXT_SHARE, _DRAWN_SHARE = 0.1, 0.2

log = structlog.get_logger(__name__)


class Reader:
    """Reads files in the sandbox; shared by all threads."""

    def __init__(
        self,
        sandbox: Sandbox,
        drawing: Drawing,
        recognition: Recognition,
        patience: Patience,
        stop: threading.Event,
        *,
        touch: Callable[[], None],
    ) -> None:
        self._sandbox = sandbox
        self._drawing = drawing
        self._recognition = recognition
        self._patience = patience
        self._stop = stop
        self._touch = touch

    def read(self, job: ParseJob, import_id: str, progress: ProgressReporter) -> Path:
        """Return the file of result lines; the pictures they name are stored.

        Raises Verdict for a bad file, ReportStopped when the import is cancelled meanwhile,
        Interrupted when the worker stops, SandboxLost when the helper dies again and again.
        """

        def should_stop() -> bool:
            self._touch()
            return self._stop.is_set() or progress.cancelled.is_set()

        watch = Watch(on_progress=progress.note, should_stop=should_stop)
        try:
            lines, additions = self._read(job, import_id, watch)
        except Interrupted:
            if self._stop.is_set():
                raise
            raise ReportStopped("cancelled while reading") from None
        if not additions:
            return lines
        merged = job.directory / "merged"
        self._patience.storage(lambda: _merge(lines, merged, additions))
        lines.unlink()
        return merged

    def _read(self, job: ParseJob, import_id: str, watch: Watch) -> tuple[Path, Additions]:
        """Parse, draw, recognise; each takes its share of the progress."""
        drawn = job.options.get("images") is not False and self._sandbox.can_draw(_kind(job))
        text_share = _TEXT_SHARE if drawn else 1.0
        lines = self._parse(job, watch.part(0.0, text_share))
        scanned = self._recognition.pages_without_text(lines)
        drawn_share = _DRAWN_SHARE if scanned else 1.0
        drawing = watch.part(text_share, drawn_share)
        additions = self._drawing.draw(job, lines, import_id, drawing)
        if scanned:
            count = read_head(lines)[1]
            reading = watch.part(drawn_share if drawn else 0.0, 1.0, of=count)
            self._recognition.read(job, scanned, additions, reading)
        return lines, additions

    def _parse(self, job: ParseJob, watch: Watch) -> Path:
        for attempt in range(1, _PARSES + 1):
            try:
                outcome = self._patience.storage(
                    lambda: self._sandbox.parse(
                        job, on_progress=watch.on_progress, should_stop=watch.should_stop
                    )
                )
            except SandboxLost:
                if attempt == _PARSES or self._stop.is_set():
                    raise
                log.warning("sandbox_lost", attempt=attempt)
                continue
            if isinstance(outcome, ParseFailure):
                raise Verdict(outcome.code, outcome.message)
            return outcome
        raise SandboxLost("the helper died under every parse")


def _kind(job: ParseJob) -> str | None:
    """Return the type that the file's name promises; what it is shows when it is read."""
    return SUFFIXES.get(PurePath(job.file_name).suffix.lower())


def _merge(lines: Path, merged: Path, additions: Additions) -> None:
    try:
        merge(lines, merged, additions)
    except OSError as error:
        raise DiskTrouble(str(error.strerror)) from error
