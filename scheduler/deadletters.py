"""drain(): what SQS moved to a dead-letter queue gets its verdict in PostgreSQL, then goes.

The copy in the DLQ is deleted only after the verdict's commit; batch_item.message stays the
durable copy. What does not decode or is unknown stays where it is, counted and alarmed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import structlog

from jobs.errors import (
    ObjectCorrupt,
    ObjectMissing,
    QueueUnavailable,
    ReportInvalid,
    StorageUnavailable,
)
from jobs.metrics import TERMINAL
from jobs.queue import DeadLetter, QueueClient
from jobs.result_files import ResultContents, ResultFile
from jobs.storage import Storage
from models import samples, transitions, verdicts
from models.errors import NotFound
from models.states import ImportType
from models.transitions import ReportedResult
from scheduler.metrics import SWEPT

#: The verdict on a letter that stays where it is.
LEFT = "left"

log = structlog.get_logger(__name__)


class DeadLetters:
    """Drains both dead-letter queues. Safe in many schedulers at once: verdicts are guarded."""

    def __init__(
        self, queue: QueueClient, storage: Storage, *, max_result_bytes: int = 512 << 20
    ) -> None:
        self._queue = queue
        self._storage = storage
        self._max_result_bytes = max_result_bytes

    def drain(self) -> int:
        """Settle one receive of each DLQ; returns how many copies were deleted.

        An outage of SQS or S3 ends the pass; the next one goes on.
        """
        settled = 0
        for import_type in ImportType:
            try:
                settled += sum(verdict != LEFT for verdict in self.settle_some(import_type))
            except (QueueUnavailable, StorageUnavailable) as error:
                log.warning("dead_letters_unreadable", queue=str(import_type), reason=str(error))
        return settled

    def settle_some(self, import_type: ImportType) -> list[str]:
        """Settle one receive of a DLQ; returns the verdict on each letter, none when none came.

        Raises QueueUnavailable, StorageUnavailable.
        """
        letters = self._queue.receive_dead(import_type)
        settled = [self._settle(import_type, letter) for letter in letters]
        left = [
            letter.sent_at
            for letter, verdict in zip(letters, settled, strict=True)
            if verdict == LEFT and letter.sent_at is not None
        ]
        SWEPT.labels("dead_letter_left").inc(settled.count(LEFT))
        SWEPT.labels("dead_letter_settled").inc(len(letters) - settled.count(LEFT))
        if left:
            samples.note_dead_letters(import_type, min(left))
        return settled

    def _settle(self, import_type: ImportType, letter: DeadLetter) -> str:
        if letter.message is None or letter.message.type != import_type:
            log.error("dead_letter_unknown", import_id=letter.import_id, queue=str(import_type))
            return LEFT
        child_id = letter.message.import_id
        try:
            found = self._apply_stored_result(import_type, child_id)
            verdict = found or verdicts.settle_dead_letter(
                import_type, child_id, sent_at=letter.sent_at
            )
        except NotFound:
            log.error("dead_letter_unknown", import_id=letter.import_id, queue=str(import_type))
            return LEFT
        self._queue.delete_dead(import_type, letter.receipt)
        if verdict in ("failed", "completed"):
            code = "dead_lettered" if verdict == "failed" else ""
            TERMINAL.labels(verdict, code).inc()
        log.warning("dead_letter_settled", import_id=letter.import_id, verdict=verdict)
        return verdict

    def _apply_stored_result(self, import_type: ImportType, child_id: str) -> str | None:
        """Complete a live import whose result was stored and whose report was lost.

        Raises NotFound, StorageUnavailable.
        """
        if transitions.current(import_type, child_id).terminal:
            return None
        for version, sha256, size_bytes in self._storage.list_results(child_id):
            with tempfile.TemporaryDirectory(prefix="torikomi-dead-letter-") as directory:
                path = Path(directory) / "result"
                try:
                    self._storage.fetch_result(child_id, version, sha256, size_bytes, path)
                    file = ResultFile(path, self._max_result_bytes)
                    contents = file.check(import_type)
                except (ObjectCorrupt, ObjectMissing, ReportInvalid) as error:
                    log.warning("stored_result_unusable", import_id=child_id, reason=error.code)
                    continue
                applied = transitions.apply_report(
                    type=import_type,
                    child_id=child_id,
                    event="completed",
                    run=None,
                    result=_reported(import_type, sha256, contents, file),
                )
                return "completed" if applied.applied else None
        return None


def _reported(
    import_type: ImportType, sha256: str, contents: ResultContents, file: ResultFile
) -> ReportedResult:
    return ReportedResult(
        sha256=sha256,
        detected_type=str(contents.document.get("detected_type", "")),
        page_count=contents.document.get("page_count"),
        document=contents.document,
        pages=file.each("page") if import_type is ImportType.PAGE_IMPORT else None,
        design=contents.design,
        markdown=contents.markdown,
        sources=file.each("source"),
    )
