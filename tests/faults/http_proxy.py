"""The proxy for HTTP: S3 and SQS are told apart by the scope of the signature, the rest is web."""

import http.client
import re
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.faults.proxy import Dropped, Exchange, Proxy, Rule, Server, begin, finish, reset

#: Bodies up to this size are held whole, so that rules can look into them; others stream through.
WHOLE_BYTES = 256 * 1024
_CHUNK_BYTES = 64 * 1024
_UPSTREAM_SECONDS = 60


class HttpProxy(Proxy):
    """Passes HTTP on."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _handler(self) -> type[Any]:
        return _HttpHandler


class _HttpHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def forward(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        chunked = self.headers.get("Transfer-Encoding", "").lower() == "chunked"
        whole = not chunked and length <= WHOLE_BYTES
        exchange = Exchange(
            self._name(),
            self.rfile.read(length) if whole else b"",
            invocation=self.headers.get("amz-sdk-invocation-id", ""),
        )
        rule = self.server.proxy.rule_for(exchange)
        try:
            begin(rule, exchange)
            if rule is not None and rule.status is not None:
                self._read_away(length, chunked, whole)
                rule.hit.set()
                self._reply_whole(rule.status, [], rule.content)
                return
            body = exchange.body if whole else self._body(length, chunked)
            self._pass_on(exchange, rule, body, chunked)
        except (Dropped, OSError, http.client.HTTPException):
            reset(self.connection)
            self.close_connection = True

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = do_PATCH = do_OPTIONS = forward  # noqa: N815

    def _name(self) -> str:
        scope = re.search(r"Credential=[^/]+/\d+/[^/]+/(\w+)/", self.headers["Authorization"] or "")
        action = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
        return f"{scope[1] if scope else 'web'} {action or f'{self.command} {self.path}'}"

    def _body(self, length: int, chunked: bool) -> Iterator[bytes]:
        if not chunked:
            while length > 0:
                piece = self.rfile.read(min(_CHUNK_BYTES, length))
                if not piece:
                    raise ConnectionResetError("the client went away")
                length -= len(piece)
                yield piece
            return
        while size := int(self.rfile.readline().partition(b";")[0] or b"0", 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass

    def _read_away(self, length: int, chunked: bool, whole: bool) -> None:
        for _ in () if whole else self._body(length, chunked):
            pass

    def _pass_on(self, exchange: Exchange, rule: Rule | None, body: Any, chunked: bool) -> None:
        skipped = {"expect", "connection", *(["transfer-encoding"] if chunked else [])}
        headers = [(n, v) for n, v in self.headers.items() if n.lower() not in skipped]
        self.server.proxy.note(exchange)
        upstream = http.client.HTTPConnection(
            *self.server.proxy.target(), timeout=_UPSTREAM_SECONDS
        )
        with closing(upstream):
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers:
                upstream.putheader(name, value)
            if chunked:
                upstream.putheader("Transfer-Encoding", "chunked")
            upstream.endheaders(body, encode_chunked=chunked)
            with upstream.getresponse() as answer:
                self._pass_back(exchange, rule, answer)

    def _pass_back(self, exchange: Exchange, rule: Rule | None, answer: Any) -> None:
        exchange.status = answer.status
        length = int(answer.getheader("Content-Length") or -1)
        if (rule and rule.wants_whole_reply) or 0 <= length <= WHOLE_BYTES:
            exchange.reply = answer.read()
            self.server.proxy.note(exchange)
            finish(rule, exchange)
            headers = answer.getheaders() if self.command == "HEAD" else _kept(answer)
            self._reply_whole(answer.status, headers, exchange.reply, rule)
            return
        self.server.proxy.note(exchange)
        finish(rule, exchange)
        self.send_response_only(answer.status)
        for name, value in _kept(answer):
            self.send_header(name, value)
        self.send_header("Connection", "close")  # so the length need not be known
        if length >= 0:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        self.close_connection = True
        left = None if rule is None else rule.cut_after
        while piece := answer.read(_CHUNK_BYTES if left is None else min(_CHUNK_BYTES, left)):
            self.wfile.write(piece)
            left = None if left is None else left - len(piece)
        if left is not None:
            raise Dropped

    def _reply_whole(
        self, status: int, headers: list[tuple[str, str]], body: bytes, rule: Rule | None = None
    ) -> None:
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if self.command != "HEAD" and status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        cut = None if rule is None else rule.cut_after
        self.wfile.write(body[:cut])
        if cut is not None:
            raise Dropped


def _kept(answer: Any) -> list[tuple[str, str]]:
    left_out = {"content-length", "transfer-encoding", "connection", "keep-alive"}
    return [(n, v) for n, v in answer.getheaders() if n.lower() not in left_out]
