"""What the web application has to do with the gunicorn worker that it runs in.

Requests that gunicorn cannot read never become a view's; they are told as problem+json all the
same. And who waits for a change (`Prefer: wait`) is answered when the worker is told to stop.
"""

from __future__ import annotations

import secrets
from typing import Any

import structlog
from flask import Flask, json
from gunicorn.http import errors as unreadable
from gunicorn.util import write_nonblock

from web.catalogue import request_entry
from web.errors import PROBLEM_TYPE, problem_body
from web.services import EXTENSION

log = structlog.get_logger(__name__)

#: Where web.serving finds it among the application's extensions.
WIRE = "torikomi_wire"
LANGUAGE = "en"

#: The first class that fits names the code; what is none of them is our own fault.
_CODES: tuple[tuple[type[Exception], str], ...] = (
    (unreadable.LimitRequestLine, "uri_too_long"),
    (unreadable.LimitRequestHeaders, "headers_too_large"),
    (unreadable.ForbiddenProxyRequest, "forbidden"),
    (unreadable.ParseException, "bad_request"),
)
_REASONS = {
    400: "Bad Request",
    403: "Forbidden",
    414: "URI Too Long",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
}


class Wire:
    """Ties one application to its worker."""

    def __init__(self, app: Flask) -> None:
        self._app = app

    def begin(self, worker: Any) -> None:  # gunicorn ships no types
        """Take over the worker's own errors, and let waiting requests see that it stops."""
        worker.handle_error = self.refuse
        self._app.extensions[EXTENSION].waiters.stopping = lambda: not worker.alive

    def refuse(self, _request: Any, client: Any, _address: Any, error: Exception) -> None:
        """Answer a request that never became one; the connection is closed after it."""
        code = next((code for kind, code in _CODES if isinstance(error, kind)), "internal_error")
        if code == "internal_error":
            log.error("request_crashed", error_class=type(error).__name__, exc_info=error)
        else:
            log.info("request_unreadable", code=code, error_class=type(error).__name__)
        try:
            write_nonblock(client, answer(code))
        except OSError:
            log.debug("client_gone")


def answer(code: str) -> bytes:
    """Return a whole HTTP response; nobody could be asked for a language."""
    entry = request_entry(code)
    status, request_id = entry.status or 500, secrets.token_hex(16)
    body = json.dumps(problem_body(entry, status, LANGUAGE, request_id)).encode()
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}",
        f"Content-Type: {PROBLEM_TYPE}",
        f"Content-Language: {LANGUAGE}",
        f"Content-Length: {len(body)}",
        f"X-Request-Id: {request_id}",
        "X-Content-Type-Options: nosniff",
        "Cache-Control: no-store",
        "Connection: close",
    )
    return "\r\n".join((*head, "", "")).encode() + body
