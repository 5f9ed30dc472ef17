"""Exception → answer, in one table: RFC 9457 problem+json for programs, a page for people.

WebError            refused by this room; `code` is an entry of web.catalogue
ModelsError …       by code, see `_code_of`
JobsError …         by code
HTTPException …     the framework's own, by status
anything else       internal_error, logged once with its traceback
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog
from flask import Flask, Response, g, json, render_template, request
from werkzeug.exceptions import HTTPException

from jobs.errors import JobsError, ObjectCorrupt, ReportInvalid, StorageUnavailable
from models.errors import (
    CommitUnknown,
    Conflict,
    DatabaseUnavailable,
    KeyInProgress,
    ModelsError,
    NotFound,
    ReservationLost,
    SchemaMismatch,
)
from web.catalogue import REQUEST_CODES, Entry, request_entry
from web.languages import advice, language

log = structlog.get_logger(__name__)

PROBLEM_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = 5

#: Paths whose callers are programs.
_PROGRAM_PATHS = ("/api/", "/webhooks/", "/livez", "/readyz")

_STATUS_CODES = {
    400: "bad_request",
    401: "token_missing",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    408: "request_timeout",
    409: "conflict",
    410: "gone",
    411: "length_required",
    412: "precondition_failed",
    413: "request_too_large",
    414: "uri_too_long",
    415: "media_type_unsupported",
    416: "range_not_satisfiable",
    422: "field_invalid",
    429: "rate_limited",
    431: "headers_too_large",
    503: "unavailable",
}

#: The first class that fits names the code; None means the exception's own `code`.
EXCEPTION_CODES: tuple[tuple[type[Exception], str | None], ...] = (
    (CommitUnknown, "commit_unknown"),
    (DatabaseUnavailable, "database_unavailable"),
    (SchemaMismatch, "schema_outdated"),
    (NotFound, "not_found"),
    (Conflict, None),
    (KeyInProgress, "idempotency_key_in_progress"),
    (ReservationLost, "idempotency_key_in_progress"),
    (StorageUnavailable, "storage_unavailable"),
    (ObjectCorrupt, "storage_unavailable"),
    (ReportInvalid, "report_invalid"),
)


class WebError(Exception):
    """Refused at the HTTP edge. `code` is in the catalogue; `errors` name the places at fault."""

    def __init__(
        self,
        code: str,
        *,
        errors: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(code)
        self.code = request_entry(code).code
        self.errors = list(errors)
        self.headers = dict(headers or {})


@dataclass(frozen=True)
class Answer:
    """What is told about one failure, before it becomes JSON or HTML."""

    entry: Entry
    status: int
    errors: list[Mapping[str, str]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)


def answer_for(error: Exception) -> Answer:
    """Find what is told about `error`."""
    if isinstance(error, WebError):
        return _answer(error.code, errors=error.errors, headers=error.headers)
    if isinstance(error, HTTPException):
        return _framework_answer(error)
    for kind, code in EXCEPTION_CODES:
        if isinstance(error, kind):
            return _answer(_code_of(error) if code is None else code)
    return _answer("internal_error")


def _code_of(error: Exception) -> str:
    code = str(getattr(error, "code", ""))
    return code if code in REQUEST_CODES else "conflict"


def _answer(code: str, **rest: Any) -> Answer:
    entry = request_entry(code)
    return Answer(entry, entry.status or 500, **rest)


def _framework_answer(error: HTTPException) -> Answer:
    status = error.code or 500
    entry = request_entry(_STATUS_CODES.get(status, "internal_error"))
    if status not in _STATUS_CODES and status < 500:
        entry = request_entry("bad_request")
    headers = {name: value for name, value in error.get_headers() if name == "Allow"}
    return Answer(entry, status, headers=headers)


def wants_problem() -> bool:
    """Tell whether the caller is a program."""
    if request.path.startswith(_PROGRAM_PATHS):
        return True
    best = request.accept_mimetypes.best_match(["text/html", "application/json", PROBLEM_TYPE])
    return best in ("application/json", PROBLEM_TYPE)


def respond(error: Exception) -> Response:
    """Turn any exception into the response that the caller can read."""
    answer = answer_for(error)
    if answer.entry.code == "internal_error":
        log.error("request_crashed", error_class=type(error).__name__, exc_info=error)
    elif answer.status >= 500:
        log.warning("request_failed", code=answer.entry.code, error_class=type(error).__name__)
    else:
        log.info("request_refused", code=answer.entry.code)
    response = _problem(answer) if wants_problem() else _page(answer)
    response.status_code = answer.status
    response.headers.update(answer.headers)
    if answer.entry.retryable:
        response.headers.setdefault("Retry-After", str(RETRY_AFTER_SECONDS))
    if answer.status == 401 and wants_problem() and answer.entry.code.startswith("token_"):
        response.headers["WWW-Authenticate"] = _challenge(answer.entry.code)
    response.headers["Cache-Control"] = "no-store"
    return response


def _challenge(code: str) -> str:
    return "Bearer" if code == "token_missing" else 'Bearer error="invalid_token"'


def problem_body(
    entry: Entry,
    status: int,
    language: str,
    request_id: str,
    errors: Sequence[Mapping[str, str]] = (),
) -> dict[str, Any]:
    """Return the body of RFC 9457 for one code."""
    words = entry.text(language)
    return {
        "type": f"/docs/errors#{entry.code}",
        "title": words.title,
        "status": status,
        "detail": advice(words, language),
        "code": entry.code,
        "retryable": entry.retryable,
        "request_id": request_id,
        "errors": list(errors),
    }


def _problem(answer: Answer) -> Response:
    body = problem_body(
        answer.entry, answer.status, language(), g.get("request_id", ""), answer.errors
    )
    response = Response(json.dumps(body, ensure_ascii=False), content_type=PROBLEM_TYPE)
    response.content_language = language()
    response.vary.add("Accept-Language")
    return response


def _page(answer: Answer) -> Response:
    words = answer.entry.text(language())
    page = render_template(
        "error.html", answer=answer, words=words, request_id=g.get("request_id", "")
    )
    return Response(page, content_type="text/html; charset=utf-8")


def register(app: Flask) -> None:
    """Answer every exception of `app`, the framework's too, through the table above."""
    app.register_error_handler(Exception, respond)


def every_mapped_error() -> list[type[Exception]]:
    """List the classes of the other rooms that a request can meet, for the architecture test."""
    return [ModelsError, JobsError, *(kind for kind, _ in EXCEPTION_CODES)]
