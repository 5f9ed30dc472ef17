"""A listener of its own for metrics and liveness, away from the public port.

/metrics  Prometheus text, or OpenMetrics for those who ask
/livez    200 while the process does its work, 503 with the reason when it does not

A taken port is tried again: where several web processes share a machine one of them answers for
all, and another takes over when it ends. Nothing that happens here reaches the process.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

_RETRY_SECONDS = 2.0
_CLIENT_SECONDS = 5.0
#: Between two requests the thread looks this often whether it should stop.
_LOOK_SECONDS = 0.2

log = structlog.get_logger(__name__)


def always_alive() -> str | None:
    """Have nothing to complain of: a process that answers is alive."""
    return None


class Listener:
    """Serves a registry on `host:port`, from start() to stop(); port 0 means not at all.

    `trouble` tells why the process counts as dead, or None.
    """

    def __init__(
        self,
        host: str,
        port: int,
        registry: CollectorRegistry,
        trouble: Callable[[], str | None] = always_alive,
    ) -> None:
        self._address = (host, port)
        self._registry = registry
        self._trouble = trouble
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)

    def start(self) -> None:
        """Begin to listen, as soon as the port is free."""
        if self._address[1] != 0:
            self._thread.start()

    def stop(self) -> None:
        """End; what is being answered may still end by itself."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        told = False
        while not self._stopped.is_set():
            try:
                server = _Server(self._address, self._registry, self._trouble)
            except OSError as error:
                if not told:
                    log.info("metrics_port_taken", port=self._address[1], reason=error.strerror)
                told = True
                self._stopped.wait(_RETRY_SECONDS)
                continue
            with server:
                log.info("metrics_listening", port=self._address[1])
                while not self._stopped.is_set():
                    server.handle_request()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    timeout = _LOOK_SECONDS

    def __init__(
        self,
        address: tuple[str, int],
        registry: CollectorRegistry,
        trouble: Callable[[], str | None],
    ) -> None:
        self.registry = registry
        self.trouble = trouble
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Handler)

    def handle_error(self, *_: Any) -> None:
        """Note what went wrong with one client; the rest goes on."""
        log.warning("scrape_failed", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _CLIENT_SECONDS
    server_version = "torikomi"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer the two paths."""
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._metrics()
        elif path == "/livez":
            trouble = self.server.trouble()
            self._answer(503 if trouble else 200, "text/plain", f"{trouble or 'ok'}\n".encode())
        else:
            self._answer(404, "text/plain", b"/metrics and /livez are here\n")

    def _metrics(self) -> None:
        encode, content_type = choose_encoder(self.headers.get("Accept", ""))
        try:
            body = encode(self.server.registry)
        except Exception:  # the edge: a collector's fault is this scrape's, never the process's
            log.exception("metrics_not_told")
            self._answer(500, "text/plain", b"the metrics cannot be told; see the log\n")
        else:
            self._answer(200, content_type, body)

    def _answer(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Leave scrapes out of the log."""
