"""Send signed reports to the web and tell its answers apart."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable

import httpx
import structlog

from jobs.errors import JobsError, WebUnavailable
from jobs.messages import JobMessage, Report, ReportAnswer, ReportError, ReportEvent, ResultRef
from jobs.settings import WorkerSettings
from jobs.signing import sign
from jobs.tracing import span
from jobs.worker.errors import (
    ImportUnknown,
    ReportRefused,
    ReportStopped,
    ReportUnauthorized,
)

_CONNECT_SECONDS = 3
_READ_SECONDS = 15
_LEAVE_SECONDS = 2
_REFUSED = frozenset({400, 405, 411, 413, 415, 422})

log = structlog.get_logger(__name__)


class Reporter:
    """One HTTP client for all threads."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._secrets = settings.secrets()
        self._client = httpx.Client(
            base_url=settings.web_url,
            timeout=httpx.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS),
            follow_redirects=False,
            trust_env=False,
            headers={"content-type": "application/json", "user-agent": "torikomi-worker"},
        )

    def send(self, report: Report, message_id: str) -> ReportAnswer:
        """Send one report once. `message_id` is the webhook id, the same for every try.

        Raises ReportStopped (409), ImportUnknown (404), ReportRefused, ReportUnauthorized (401)
        and WebUnavailable for everything else that is not a valid 200.
        """
        body = report.to_bytes()
        headers = sign(self._secrets, message_id, int(time.time()), body)
        path = f"/webhooks/{report.type}"
        with span("report", report.traceparent, event=str(report.event)) as here:
            if here is not None:
                headers["traceparent"] = here
            try:
                response = self._client.post(path, content=body, headers=headers)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise WebUnavailable(type(error).__name__) from error
            return _answer(response)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def webhook_id(import_id: str) -> str:
    """Return a new webhook id for one report."""
    return f"{import_id}_{uuid.uuid4().hex}"


def _answer(response: httpx.Response) -> ReportAnswer:
    status = response.status_code
    if status == httpx.codes.CONFLICT:
        raise ReportStopped("the web wants no more reports of this run")
    if status == httpx.codes.NOT_FOUND:
        raise ImportUnknown("the web does not know this import")
    if status == httpx.codes.UNAUTHORIZED:
        raise ReportUnauthorized("the web refused our signature")
    if status in _REFUSED:
        raise ReportRefused(f"the web answered {status}")
    if not response.is_success:
        raise WebUnavailable(f"the web answered {status}")
    try:
        value = response.json()
        return ReportAnswer(
            applied=bool(value["applied"]), status=str(value["status"]), run=int(value["run"])
        )
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise WebUnavailable("the web's answer is not a report answer") from error


class Reports:
    """The reports of one delivery of one message."""

    def __init__(self, message: JobMessage, receive_count: int) -> None:
        self._message = message
        self._receive_count = receive_count

    def processing(self) -> Report:
        """Work begins; the answer carries the run."""
        return self._report(ReportEvent.PROCESSING, None)

    def progress(self, run: int, done: int, total: int | None) -> Report:
        """Work goes on: `done` of `total` pages or parts."""
        return self._report(ReportEvent.PROGRESS, run, done=done, total=total)

    def completed(self, run: int, result: ResultRef) -> Report:
        """The result is stored."""
        return self._report(ReportEvent.COMPLETED, run, result=result)

    def failed(self, run: int, code: str, text: str) -> Report:
        """The file has no result."""
        return self._report(ReportEvent.FAILED, run, error=ReportError(code=code, message=text))

    def _report(
        self,
        event: ReportEvent,
        run: int | None,
        *,
        done: int | None = None,
        total: int | None = None,
        result: ResultRef | None = None,
        error: ReportError | None = None,
    ) -> Report:
        return Report(
            event=event,
            import_id=self._message.import_id,
            type=self._message.type,
            run=run,
            receive_count=self._receive_count,
            done=done,
            total=total,
            result=result,
            error=error,
            traceparent=self._message.traceparent,
        )


class ProgressReporter:
    """Report progress every few seconds from its own thread while a block runs.

    `cancelled` is set when the web answers 409. Trouble with the web is left to the reports that
    matter; one still under way when the block ends is harmless, so leaving waits only shortly.
    """

    def __init__(
        self, send: Callable[[int, int | None], ReportAnswer], period_seconds: float
    ) -> None:
        self.cancelled = threading.Event()
        self._send = send
        self._period_seconds = period_seconds
        self._latest: tuple[int, int | None] = (0, None)
        self._ended = threading.Event()
        self._context = structlog.contextvars.get_contextvars()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)

    def __enter__(self) -> ProgressReporter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(_LEAVE_SECONDS)

    def note(self, done: int, total: int | None) -> None:
        """Remember how far the work is; nonsense of a parser is passed over."""
        limit = 2**31 - 1
        if 0 <= done <= limit and (total is None or 0 <= total <= limit):
            self._latest = (done, total)

    def _run(self) -> None:
        structlog.contextvars.bind_contextvars(**self._context)
        while not self._ended.wait(self._period_seconds):
            try:
                self._send(*self._latest)
            except ReportStopped:
                self.cancelled.set()
                return
            except JobsError as error:
                log.warning("progress_not_reported", error_code=error.code, reason=str(error))
