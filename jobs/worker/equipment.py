"""What a machine has besides Python, looked for once when a worker starts; the log tells."""

from __future__ import annotations

import shutil
from pathlib import Path

import structlog

from jobs.settings import WorkerSettings
from jobs.worker.patience import Patience
from jobs.worker.recognition import Recognition, Tesseract
from jobs.worker.sandbox import Sandbox, Watch
from jobs.worker.tempdirs import TempRoot

OCR_PACKAGES = "apt-get install tesseract-ocr tesseract-ocr-jpn tesseract-ocr-jpn-vert"
FONT_PACKAGE = "apt-get install fonts-ipafont-mincho"
_LIST_SECONDS = 20

log = structlog.get_logger(__name__)


def note_japanese_font(path: str | None) -> None:
    """Say whether Japanese text in fonts that a PDF does not bring along will be read and seen."""
    if path is not None:
        log.info("japanese_font_found", path=path)
        return
    log.warning(
        "japanese_font_missing",
        effect="Japanese text in PDFs that do not embed their fonts may be lost",
        install=FONT_PACKAGE,
    )


def find_recognition(
    sandbox: Sandbox, temp_root: TempRoot, patience: Patience, settings: WorkerSettings
) -> Recognition:
    """Return the reader of scanned pages, which reads none where tesseract is not installed."""
    wanted = settings.ocr == "auto" and "page_import" in settings.queues()
    with temp_root.job() as directory:
        found = find_tesseract(sandbox, directory, wanted=wanted)
    return Recognition(
        sandbox=sandbox,
        patience=patience,
        tesseract=found,
        page_seconds=settings.ocr_page_seconds,
        file_seconds=settings.ocr_file_seconds,
    )


def find_tesseract(sandbox: Sandbox, directory: Path, *, wanted: bool) -> Tesseract | None:
    """Look for the program and ask it, inside the walls, what it has learnt; tell the log."""
    program = shutil.which("tesseract") if wanted else None
    if not wanted:
        log.info("text_recognition_off")
        return None
    if program is None:
        log.info("text_recognition_missing", install=OCR_PACKAGES)
        return None
    if not sandbox.can_run_programs():
        log.warning("text_recognition_refused", reason="this kernel has no Landlock")
        return None
    output = directory / "languages"
    failure = sandbox.run_program(
        Path(program),
        ["--list-langs"],
        source=Path("/dev/null"),
        output=output,
        seconds=_LIST_SECONDS,
        watch=Watch(on_progress=lambda *_: None, should_stop=lambda: False),
    )
    lines = output.read_text(errors="replace").split("\n")[1:] if failure is None else []
    languages = frozenset(line.strip() for line in lines if line.strip())
    if not languages - {"osd"}:
        log.warning("text_recognition_broken", reason=failure and failure.message)
        return None
    if not {"jpn", "jpn_vert"} <= languages:
        log.warning("text_recognition_lacks_japanese", install=OCR_PACKAGES)
    log.info("text_recognition_ready", program=program, languages=sorted(languages))
    return Tesseract(program=Path(program).resolve(), languages=languages)
