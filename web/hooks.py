"""Worker reports: verify the signature on the raw bytes, verify the result, then apply.

Standard Webhooks 1.0. What the import's state is decides; a receipt is not kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import structlog
from flask import Blueprint, request
from structlog.contextvars import bind_contextvars
from werkzeug.wrappers import Response

from jobs.errors import ObjectMissing, ReportInvalid, SignatureInvalid
from jobs.messages import Report, ReportAnswer, ReportEvent, ResultRef
from jobs.result_files import ResultFile
from jobs.signing import verify
from jobs.tracing import span, trace_id, valid
from models import transitions
from models.ids import is_id
from models.states import ImportType
from models.transitions import Applied, Current, ReportedResult
from web import metrics
from web.answers import json_answer
from web.auth import signed
from web.body import request_body
from web.errors import WebError
from web.services import services

log = structlog.get_logger(__name__)
blueprint = Blueprint("hooks", __name__)

MAX_REPORT_BYTES = 256 * 1024


@blueprint.post("/webhooks/page_import", defaults={"type": ImportType.PAGE_IMPORT})
@blueprint.post("/webhooks/code2des", defaults={"type": ImportType.CODE2DES})
@signed
def receive(type: ImportType) -> Response:
    """Take one signed report; 200 says what it changed, 409 tells the worker to stop."""
    report = _verified_report(type)
    bind_contextvars(
        import_id=report.import_id,
        receive_count=report.receive_count,
        trace_id=trace_id(report.traceparent),
    )
    parent = valid(request.headers.get("traceparent")) or report.traceparent
    with span("apply", parent, kind=str(type), event=str(report.event)):
        return _take(type, report)


def _take(type: ImportType, report: Report) -> Response:
    if report.result is None:
        return _answer(report, _apply(type, report, None))
    known = transitions.current(type, report.import_id)
    if known.terminal:
        return _answer(report, _settled(known, report.result))
    try:
        with tempfile.TemporaryDirectory(prefix="torikomi-report-") as directory:
            result = _fetched_result(type, report, report.result, Path(directory) / "result")
            return _answer(report, _apply(type, report, result))
    except OSError as error:  # no room on the disk: the worker keeps its message and comes again
        log.error("result_not_saved", reason=error.strerror)
        raise WebError("unavailable") from error


def _verified_report(type: ImportType) -> Report:
    with request_body(limit_bytes=MAX_REPORT_BYTES) as body:
        raw = body.read_all()
    try:
        verify(services().settings.secrets(), _headers(), raw)
    except SignatureInvalid as error:
        metrics.SIGNATURE_FAILURES.labels(error.reason).inc()
        log.warning("report_signature_invalid", reason=str(error))
        raise WebError("signature_invalid") from error
    report = Report.from_bytes(raw)
    if report.type != type:
        raise WebError("report_mismatch", errors=[{"pointer": "/type"}])
    if not is_id(report.import_id):
        raise WebError("not_found")
    return report


def _headers() -> Mapping[str, list[str]]:
    return {name.lower(): request.headers.getlist(name) for name, _ in request.headers}


def _settled(known: Current, result: ResultRef) -> Applied:
    """Answer a completion of an import that has ended: the same one again is no conflict."""
    same = known.status == "completed" and known.result_sha256 == result.sha256
    return Applied(applied=False, status=known.status, run=known.run, conflict=not same)


def _apply(type: ImportType, report: Report, result: ReportedResult | None) -> Applied:
    return transitions.apply_report(
        type=type,
        child_id=report.import_id,
        event=str(report.event),
        run=report.run,
        done=report.done,
        total=report.total,
        result=result,
        error_code=_clean(report.error.code, 64) if report.error else None,
        error_message=_clean(report.error.message, 2000) if report.error else None,
    )


def _clean(text: str, limit: int) -> str:
    """Return text that PostgreSQL can store, of bounded length."""
    plain = str(text).replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
    return plain[:limit]


def _answer(report: Report, applied: Applied) -> Response:
    level = log.warning if applied.conflict else log.info
    if applied.applied or report.event is not ReportEvent.PROGRESS:
        level("report_received", report_event=str(report.event), **asdict(applied))
    error_code = report.error.code if report.error else None
    metrics.note_report(report.type, report.event, applied, error_code)
    body = asdict(ReportAnswer(applied=applied.applied, status=applied.status, run=applied.run))
    return json_answer(body, 409 if applied.conflict else 200)


def _fetched_result(type: ImportType, report: Report, ref: ResultRef, path: Path) -> ReportedResult:
    """Download the result object, check it through, and describe it for the transaction.

    Raises StorageUnavailable, ObjectCorrupt, WebError("report_mismatch").
    """
    try:
        services().storage.fetch_result(
            report.import_id, ref.parser_version, ref.sha256, ref.size_bytes, path
        )
    except ObjectMissing as error:
        raise WebError("report_mismatch", errors=[{"pointer": "/result"}]) from error
    file = ResultFile(path, services().settings.max_result_bytes)
    try:
        contents = file.check(type)
    except ReportInvalid as error:
        log.warning("result_invalid", reason=str(error))
        raise WebError("report_mismatch", errors=[{"pointer": "/result"}]) from error
    return ReportedResult(
        sha256=ref.sha256,
        detected_type=ref.detected_type,
        page_count=ref.page_count,
        document=contents.document,
        pages=file.each("page") if type == ImportType.PAGE_IMPORT else None,
        design=contents.design,
        markdown=contents.markdown,
        sources=file.each("source"),
    )
