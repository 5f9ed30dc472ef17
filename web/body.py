"""The request body as a bounded, paced stream. Every view that takes a body reads it here.

Nothing is spooled: the bytes go from the socket to whoever reads. A client that is silent or
slower than the least rate is answered 408, one that ends early `body_truncated`, and one that
sends more than the limit is refused before the surplus is read.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from flask import request
from gunicorn.http.errors import ChunkMissingTerminator, ParseException

from web.errors import WebError
from web.services import services

#: How much is asked of the server at a time; also the grain of the rate check.
READ_BYTES = 64 * 1024


class _Input(Protocol):
    """What PEP 3333 promises of wsgi.input."""

    def read(self, size: int, /) -> bytes: ...


class RequestBody:
    """Reads one body once. `code_too_large` names the refusal above `limit_bytes`."""

    def __init__(
        self,
        source: _Input,
        *,
        length: int | None,
        limit_bytes: int | None,
        code_too_large: str,
        pace: Pace,
    ) -> None:
        self._source, self._length, self._limit = source, length, limit_bytes
        self._code_too_large, self._pace = code_too_large, pace
        self.received_bytes = 0
        if length is not None:
            self._check_limit(length)

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes, b"" at the end of a whole body."""
        wanted = min(size, READ_BYTES)
        if self._length is not None:
            wanted = min(wanted, self._length - self.received_bytes)
        if wanted == 0:
            return b""
        with self._pace.reading(wanted):
            try:
                chunk = self._source.read(wanted)
            except TimeoutError as error:
                raise WebError("request_timeout") from error
            except (OSError, ChunkMissingTerminator) as error:
                raise self._pace.verdict() from error
            except ParseException as error:
                raise WebError("bad_request") from error
        self.received_bytes += len(chunk)
        self._pace.received(len(chunk))
        self._check_limit(self.received_bytes)
        # A short read of a body of known length means that the client has gone.
        if self._length is not None and len(chunk) < wanted:
            raise self._pace.verdict()
        return chunk

    def read_all(self) -> bytes:
        """Return the whole of a small body; the limit bounds the memory."""
        return b"".join(iter(lambda: self.read(READ_BYTES), b""))

    def _check_limit(self, size_bytes: int) -> None:
        if self._limit is not None and size_bytes > self._limit:
            raise WebError(self._code_too_large)


class Pace:
    """Ends a read that is silent or too slow, whatever buffering the server does.

    Silence is the socket's own time-out. The rate needs a second thread, since one read may be
    made of many drips: it shuts the receiving side of the socket, which ends the read.
    """

    def __init__(
        self, connection: socket.socket | None, *, idle_seconds: float, bytes_per_second: int
    ) -> None:
        self._socket = connection
        self._idle_seconds, self._rate = idle_seconds, bytes_per_second
        self._reading_seconds, self._bytes = 0.0, 0
        self._started: float | None = None
        self._pending = 0
        self._stop = threading.Event()
        self._too_slow = False

    def received(self, size_bytes: int) -> None:
        """Count bytes that have arrived."""
        self._bytes += size_bytes

    def verdict(self) -> WebError:
        """Return why a read ended early."""
        return WebError("request_timeout" if self._too_slow else "body_truncated")

    @contextmanager
    def reading(self, size_bytes: int) -> Iterator[None]:
        """Mark that the thread waits for up to `size_bytes`; only this time counts."""
        self._pending, self._started = size_bytes, time.monotonic()
        try:
            yield
        finally:
            self._reading_seconds += time.monotonic() - self._started
            self._started = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch the socket during the block."""
        if self._socket is None:
            yield
            return
        self._socket.settimeout(self._idle_seconds)
        watcher = threading.Thread(target=self._watch, name="body-pace", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            self._stop.set()
            watcher.join()
            with suppress(OSError):
                self._socket.settimeout(None)

    def _watch(self) -> None:
        while not self._stop.wait(min(1.0, self._idle_seconds / 4)):
            started = self._started
            if started is None:
                continue
            spent = self._reading_seconds + time.monotonic() - started
            if spent > self._idle_seconds + (self._bytes + self._pending) / self._rate:
                self._too_slow = True
                with suppress(OSError):
                    if self._socket is not None:
                        self._socket.shutdown(socket.SHUT_RD)
                return


@contextmanager
def request_body(
    *, limit_bytes: int | None, code_too_large: str = "request_too_large"
) -> Iterator[RequestBody]:
    """Open the body of the current request; refuses a declared length above the limit at once.

    Content-Length and chunked bodies alike. `limit_bytes` None leaves the limit to the reader.
    """
    settings = services().settings
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise WebError("content_type_unsupported")
    environ: dict[str, Any] = request.environ
    chunked = "chunked" in request.headers.get("Transfer-Encoding", "").lower()
    pace = Pace(
        environ.get("gunicorn.socket"),
        idle_seconds=settings.body_idle_seconds,
        bytes_per_second=settings.body_min_bytes_per_second,
    )
    body = RequestBody(
        environ["wsgi.input"],
        length=None if chunked else (request.content_length or 0),
        limit_bytes=limit_bytes,
        code_too_large=code_too_large,
        pace=pace,
    )
    with pace.watched():
        yield body
