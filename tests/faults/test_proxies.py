"""The fault proxies themselves: what a rule says happens, and nothing else."""

import json
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import psycopg2
import pytest

from tests.faults.http_proxy import WHOLE_BYTES, HttpProxy
from tests.faults.postgres_proxy import PostgresProxy
from tests.faults.proxy import SLOW_DOWN

BATCH = {
    "X-Amz-Target": "AmazonSQS.SendMessageBatch",
    "Authorization": "AWS4-HMAC-SHA256 Credential=me/20261130/ap-northeast-1/sqs/aws4_request",
}


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was sent; the server remembers each body."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        """Say nothing."""

    def do_POST(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(body)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def upstream():
    """A server behind the proxy."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    server.bodies = []
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def proxy(upstream):
    """The proxy before it, honest."""
    with HttpProxy(lambda: upstream.server_address) as running:
        yield running


def post(proxy, content=b"hello", **more):
    return httpx.post(f"{proxy.url}/path", content=content, timeout=10, **more)


def pieces(total):
    for _ in range(total // 1000):
        yield b"x" * 1000


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"x" * (WHOLE_BYTES + 1), pieces(5000), pieces(WHOLE_BYTES + 1000)],
    ids=["nothing", "small", "large", "chunked", "large chunked"],
)
def test_without_a_rule_bytes_pass_unchanged(proxy, upstream, content):
    answer = post(proxy, content)
    assert answer.status_code == 200
    assert answer.content == upstream.bodies[0]
    assert len(answer.content) in {0, 5, WHOLE_BYTES + 1, 5000, (WHOLE_BYTES // 1000 + 1) * 1000}


def test_a_refused_request_never_arrives(proxy, upstream):
    rule = proxy.add("^web POST /path", refuse=True)
    with pytest.raises(httpx.TransportError):
        post(proxy)
    assert rule.hit.is_set()
    assert upstream.bodies == []
    assert post(proxy).status_code == 200, "a rule acts as often as it says"


def test_a_delayed_request_arrives_late(proxy, upstream):
    proxy.add("^web", delay_seconds=0.3)
    begun = time.monotonic()
    assert post(proxy).content == b"hello"
    assert time.monotonic() - begun >= 0.3


def test_a_delayed_request_of_a_rule_that_was_cleared_never_arrives(proxy, upstream):
    proxy.add("^web", delay_seconds=0.3, before=lambda exchange: proxy.clear())
    with pytest.raises(httpx.TransportError):
        post(proxy)
    assert upstream.bodies == []


@pytest.mark.parametrize("size", [5000, WHOLE_BYTES * 3], ids=["held whole", "streamed"])
def test_an_answer_is_cut_after_as_many_bytes_as_the_rule_says(proxy, upstream, size):
    proxy.add("^web", cut_after=1000)
    got = b""
    with httpx.stream("POST", f"{proxy.url}/path", content=b"y" * size, timeout=10) as answer:
        assert answer.headers["Content-Length"] == str(size)
        with pytest.raises(httpx.TransportError):
            for piece in answer.iter_raw():
                got += piece
    assert got == b"y" * len(got)
    assert len(got) <= 1000
    assert upstream.bodies == [b"y" * size]


def test_a_dropped_reply_is_of_a_request_that_was_accepted(proxy, upstream):
    proxy.add("^web", drop_reply=True)
    with pytest.raises(httpx.TransportError):
        post(proxy)
    assert upstream.bodies == [b"hello"]


def test_slow_down_is_answered_without_asking_the_other_side(proxy, upstream):
    proxy.add("^web", status=503, content=SLOW_DOWN, times=2)
    answers = [post(proxy, b"z" * (WHOLE_BYTES + 1)) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [503, 503, 200]
    assert b"<Code>SlowDown</Code>" in answers[0].content
    assert len(upstream.bodies) == 1


def test_entries_of_a_batch_answer_can_fail_or_be_missing(proxy, upstream):
    def spoil(reply):
        first, _, *others = json.loads(reply)["Successful"]
        return json.dumps({"Successful": others, "Failed": [{**first, "Code": "x"}]}).encode()

    proxy.add("^sqs SendMessageBatch$", rewrite=spoil)
    sent = json.dumps({"Successful": [{"Id": str(n)} for n in range(4)]}).encode()
    answer = post(proxy, sent, headers=BATCH).json()
    assert answer == {
        "Successful": [{"Id": "2"}, {"Id": "3"}],
        "Failed": [{"Id": "0", "Code": "x"}],
    }
    assert upstream.bodies == [sent]


def test_a_function_is_called_before_the_request_and_after_its_answer(proxy, upstream):
    seen = []
    proxy.add(
        "^web",
        before=lambda exchange: seen.append((exchange.status, len(upstream.bodies))),
        after=lambda exchange: seen.append((exchange.status, len(upstream.bodies))),
    )
    post(proxy)
    assert seen == [(0, 0), (200, 1)]


def test_rules_choose_by_name_and_content_and_can_be_taken_back(proxy, upstream):
    proxy.add("^s3 ", refuse=True)
    proxy.add("^web", when=lambda exchange: exchange.body == b"bad", status=500, times=None)
    gone = proxy.add("^web", status=500)
    proxy.remove(gone)
    assert [post(proxy, content).status_code for content in (b"good", b"bad", b"bad")] == [
        200,
        500,
        500,
    ]
    proxy.clear()
    assert post(proxy, b"bad").status_code == 200


def test_every_try_of_one_call_is_seen_with_the_same_invocation(proxy, upstream):
    seen = []
    proxy.seen.append(lambda exchange: seen.append((exchange.name, exchange.invocation)))
    post(proxy, headers={**BATCH, "amz-sdk-invocation-id": "one"})
    assert seen == [("sqs SendMessageBatch", "one")] * 2


def test_cutting_ends_the_connections_that_are_open(proxy, upstream):
    held = proxy.add("^web", before=lambda exchange: proxy.cut())
    with pytest.raises(httpx.TransportError):
        post(proxy)
    assert held.hit.wait(5)
    assert post(proxy).status_code == 200


@pytest.fixture
def way(postgres, database):
    """A proxy before PostgreSQL and the address that leads through it."""
    with PostgresProxy(lambda: ("127.0.0.1", postgres.port)) as running:
        yield running, running.url(database)


def begin_insert(dsn):
    connection = psycopg2.connect(dsn)
    connection.cursor().execute(
        """INSERT INTO process_status (name, kind, data, seen_at, updated_by)
           VALUES ('x', 'y', '{}', now(), 'z')"""
    )
    return connection


@pytest.mark.parametrize(
    ("parts", "committed"), [({"refuse": True}, 0), ({"drop_reply": True}, 1)], ids=str
)
def test_a_commit_is_lost_before_it_arrives_or_its_answer_after(way, database, parts, committed):
    proxy, dsn = way
    proxy.add("^sql COMMIT$", when=lambda e: "process_status" in e.earlier, **parts)
    with closing(begin_insert(dsn)) as connection, pytest.raises(psycopg2.OperationalError):
        connection.commit()
    with closing(psycopg2.connect(database)) as direct, direct.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM process_status")
        assert cursor.fetchone() == (committed,)


def test_a_statement_waits_as_long_as_the_rule_says_and_a_cut_ends_the_session(way):
    proxy, dsn = way
    rule = proxy.add("^sql SELECT 42", delay_seconds=0.2)
    with closing(psycopg2.connect(dsn)) as connection, connection.cursor() as cursor:
        begun = time.monotonic()
        cursor.execute("SELECT 42")
        assert cursor.fetchone() == (42,)
        assert time.monotonic() - begun >= 0.2
        assert rule.times == 0
        proxy.cut()
        with pytest.raises(psycopg2.OperationalError):
            cursor.execute("SELECT 1")
