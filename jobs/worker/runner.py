"""Do the work of one message, from the first report to the last.

Returning means: the web holds a verdict, the message may be deleted. LeaveMessage means: nothing
is decided, SQS delivers the message again. A bad file is a report; broken infrastructure waits.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import structlog

from jobs.errors import (
    MessageInvalid,
    ObjectCorrupt,
    ObjectMissing,
    ReportInvalid,
    SealInvalid,
)
from jobs.messages import JobMessage, Report, ReportAnswer, ResultRef
from jobs.results import pack_result, read_result
from jobs.sealing import unseal
from jobs.storage import SourceMetadata, Storage
from jobs.tracing import span, trace_id
from jobs.worker.errors import (
    DiskTrouble,
    Interrupted,
    LeaveMessage,
    ReportStopped,
    SandboxLost,
    Verdict,
)
from jobs.worker.metrics import note_failure
from jobs.worker.patience import Patience
from jobs.worker.reading import Reader
from jobs.worker.reporting import ProgressReporter, Reporter, Reports, webhook_id
from jobs.worker.sandbox import ParseJob
from jobs.worker.tempdirs import TempRoot

#: Downloads of a source whose bytes differ from the record before that is the verdict.
_DOWNLOADS = 3
#: The first line of a result is read into memory; it holds an outline, never text.
_DOCUMENT_BYTES = 8 * 1024 * 1024

_DETECTED_TYPE = re.compile(r"[\x21-\x7e]{1,255}")

log = structlog.get_logger(__name__)


class Runner:
    """Everything a job needs; shared by all threads."""

    def __init__(
        self,
        storage: Storage,
        reporter: Reporter,
        reader: Reader,
        temp_root: TempRoot,
        patience: Patience,
        stop: threading.Event,
        *,
        parser_version: str,
        progress_seconds: float,
        private_keys: Sequence[bytes],
        touch: Callable[[], None],
    ) -> None:
        self._storage = storage
        self._reporter = reporter
        self._reader = reader
        self._temp_root = temp_root
        self._patience = patience
        self._stop = stop
        self._parser_version = parser_version
        self._progress_seconds = progress_seconds
        self._private_keys = private_keys
        self._touch = touch

    def work(self, value: Mapping[str, Any], receive_count: int) -> None:
        """Decode a message and run it with its identifiers on every log line."""
        structlog.contextvars.clear_contextvars()
        if self._stop.is_set():
            raise Interrupted("the worker stops")
        claimed = value.get("import_id") if isinstance(value, Mapping) else None
        structlog.contextvars.bind_contextvars(import_id=claimed, receive_count=receive_count)
        try:
            message = JobMessage.from_json(value)
        except MessageInvalid as error:
            note_failure(error.code)
            log.error("message_invalid", reason=str(error))
            raise LeaveMessage("the message is of another schema") from error
        structlog.contextvars.bind_contextvars(trace_id=trace_id(message.traceparent))
        try:
            with span("work", message.traceparent, kind=message.type, receive_count=receive_count):
                self.run(message, receive_count)
        except LeaveMessage:
            raise
        except Exception as error:
            note_failure("unexpected")
            log.exception("work_failed", error_class=type(error).__name__)
            raise LeaveMessage("unexpected trouble") from error

    def run(self, message: JobMessage, receive_count: int) -> None:
        """Take one message to a verdict that the web holds, or to a 409."""
        reports = Reports(message, receive_count)
        try:
            run = self._report(reports.processing()).run
            structlog.contextvars.bind_contextvars(run=run)
            log.info("work_started", type=message.type)
            self._report(self._verdict(message, reports, run))
        except ReportStopped:
            log.info("work_not_wanted")
            return
        except SandboxLost as error:
            note_failure(error.code)
            log.error("sandbox_lost", reason=str(error))
            raise LeaveMessage("the sandbox died") from error
        except DiskTrouble as error:
            note_failure(error.code)
            log.error("disk_trouble", reason=str(error))
            raise LeaveMessage("the disk is in trouble") from error
        log.info("work_reported")

    def _verdict(self, message: JobMessage, reports: Reports, run: int) -> Report:
        with self._temp_root.job() as directory:
            try:
                result = self._stored_result(message, directory)
                if result is None:
                    result = self._new_result(message, reports, run, directory)
            except Verdict as verdict:
                note_failure(verdict.code)
                log.info("file_failed", error_code=verdict.code)
                return reports.failed(run, verdict.code, str(verdict))
        return reports.completed(run, result)

    def _stored_result(self, message: JobMessage, directory: Path) -> ResultRef | None:
        """Return the result that an earlier delivery of this message stored, if it is good."""
        child, version = message.import_id, self._parser_version
        found = self._patience.storage(lambda: self._storage.find_result(child, version))
        if found is None:
            return None
        packed = directory / "found"
        try:
            self._patience.storage(
                lambda: self._storage.fetch_result(child, version, *found, packed)
            )
            result = self._describe(packed, *found)
        except (ObjectCorrupt, ObjectMissing, ReportInvalid) as error:
            log.warning("stored_result_unusable", error_code=error.code)
            return None
        log.info("result_reused", sha256=found[0])
        return result

    def _new_result(
        self, message: JobMessage, reports: Reports, run: int, directory: Path
    ) -> ResultRef:
        def send(done: int, total: int | None) -> ReportAnswer:
            report = reports.progress(run, done, total)
            return self._reporter.send(report, webhook_id(message.import_id))

        with ProgressReporter(send, self._progress_seconds) as progress:
            source = directory / "source"
            with span("fetch"):
                metadata = self._fetch(message, source)
            job = ParseJob(
                type=message.type,
                source=source,
                directory=directory,
                file_name=metadata.file_name,
                options=self._options(message),
            )
            with span("parse"):
                lines = self._reader.read(job, message.import_id, progress)
            source.unlink()
            packed = directory / "packed"
            self._patience.storage(lambda: _pack(lines, packed))
            with span("put"):
                stored = self._patience.storage(
                    lambda: self._storage.put_result(
                        message.import_id, self._parser_version, packed
                    )
                )
        try:
            return self._describe(packed, *stored)
        except ReportInvalid as error:
            raise Verdict("parse_crashed", "the parser made no valid result") from error

    def _options(self, message: JobMessage) -> Mapping[str, Any]:
        """Return what the parser is told, with the password opened; it goes nowhere else."""
        sealed = message.options.get("password")
        if sealed is None:
            return message.options
        try:
            password = unseal(self._private_keys, str(sealed), message.import_id)
        except SealInvalid as error:
            log.error("password_unreadable", reason=str(error))
            raise Verdict(error.code, "the password cannot be opened by this worker") from error
        return {**message.options, "password": password}

    def _fetch(self, message: JobMessage, destination: Path) -> SourceMetadata:
        def download() -> SourceMetadata:
            self._touch()
            try:
                return self._storage.fetch_source(
                    message.object_key,
                    message.object_version,
                    destination,
                    size_bytes=message.size_bytes,
                    sha256=message.sha256,
                )
            except OSError as error:
                raise DiskTrouble(str(error.strerror)) from error

        for attempt in range(1, _DOWNLOADS + 1):
            try:
                return self._patience.storage(download)
            except ObjectMissing as error:
                raise Verdict("source_missing", "the stored file does not exist") from error
            except ObjectCorrupt as error:
                log.warning("source_corrupt", attempt=attempt, reason=str(error))
        raise Verdict("source_corrupt", "the stored file is not the one that was uploaded")

    def _describe(self, packed: Path, sha256: str, size_bytes: int) -> ResultRef:
        """Read the first line of a result. Raises ReportInvalid."""
        with closing(read_result(packed, _DOCUMENT_BYTES)) as lines:
            _, document = next(lines)
        if not isinstance(document, dict):
            raise ReportInvalid("document line is not an object")
        pages, detected = document.get("page_count"), document.get("detected_type")
        if not isinstance(detected, str) or not _DETECTED_TYPE.fullmatch(detected):
            raise ReportInvalid("document line lacks its type")
        if pages is not None and not (type(pages) is int and 0 <= pages < 2**31):
            raise ReportInvalid("document line has an impossible page count")
        return ResultRef(
            parser_version=self._parser_version,
            sha256=sha256,
            size_bytes=size_bytes,
            detected_type=detected,
            page_count=pages,
        )

    def _report(self, report: Report) -> ReportAnswer:
        message_id = webhook_id(report.import_id)
        return self._patience.web(lambda: self._reporter.send(report, message_id))


def _pack(lines: Path, packed: Path) -> None:
    try:
        pack_result(lines, packed)
    except OSError as error:
        raise DiskTrouble(str(error.strerror)) from error
