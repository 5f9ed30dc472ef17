"""A real HTTP server that takes outgoing events, well or badly."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from jobs.settings import decode_secrets
from jobs.signing import verify


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def event_id(self) -> str:
        return self.headers["webhook-id"]

    def verified_by(self, secret: str) -> str:
        """Check the signature as a receiver would; return the webhook-id."""
        return verify(decode_secrets(secret), self.headers, self.body)


@dataclass
class Receiver:
    """What the server has received, and how it answers."""

    url: str = ""
    received: list[Received] = field(default_factory=list)
    status: int = 200
    answer: bytes = b"thanks"
    headers: dict[str, str] = field(default_factory=dict)
    #: called with each request before it is answered
    before: Callable[[Received], None] = lambda request: None

    @property
    def ids(self) -> list[str]:
        return [request.event_id for request in self.received]


@contextmanager
def receiver(context: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> Iterator[Receiver]:
    """Run a receiver on loopback, over TLS when a context is given."""
    made = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Received(self.path, headers, body)
            made.received.append(request)
            made.before(request)
            self.send_response(made.status)
            for name, value in made.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(made.answer)))
            self.end_headers()
            self.wfile.write(made.answer)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass  # a sender that hangs up early is what some tests are about

    server = Server((host, 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "http" if context is None else "https"
    made.url = f"{scheme}://{host}:{server.server_port}/hook?a=b"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


@contextmanager
def raw_server(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """Run a server that does to each connection what `talk` does; yield its URL."""
    listening = socket.create_server(("127.0.0.1", 0))
    links: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def one(link: socket.socket) -> None:
        with suppress(OSError):  # the sender has hung up
            talk(link)

    def accept() -> None:
        while True:
            try:
                link, _ = listening.accept()
            except OSError:
                return
            links.append(link)
            threads.append(threading.Thread(target=one, args=(link,)))
            threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    accepting.join()
    for link in links:
        with suppress(OSError):
            link.shutdown(socket.SHUT_RDWR)
        link.close()
    for thread in threads:
        thread.join()


def hold(link: socket.socket) -> None:
    """Keep a connection, and say nothing, until the other side hangs up."""
    while link.recv(65536):
        pass
