"""Real HTTP servers that stand in for what is not under test: the web, and a faulty way to AWS.

The web double keeps the states of imports as the web does, checks signatures, records every
report and answers with a fault when told to.
"""

import http.client
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from jobs.errors import SignatureInvalid
from jobs.messages import Report, ReportEvent
from jobs.signing import verify


@dataclass
class WebDouble:
    """What the web would know; `fault` returns a status to answer instead, or None."""

    secrets: list[bytes]
    url: str = ""
    reports: list[Report] = field(default_factory=list)
    webhook_ids: list[str] = field(default_factory=list)
    ended: dict[str, Report] = field(default_factory=dict)
    fault: Callable[[Report], int | None] = lambda report: None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, headers: dict[str, list[str]], body: bytes) -> tuple[int, dict[str, Any]]:
        try:
            webhook_id = verify(self.secrets, headers, body)
        except SignatureInvalid:
            return 401, {}
        report = Report.from_bytes(body)
        with self.lock:
            self.reports.append(report)
            self.webhook_ids.append(webhook_id)
            status = self.fault(report)
            if status is not None:
                return status, {}
            return self._apply(report)

    def _apply(self, report: Report) -> tuple[int, dict[str, Any]]:
        earlier = self.ended.get(report.import_id)
        if earlier is not None:
            same = earlier.result is not None and earlier.result == report.result
            answer = {"applied": False, "status": earlier.event, "run": 1}
            return (200 if same else 409), answer
        if report.event in (ReportEvent.COMPLETED, ReportEvent.FAILED):
            self.ended[report.import_id] = report
        return 200, {"applied": True, "status": "processing", "run": 1}

    def events(self, import_id: str) -> list[str]:
        """The events reported for one import, in order, progress left out."""
        with self.lock:
            return [
                str(report.event)
                for report in self.reports
                if report.import_id == import_id and report.event is not ReportEvent.PROGRESS
            ]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            raise NotImplementedError("no client under test sends chunks")
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def reply(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed is no trouble; anything else is."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving(handler: type[_Handler], port: int = 0) -> Iterator[str]:
    """Run an HTTP server in threads; yield its URL."""
    server = _Server(("127.0.0.1", port), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def web_double(secrets: list[bytes], port: int = 0) -> Iterator[WebDouble]:
    """Serve a WebDouble."""
    double = WebDouble(secrets)

    class Handler(_Handler):
        def do_POST(self) -> None:
            headers = {name: self.headers.get_all(name) or [] for name in self.headers}
            status, answer = double.answer(headers, self.read_body())
            self.reply(status, [("Content-Type", "application/json")], json.dumps(answer).encode())

    with serving(Handler, port) as url:
        double.url = url
        yield double


@dataclass
class FaultyWay:
    """A proxy before AWS; `fault(action)` returns a status to answer instead, or None.

    `action` is `DeleteMessage` and the like for SQS, `GET /bucket/key` for S3; `rewrite` may
    change the body of an answer.
    """

    url: str = ""
    fault: Callable[[str], int | None] = lambda action: None
    rewrite: Callable[[str, bytes], bytes] = lambda action, body: body
    refused: int = 0
    passed: list[str] = field(default_factory=list)


@contextmanager
def faulty_way(target: str) -> Iterator[FaultyWay]:
    """Serve a FaultyWay to the AWS endpoint `target`."""
    way = FaultyWay()
    address = urlsplit(target)

    class Handler(_Handler):
        def forward(self) -> None:
            body = self.read_body()
            action = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
            action = action or f"{self.command} {self.path}"
            status = way.fault(action)
            if status is not None:
                way.refused += 1
                self.reply(status, [], b"")
                return
            way.passed.append(action)
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
            with closing(connection):
                connection.request(self.command, self.path, body, dict(self.headers.items()))
                with connection.getresponse() as answer:
                    headers, content = answer.getheaders(), answer.read()
            self.reply(answer.status, headers, way.rewrite(action, content))

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = forward  # noqa: N815 - its names

    with serving(Handler) as url:
        way.url = url
        yield way
