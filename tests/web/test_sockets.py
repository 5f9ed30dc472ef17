"""Real sockets against a real gunicorn: slow, cut, chunked and huge bodies, and the memory they
take."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local.processes import free_port
from tests.web.conftest import CLIENT_ID, ISSUER, WEBHOOK_SECRETS, Issuer, Person
from tests.web.test_api_uploads import rows

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
LIMIT_BYTES = 64 * MIB


class Server:
    """The Procfile's own web process, on a port of its own."""

    def __init__(self, env: dict[str, str], log: Path) -> None:
        self.port = int(env["PORT"])
        line = next(
            text.removeprefix("web:").removeprefix(" exec").strip().removeprefix("exec ")
            for text in (ROOT / "Procfile").read_text().splitlines()
            if text.startswith("web:")
        )
        self._log = log.open("wb")
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", f"exec {shlex.quote(sys.executable)} -m {line}"],
            cwd=ROOT,
            env=env,
            stderr=self._log,
            stdout=self._log,
        )
        deadline = time.monotonic() + 30
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/livez", timeout=2).close()
                return
            except OSError:
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.1)

    @property
    def worker(self) -> int:
        """The PID of gunicorn's one worker."""
        pid = self._process.pid
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(30)
        self._log.close()


@pytest.fixture
def server(database: str, aws: Any, issuer: Issuer, tmp_path: Path) -> Iterator[Server]:
    env = {
        **os.environ,
        "DATABASE_URL": database,
        "PORT": str(free_port()),
        "BIND_HOST": "127.0.0.1",
        "COGNITO_ISSUER": ISSUER,
        "COGNITO_JWKS_URL": issuer.url,
        "COGNITO_CLIENT_ID": CLIENT_ID,
        "SESSION_SECRET": "s" * 48,
        "WEBHOOK_SECRETS": WEBHOOK_SECRETS,
        "SECURE_COOKIES": "0",
        "BODY_IDLE_SECONDS": "1",
        "MAX_UPLOAD_BYTES": str(LIMIT_BYTES),
    }
    made = Server(env, tmp_path / "web.log")
    yield made
    made.stop()


class Request:
    """One hand-written HTTP request."""

    def __init__(self, server: Server, person: Person, *headers: str, path: str = "") -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        lines = [
            f"POST /api/v1/imports{path or '?filename=a.txt'} HTTP/1.1",
            "Host: localhost",
            f"Authorization: {person.headers['Authorization']}",
            *headers,
        ]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())

    def answer(self) -> tuple[int, dict[str, Any]]:
        """Read the response; its body is JSON."""
        received = b""
        while b"\r\n\r\n" not in received or len(received) < self._end(received):
            chunk = self.socket.recv(65536)
            if not chunk:
                break
            received += chunk
        self.socket.close()
        head, _, body = received.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(body)

    @staticmethod
    def _end(received: bytes) -> int:
        head, _, _ = received.partition(b"\r\n\r\n")
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                return len(head) + 4 + int(value)
        return 1 << 60


def nothing_was_taken_in() -> None:
    assert rows("SELECT id FROM batch") == rows("SELECT id FROM batch_item") == []


def test_a_silent_client_is_answered_408(server: Server, person: Person) -> None:
    request = Request(server, person, "Content-Length: 100")
    request.socket.sendall(b"x" * 10)
    started = time.monotonic()
    status, body = request.answer()
    assert (status, body["code"]) == (408, "request_timeout")
    assert time.monotonic() - started < 10
    nothing_was_taken_in()


def test_a_dripping_client_is_answered_408(server: Server, person: Person) -> None:
    """One byte now and then keeps the connection awake, but not for ever."""
    request = Request(server, person, "Content-Length: 2000")
    over = threading.Event()

    def drip() -> None:
        while not over.wait(0.2):
            try:
                request.socket.sendall(b"x")
            except OSError:
                return

    thread = threading.Thread(target=drip)
    thread.start()
    started = time.monotonic()
    try:
        status, body = request.answer()
    finally:
        over.set()
        thread.join()
    assert (status, body["code"]) == (408, "request_timeout")
    assert time.monotonic() - started < 20
    nothing_was_taken_in()


@pytest.mark.parametrize("chunked", [False, True])
def test_a_client_that_goes_away_leaves_nothing(
    server: Server, person: Person, chunked: bool
) -> None:
    framing = "Transfer-Encoding: chunked" if chunked else "Content-Length: 1000"
    request = Request(server, person, framing)
    request.socket.sendall(b"64\r\n" + b"x" * 100 + b"\r\n" if chunked else b"x" * 100)
    request.socket.shutdown(socket.SHUT_WR)
    status, body = request.answer()
    assert (status, body["code"]) == (400, "body_truncated")
    nothing_was_taken_in()


def test_a_chunked_body_is_taken_in_whole(server: Server, person: Person) -> None:
    request = Request(server, person, "Transfer-Encoding: chunked")
    for _ in range(3):
        request.socket.sendall(b"5\r\nhello\r\n")
    request.socket.sendall(b"0\r\n\r\n")
    status, body = request.answer()
    assert (status, body["size_bytes"]) == (202, 15)


def test_a_broken_chunk_is_400(server: Server, person: Person) -> None:
    request = Request(server, person, "Transfer-Encoding: chunked")
    request.socket.sendall(b"zz\r\nhello\r\n")
    status, _ = request.answer()
    assert status == 400
    nothing_was_taken_in()


def test_a_declared_length_above_the_limit_is_413_before_a_byte_is_read(
    server: Server, person: Person
) -> None:
    request = Request(server, person, f"Content-Length: {LIMIT_BYTES + 1}")
    status, body = request.answer()
    assert (status, body["code"]) == (413, "file_too_large")


def test_a_chunked_body_above_the_limit_is_413(server: Server, person: Person) -> None:
    request = Request(server, person, "Transfer-Encoding: chunked")
    piece = b"100000\r\n" + b"x" * MIB + b"\r\n"
    try:
        for _ in range(66):
            request.socket.sendall(piece)
    except OSError:
        pass  # the server may close while we still send
    status, body = request.answer()
    assert (status, body["code"]) == (413, "file_too_large")
    nothing_was_taken_in()


def memory_bytes(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise AssertionError(name)


def upload(server: Server, person: Person, size_bytes: int, *, multipart: bool) -> None:
    start, end = b"", b""
    headers = ["Content-Type: application/octet-stream"]
    if multipart:
        start = b'--B\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        end = b"\r\n--B--\r\n"
        headers = ["Content-Type: multipart/form-data; boundary=B"]
    headers.append(f"Content-Length: {len(start) + size_bytes + len(end)}")
    request = Request(server, person, *headers, path="" if not multipart else "?")
    request.socket.sendall(start)
    piece = os.urandom(MIB)
    for _ in range(size_bytes // MIB):
        request.socket.sendall(piece)
    request.socket.sendall(end)
    status, body = request.answer()
    assert (status, body.get("size_bytes")) == (202, size_bytes)


@pytest.mark.parametrize("multipart", [False, True], ids=["raw", "multipart"])
def test_sixty_megabytes_take_at_most_24_of_memory(
    server: Server, person: Person, multipart: bool
) -> None:
    upload(server, person, MIB, multipart=multipart)
    pid = server.worker
    before = memory_bytes(pid, "VmRSS")
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # begin a new high-water mark
    upload(server, person, 60 * MIB, multipart=multipart)
    growth = memory_bytes(pid, "VmHWM") - before
    assert growth <= 24 * MIB, f"grew by {growth / MIB:.1f} MiB"


def test_many_slow_clients_do_not_stop_the_others(server: Server, person: Person) -> None:
    slow = [Request(server, person, "Content-Length: 100") for _ in range(12)]
    started = time.monotonic()
    upload(server, person, MIB, multipart=False)
    assert time.monotonic() - started < 5
    assert {request.answer()[0] for request in slow} == {408}


def exchange(server: Server, data: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send raw bytes and read until the server closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(data)
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return int(lines[0].split()[1]), headers, body


UNREADABLE = [
    (b"NONSENSE\r\n\r\n", 400, "bad_request"),
    (b"GET / HTTP/9.9\r\n\r\n", 400, "bad_request"),
    (b"G\x00T / HTTP/1.1\r\n\r\n", 400, "bad_request"),
    (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400, "bad_request"),
    (b"GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", 400, "bad_request"),
    (b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "bad_request"),
    (
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
        "bad_request",
    ),
    (b"POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n", 400, "bad_request"),
    (b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\n\r\n", 414, "uri_too_long"),
    (
        b"GET / HTTP/1.1\r\n" + b"".join(b"A%d: b\r\n" % n for n in range(150)) + b"\r\n",
        431,
        "headers_too_large",
    ),
    (b"GET / HTTP/1.1\r\nA: " + b"b" * 9000 + b"\r\n\r\n", 431, "headers_too_large"),
]


def test_what_gunicorn_cannot_read_is_a_problem_too(server: Server) -> None:
    for data, status, code in UNREADABLE:
        found, headers, body = exchange(server, data)
        assert (found, json.loads(body)["code"]) == (status, code), data[:40]
        assert json.loads(body)["status"] == status
        assert headers["content-type"] == "application/problem+json"
        assert headers["x-request-id"] == json.loads(body)["request_id"]
        assert headers["connection"] == "close"


def test_who_waits_is_answered_when_the_process_stops(server: Server, person: Person) -> None:
    made = Request(server, person, "Content-Length: 1")
    made.socket.sendall(b"x")
    place = made.answer()[1]["links"]["self"]
    answers: list[tuple[float, tuple[int, dict[str, str], bytes]]] = []

    def wait() -> None:
        started = time.monotonic()
        headers = f"Authorization: {person.headers['Authorization']}\r\nPrefer: wait=30\r\n"
        request = f"GET {place} HTTP/1.1\r\nHost: x\r\n{headers}Connection: close\r\n\r\n"
        found = exchange(server, request.encode())
        answers.append((time.monotonic() - started, found))

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(1.5)
    assert not answers
    server.stop()
    thread.join(20)
    seconds, (status, headers, body) = answers[0]
    assert (status, json.loads(body)["status"]) == (200, "queued")
    assert headers["preference-applied"] == "wait=30"
    assert seconds < 15
