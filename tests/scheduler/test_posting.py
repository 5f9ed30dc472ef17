"""One request to somebody else's server, whatever that server does."""

import datetime
import ipaddress
import socket
import ssl
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from jobs.addresses import EndpointSettings
from scheduler.posting import Poster
from tests.scheduler.receivers import hold, raw_server, receiver


def poster(seconds=10.0, *, local=True, **more):
    settings = EndpointSettings(endpoint_allow_local=local)
    return Poster(settings, timeout_seconds=seconds, **more)


def test_the_body_and_the_headers_arrive_as_they_are():
    with receiver() as server:
        server.answer = "ありがとう".encode()
        attempt = poster().post(server.url, b'{"a":1}', {"Content-Type": "application/json"})
    (request,) = server.received
    assert (request.path, request.body) == ("/hook?a=b", b'{"a":1}')
    assert request.headers["host"] == server.url.split("/")[2]
    assert request.headers["content-type"] == "application/json"
    assert (attempt.status, attempt.error, attempt.answer) == (200, None, "ありがとう")
    assert attempt.delivered
    assert attempt.duration_ms >= 0


@pytest.mark.parametrize("status", [201, 204, 299])
def test_every_2xx_is_a_delivery(status):
    with receiver() as server:
        server.status, server.answer = status, b""
        attempt = poster().post(server.url, b"{}", {})
    assert (attempt.status, attempt.delivered, attempt.answer) == (status, True, None)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_a_failure_and_is_not_followed(status):
    with receiver() as secret_place, receiver() as server:
        server.status, server.headers = status, {"Location": secret_place.url}
        attempt = poster().post(server.url, b"{}", {})
    assert (attempt.status, attempt.delivered) == (status, False)
    assert secret_place.received == []


def test_500_and_410_are_told_apart():
    with receiver() as server:
        server.status = 500
        assert (poster().post(server.url, b"{}", {}).gone) is False
        server.status = 410
        assert poster().post(server.url, b"{}", {}).gone is True


def test_a_server_that_never_answers_is_left_in_time():
    with raw_server(hold) as url:
        begun = time.monotonic()
        attempt = poster(0.4).post(url, b"{}", {})
    assert (attempt.status, attempt.error) == (None, "timed_out")
    assert time.monotonic() - begun < 3


def test_a_head_that_trickles_in_is_bounded_as_a_whole():
    """Each byte comes well before any time-out of a single read."""

    def trickle(link: socket.socket) -> None:
        link.sendall(b"HTTP/1.1 200 OK\r\n")
        for _ in range(200):
            link.sendall(b"X")
            time.sleep(0.05)

    with raw_server(trickle) as url:
        begun = time.monotonic()
        attempt = poster(0.5).post(url, b"{}", {})
        assert time.monotonic() - begun < 3
    assert attempt.error == "timed_out"


def test_a_body_that_never_ends_does_not_take_the_delivery_back():
    def talk(link: socket.socket) -> None:
        link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        hold(link)

    with raw_server(talk) as url:
        begun = time.monotonic()
        attempt = poster().post(url, b"{}", {})
        assert time.monotonic() - begun < 4.5
    assert (attempt.status, attempt.answer) == (200, None)


def test_a_huge_answer_is_read_at_its_beginning_only():
    sent = 0

    def talk(link: socket.socket) -> None:
        nonlocal sent
        link.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 1000000000\r\n\r\n")
        while True:
            sent += link.send(b"x" * 65536)

    with raw_server(talk) as url:
        attempt = poster().post(url, b"{}", {})
    assert (attempt.status, attempt.answer) == (500, "x" * 500)
    assert sent < 16 << 20, "what socket buffers hold, not a gigabyte"


def test_a_head_without_an_end_is_cut():
    def talk(link: socket.socket) -> None:
        link.sendall(b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"x" * 60_000 + b"\r\n")
        while True:
            link.sendall(b"X-B: " + b"x" * 60_000 + b"\r\n")

    with raw_server(talk) as url:
        attempt = poster().post(url, b"{}", {})
    assert (attempt.status, attempt.error) == (None, "answer_malformed")


@pytest.mark.parametrize(
    "answer", [b"", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\x00\xff\r\n\r\n"]
)
def test_what_is_no_http_is_named(answer):
    with raw_server(lambda link: (link.recv(9999), link.sendall(answer), link.close())) as url:
        attempt = poster().post(url, b"{}", {})
    assert (attempt.status, attempt.error) in [
        (None, "answer_malformed"),
        (None, "connection_failed"),
    ]


def test_an_answer_is_kept_without_anything_that_acts():
    with receiver() as server:
        server.answer = b"a\x00b\x1b[31m\r\n\xff\xe2\x80\xae<script>"
        attempt = poster().post(server.url, b"{}", {})
    assert attempt.answer == "a\ufffdb\ufffd[31m\ufffd\n\ufffd\ufffd<script>"


def test_nobody_there_is_named():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    attempt = poster().post(f"http://127.0.0.1:{port}/", b"{}", {})
    assert (attempt.status, attempt.error) == (None, "connection_failed")


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7), ("999999", 3600), ("soon", None), ("-1", None)]
)
def test_a_wish_for_patience_is_heard(header, seconds):
    with receiver() as server:
        server.status, server.headers = 429, {"Retry-After": header}
        assert poster().post(server.url, b"{}", {}).retry_after_seconds == seconds


@pytest.mark.parametrize(
    ("url", "addresses"),
    [
        ("https://rebound.example/", ["10.1.2.3"]),
        ("https://rebound.example/", ["169.254.169.254"]),
        ("https://rebound.example/", ["8.8.8.8", "192.168.0.1"]),
        ("https://rebound.example/", ["::ffff:127.0.0.1"]),
        ("https://rebound.example/", ["fd00:ec2::254"]),
        ("https://rebound.example/", ["100.64.0.1"]),
        ("https://127.0.0.1/", ["8.8.8.8"]),
    ],
)
def test_a_name_that_leads_inside_is_not_connected_to(url, addresses):
    attempt = poster(local=False, resolve=lambda host, port: addresses).post(url, b"{}", {})
    assert (attempt.status, attempt.error) == (None, "address_refused")


def test_loopback_is_refused_without_the_setting_whatever_was_registered():
    with receiver() as server:
        name = server.url.replace("127.0.0.1", "localhost")
        for url in (server.url, name, name.replace("http:", "https:")):
            assert poster(local=False).post(url, b"{}", {}).error is not None
        assert server.received == []


def test_a_name_is_resolved_once_and_the_connection_goes_to_what_was_judged():
    """DNS rebinding: the second answer would lead inside."""
    asked = []

    def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["10.0.0.1"]

    with receiver() as server:
        url = server.url.replace("127.0.0.1", "rebound.example")
        attempt = poster(resolve=rebinding).post(url, b"{}", {})
        (request,) = server.received
    assert attempt.status == 200
    assert asked == ["rebound.example"]
    assert request.headers["host"].startswith("rebound.example:")


def test_the_next_address_is_tried_when_one_does_not_answer():
    with receiver() as server:
        url = server.url.replace("127.0.0.1", "two.example")
        attempt = poster(resolve=lambda host, port: ["::1", "127.0.0.1"]).post(url, b"{}", {})
    assert attempt.status == 200


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A self-signed certificate for hooks.example; returns its file and its key's."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hooks.example")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("hooks.example"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "key.pem").write_bytes(private)
    return folder / "cert.pem", folder / "key.pem"


def test_tls_is_verified_against_the_name_of_the_host(certificate):
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(*certificate)
    trusting = ssl.create_default_context(cafile=certificate[0])

    def send(host: str, context: ssl.SSLContext | None) -> tuple[int | None, str | None]:
        sender = poster(resolve=lambda host, port: ["127.0.0.1"], context=context)
        attempt = sender.post(server.url.replace("127.0.0.1", host), b"{}", {})
        return attempt.status, attempt.error

    with receiver(own) as server:
        assert send("hooks.example", trusting) == (200, None)
        assert send("hooks.example.", trusting) == (200, None)
        assert send("127.0.0.1", trusting) == (200, None)
        assert send("other.example", trusting) == (None, "certificate_invalid")
        assert send("hooks.example", None) == (None, "certificate_invalid")
        assert len(server.received) == 3
    with receiver() as plain:
        server = plain
        server.url = plain.url.replace("http:", "https:")
        assert send("hooks.example", trusting)[1] == "tls_failed"
