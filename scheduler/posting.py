"""post(): one signed request to somebody else's server, which may be slow, hostile, or our own.

The host is resolved once, every address is judged, and the connection goes to a judged address;
TLS is verified against the host's name. No redirect is followed, no proxy asked. Bytes and time
are bounded as a whole, however the answer trickles in.
"""

from __future__ import annotations

import io
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any

import httpx

from jobs.addresses import (
    AddressRefused,
    EndpointSettings,
    Resolve,
    Target,
    addresses_of,
    check_url,
    resolve_host,
)
from models.deliveries import Attempt

CONNECT_SECONDS = 5.0
#: The verdict is the status; its body is only looked at for the log.
BODY_SECONDS = 2.0
#: Head and beginning of an answer that are read at all.
ANSWER_BYTES = 64 << 10
EXCERPT_CHARS = 500
#: A server that asks for more patience than this is asked again anyway.
LONGEST_RETRY_AFTER_SECONDS = 3600


class Poster:
    """Sends requests; safe in many threads at once."""

    def __init__(
        self,
        settings: EndpointSettings,
        *,
        timeout_seconds: float,
        resolve: Resolve = resolve_host,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._ports = settings.allowed_ports()
        self._local = settings.endpoint_allow_local
        self._timeout_seconds = timeout_seconds
        self._resolve = resolve
        self._context = context or httpx.create_ssl_context()

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Attempt:
        """Send `body` once and tell how that went. Raises nothing that a server can cause."""
        begun = time.monotonic()
        status, error, answer, retry_after = None, None, None, None
        try:
            response = self._exchange(url, body, headers, begun + self._timeout_seconds)
        except AddressRefused as refusal:
            error = str(refusal)
        except (OSError, HTTPException, ValueError) as problem:
            error = _word(problem)
        else:
            status, answer, retry_after = response
        return Attempt(
            status=status,
            error=error,
            duration_ms=round((time.monotonic() - begun) * 1000),
            answer=answer,
            retry_after_seconds=retry_after,
        )

    def _exchange(
        self, url: str, body: bytes, headers: Mapping[str, str], deadline: float
    ) -> tuple[int, str | None, float | None]:
        target = check_url(url, ports=self._ports, local=self._local)
        addresses = addresses_of(target, resolve=self._resolve, local=self._local)
        with closing(self._connect(target, addresses, deadline)) as link:
            bounded = _Bounded(link, deadline)
            client = HTTPConnection(target.host, target.port)
            client.sock = bounded  # all of a socket that it uses
            own = {"Host": target.authority, "Connection": "close"}
            client.request("POST", target.path, body=body, headers={**headers, **own})
            with closing(client.getresponse()) as response:
                bounded.hurry(BODY_SECONDS)
                return response.status, _beginning(response), _retry_after(response)

    def _connect(
        self, target: Target, addresses: Sequence[str], deadline: float
    ) -> socket.socket | ssl.SSLSocket:
        """Connect to the first address that answers. Raises OSError."""
        problem = OSError("no address")
        for address in addresses:
            try:
                return self._connect_to(address, target, deadline)
            except ssl.SSLError:  # somebody answers, and is not who it should be
                raise
            except OSError as error:
                problem = error
        raise problem

    def _connect_to(
        self, address: str, target: Target, deadline: float
    ) -> socket.socket | ssl.SSLSocket:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        plain = socket.socket(family, socket.SOCK_STREAM)
        try:
            plain.settimeout(min(CONNECT_SECONDS, _left(deadline)))
            plain.connect((address, target.port))
            if target.scheme != "https":
                return plain
            plain.settimeout(_left(deadline))
            return self._context.wrap_socket(plain, server_hostname=target.host.rstrip("."))
        except BaseException:
            plain.close()
            raise


class _Bounded:
    """What http.client uses of a socket, until a deadline and up to a number of bytes."""

    def __init__(self, link: socket.socket, deadline: float) -> None:
        self._link = link
        self._deadline = deadline
        self._left_bytes = ANSWER_BYTES

    def hurry(self, seconds: float) -> None:
        """Bring the deadline nearer."""
        self._deadline = min(self._deadline, time.monotonic() + seconds)

    def sendall(self, data: bytes) -> None:
        """Send everything within the time left."""
        self._link.settimeout(_left(self._deadline))
        self._link.sendall(data)

    def receive_into(self, buffer: memoryview) -> int:
        """Receive what there is within the time and the bytes left."""
        if self._left_bytes <= 0:
            raise HTTPException("the answer is too large")
        self._link.settimeout(_left(self._deadline))
        count = self._link.recv_into(buffer[: self._left_bytes])
        self._left_bytes -= count
        return count

    def makefile(self, *_: Any) -> io.BufferedReader:  # http.client's own arguments
        """Return the answer as a file."""
        return io.BufferedReader(_Incoming(self))

    def close(self) -> None:
        """Leave closing to whoever has connected."""


class _Incoming(io.RawIOBase):
    def __init__(self, source: _Bounded) -> None:
        super().__init__()
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # typeshed's WriteableBuffer
        return self._source.receive_into(memoryview(buffer))


def _left(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("the time is over")
    return seconds


def _word(problem: Exception) -> str:
    """Name what went wrong by one stable word."""
    if isinstance(problem, TimeoutError):
        return "timed_out"
    if isinstance(problem, ssl.SSLCertVerificationError):
        return "certificate_invalid"
    if isinstance(problem, ssl.SSLError):
        return "tls_failed"
    if isinstance(problem, OSError) and not isinstance(problem, HTTPException):
        return "connection_failed"
    return "answer_malformed"


def _beginning(response: HTTPResponse) -> str | None:
    """Return the first characters of the body, without anything that could act in a log or page."""
    try:
        raw = response.read1(4 * EXCERPT_CHARS)
    except (OSError, HTTPException, ValueError):
        return None
    text = raw.decode("utf-8", "replace")[:EXCERPT_CHARS]
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text) or None


def _retry_after(response: HTTPResponse) -> float | None:
    text = response.headers.get("Retry-After", "")
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        return None
    return float(min(int(text), LONGEST_RETRY_AFTER_SECONDS))
