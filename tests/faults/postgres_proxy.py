"""The proxy for PostgreSQL: bytes pass through, the text of simple queries is seen."""

import socket
import socketserver
import struct
import threading
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from tests.faults.proxy import Dropped, Exchange, Proxy, Rule, Server, begin, finish, reset

#: The numbers of SSLRequest, GSSENCRequest and CancelRequest.
#: https://www.postgresql.org/docs/current/protocol-message-formats.html
_ENCRYPTION_REQUESTS, _CANCEL_REQUEST = {80877103, 80877104}, 80877102


class PostgresProxy(Proxy):
    """Passes PostgreSQL's bytes on and reads the text of simple queries."""

    def url(self, dsn: str) -> str:
        """Return the DSN that leads through here."""
        parts = urlsplit(dsn)
        host = parts.netloc.rpartition("@")[0]
        return parts._replace(netloc=f"{host}@127.0.0.1:{self.port}").geturl()

    def _handler(self) -> type[Any]:
        return _PostgresHandler


class _PostgresHandler(socketserver.StreamRequestHandler):
    """Two pumps: this thread reads the client, a second one the server."""

    server: Server

    def handle(self) -> None:
        self._armed: tuple[Rule, Exchange] | None = None
        with closing(socket.create_connection(self.server.proxy.target())) as upstream:
            back = threading.Thread(target=self._pump_back, args=(upstream,), daemon=True)
            try:
                if self._start(upstream):
                    back.start()
                    self._pump_queries(upstream)
            except (Dropped, OSError, struct.error):
                reset(self.connection)
            finally:
                reset(upstream)
                if back.is_alive():
                    back.join()

    def _start(self, upstream: socket.socket) -> bool:
        while True:
            head = self.rfile.read(4)
            packet = head + self.rfile.read(struct.unpack("!I", head)[0] - 4)
            upstream.sendall(packet)
            (number,) = struct.unpack("!I", packet[4:8])
            if number not in _ENCRYPTION_REQUESTS:
                return number != _CANCEL_REQUEST
            self.connection.sendall(upstream.recv(1))

    def _pump_queries(self, upstream: socket.socket) -> None:
        transaction = ""
        while packet := _packet(self.rfile):
            if packet[:1] == b"Q":
                text = " ".join(packet[5:-1].decode("utf-8", "replace").split())
                exchange = Exchange(f"sql {text}", earlier=transaction)
                transaction = (
                    ""
                    if text in ("BEGIN", "COMMIT", "ROLLBACK")
                    else (f"{transaction}\n{text[:300]}")
                )
                rule = self.server.proxy.rule_for(exchange)
                begin(rule, exchange)
                self._armed = (rule, exchange) if rule else None
            upstream.sendall(packet)

    def _pump_back(self, upstream: socket.socket) -> None:
        held = b""
        try:
            with upstream.makefile("rb") as stream:
                while packet := _packet(stream):
                    armed = self._armed
                    if armed is None:
                        self.connection.sendall(packet)
                        continue
                    held += packet
                    if packet[:1] == b"Z":
                        self._armed = None
                        finish(*armed)
                        self.connection.sendall(held[: armed[0].cut_after])
                        held = b""
                        if armed[0].cut_after is not None:
                            raise Dropped
        except (Dropped, OSError, struct.error, ValueError):
            pass
        reset(self.connection)


def _packet(stream: Any) -> bytes:
    """Read one framed message: a type byte, its length, its content. Empty at the end."""
    head = bytes(stream.read(5))
    if len(head) < 5:
        return b""
    size = int(struct.unpack("!I", head[1:])[0]) - 4
    content = bytes(stream.read(size))
    return head + content if len(content) == size else b""
