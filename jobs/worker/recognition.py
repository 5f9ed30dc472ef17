"""Read the text of scanned pages with tesseract, when the machine has it.

The program runs inside the same walls as the parsers, one page at a time, on a picture that a
parsing child has drawn; it sees neither the file nor the network. What it says is text, nothing
more. A page that takes too long, or kills it, keeps its warning and costs no other page anything.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from jobs.parsing.page_import.language import guess_language
from jobs.parsing.page_import.recognised import Recognised, read_tsv
from jobs.worker.drawing import read_head
from jobs.worker.errors import Interrupted, SandboxLost
from jobs.worker.merging import MAX_LINE_BYTES, Additions
from jobs.worker.patience import Patience
from jobs.worker.sandbox import ParseJob, Sandbox, Watch
from jobs.worker.verdicts import ParseFailure

#: The warning of a page without text begins so; a page whose text was read loses it.
NO_TEXT = "no_text_layer:"
_MAX_TSV_BYTES = 16 * 1024 * 1024
#: Horizontal models are this sure, at least, of text that is horizontal.
_SURE = 0.55
_HORIZONTAL, _VERTICAL = ("--psm", "3"), ("--psm", "5")
#: hint → what is looked for, the script that matters most first
_MODELS: Mapping[str | None, tuple[str, ...]] = {
    None: ("jpn", "eng"),
    "ja": ("jpn", "eng"),
    "en": ("eng",),
    "zh": ("chi_sim", "chi_tra", "eng"),
    "ko": ("kor", "eng"),
}

_FAILED = "ocr_failed: the text in this picture could not be read."
_SLOW = "ocr_timeout: reading the text in this picture took too long."
_EMPTY = "ocr_empty: no text was found in this picture."
_LIMITED = "ocr_limited: pages from {first} on were not read; reading pictures took too long."

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Tesseract:
    """The program and the languages it has learnt."""

    program: Path
    languages: frozenset[str]

    def models(self, hint: object) -> tuple[str, ...]:
        """Return the models to use for a language hint; all hints fall back to what is there."""
        known = isinstance(hint, str) and hint[:2].lower() in _MODELS
        wanted = _MODELS[str(hint)[:2].lower() if known else None]
        found = tuple(name for name in wanted if name in self.languages)
        return found or tuple(sorted(self.languages - {"osd"}))[:1]


@dataclass(kw_only=True)
class Recognition:
    """Reads pages for all threads; `tesseract` is None where there is none."""

    sandbox: Sandbox
    patience: Patience
    tesseract: Tesseract | None
    page_seconds: float
    file_seconds: float

    def pages_without_text(self, lines: Path) -> list[int]:
        """Return the pages whose text is to be read from a picture."""
        if self.tesseract is None or not self.sandbox.can_draw(read_head(lines)[0]):
            return []
        return list(_without_text(lines))

    def read(self, job: ParseJob, pages: list[int], additions: Additions, watch: Watch) -> None:
        """Read these pages one by one and add their text. Raises Interrupted when told to stop."""
        if self.tesseract is None:
            return
        deadline = time.monotonic() + self.file_seconds
        page = _PageReader(self, self.tesseract, job, watch)
        texts = []
        for done, number in enumerate(pages):
            if watch.should_stop():
                raise Interrupted("stopped between two pages")
            if time.monotonic() > deadline:
                additions.warn(0, _LIMITED.format(first=number))
                break
            found = page.read(number)
            if isinstance(found, str):
                additions.warn(number, found)
            else:
                texts.append(found.text)
                _add(additions, number, found)
            watch.on_progress(done + 1, len(pages))
        language = guess_language("\n".join(texts))
        if language is not None:
            additions.set(0, {"language": language})
        log.info("pages_recognised", pages=len(pages), with_text=len(texts))


def _add(additions: Additions, number: int, found: Recognised) -> None:
    keys = {"text": found.text, "markdown": found.markdown}
    additions.set(number, {**keys, "source": "ocr", "confidence": found.confidence})
    additions.drop(number, NO_TEXT)


@dataclass
class _PageReader:
    """One job's way from a page's number to its text."""

    recognition: Recognition
    tesseract: Tesseract
    job: ParseJob
    watch: Watch
    quiet: Watch = field(init=False)

    def __post_init__(self) -> None:
        self.quiet = Watch(on_progress=lambda *_: None, should_stop=self.watch.should_stop)

    def read(self, number: int) -> Recognised | str:
        """Return what was read, or the warning why nothing was."""
        try:
            scan = self.recognition.patience.storage(
                lambda: self.recognition.sandbox.scan(
                    self.job, number=number, seconds=self.recognition.page_seconds, watch=self.quiet
                )
            )
            if isinstance(scan, ParseFailure):
                return _FAILED
            return self._best(scan)
        except SandboxLost as error:
            log.warning("sandbox_lost", reason=str(error))
            return _FAILED

    def _best(self, scan: Path) -> Recognised | str:
        """Read across, and downwards too when that makes little sense."""
        models = self.tesseract.models(self.job.options.get("language"))
        across = self._recognise(scan, models, _HORIZONTAL)
        if isinstance(across, Recognised) and across.confidence >= _SURE:
            return across
        if "jpn" not in models or "jpn_vert" not in self.tesseract.languages:
            return across
        down = self._recognise(scan, ("jpn_vert",), _VERTICAL)
        if isinstance(down, Recognised) and (
            isinstance(across, str) or down.confidence > across.confidence
        ):
            return down
        return across

    def _recognise(
        self, scan: Path, models: tuple[str, ...], layout: tuple[str, str]
    ) -> Recognised | str:
        output = scan.with_name("words")
        arguments = ["stdin", "stdout", "-l", "+".join(models), *layout, "--dpi", "300", "tsv"]
        failure = self.recognition.patience.storage(
            lambda: self.recognition.sandbox.run_program(
                self.tesseract.program,
                arguments,
                source=scan,
                output=output,
                seconds=self.recognition.page_seconds,
                watch=self.quiet,
            )
        )
        if failure is not None:
            return _SLOW if failure.code == "parse_timeout" else _FAILED
        with output.open("rb") as file:
            return read_tsv(file.read(_MAX_TSV_BYTES).decode("utf-8", "replace")) or _EMPTY


def _without_text(lines: Path) -> Iterator[int]:
    mark = NO_TEXT.encode()
    with lines.open("rb") as file:
        while line := file.readline(MAX_LINE_BYTES):
            number = _number_without_text(line) if mark in line else None
            if number is not None:
                yield number


def _number_without_text(line: bytes) -> int | None:
    try:
        page: Any = json.loads(line)["page"]
        empty = not page["text"].strip()
        warned = any(warning.startswith(NO_TEXT) for warning in page["warnings"])
        return page["number"] if empty and warned and type(page["number"]) is int else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
