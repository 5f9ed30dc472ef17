"""A fault proxy of our own: HTTP (S3, SQS, web) and PostgreSQL, with the network as failpoint.

A rule picks exchanges and says what goes wrong with them, or calls a function at an exact moment:
before the request is passed on, or after the upstream has answered and nobody was told. That is
how processes are killed "after SQS accept" without a hook in the product.
"""

import re
import socket
import socketserver
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

SLOW_DOWN = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>slow</Message></Error>"


@dataclass
class Exchange:
    """One request and its answer. `name` is `sqs SendMessageBatch`, `s3 PUT /bucket/key`,
    `web POST /path` or `sql COMMIT`; `earlier` holds the statements of the same transaction, and
    `invocation` is the same in every try of one call of an AWS client."""

    name: str
    body: bytes = b""
    earlier: str = ""
    invocation: str = ""
    status: int = 0
    reply: bytes = b""


@dataclass
class Rule:
    """What happens to the exchanges that fit; the parts act in the order they stand here."""

    match: str
    when: Callable[[Exchange], bool] = lambda exchange: True
    times: int | None = 1
    before: Callable[[Exchange], None] | None = None
    delay_seconds: float = 0
    refuse: bool = False
    status: int | None = None
    content: bytes = b""
    rewrite: Callable[[bytes], bytes] | None = None
    after: Callable[[Exchange], None] | None = None
    drop_reply: bool = False
    cut_after: int | None = None
    hit: threading.Event = field(default_factory=threading.Event)
    cleared: bool = False

    @property
    def wants_whole_reply(self) -> bool:
        return bool(self.rewrite or self.after or self.drop_reply)


class Proxy:
    """A loopback server that passes everything on, except what a rule says. Use as a context."""

    def __init__(self, target: Callable[[], tuple[str, int]]) -> None:
        self.target = target
        self.seen: list[Callable[[Exchange], None]] = []
        self._rules: list[Rule] = []
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._server = Server(("127.0.0.1", 0), self._handler())
        self._server.proxy = self
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Any:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self.cut()
        self._server.server_close()
        self._thread.join()

    def add(self, match: str, **parts: Any) -> Rule:
        """Add a rule; the first that fits and is not used up acts."""
        rule = Rule(match, **parts)
        with self._lock:
            self._rules.append(rule)
        return rule

    def remove(self, rule: Rule) -> None:
        """Let one rule act no more."""
        with self._lock:
            rule.times = 0

    def clear(self) -> None:
        """Be honest again; what a rule still holds back is never passed on."""
        with self._lock:
            for rule in self._rules:
                rule.cleared = True
            self._rules.clear()

    def cut(self) -> None:
        """Reset every connection that is open now."""
        with self._lock:
            sockets = list(self._open)
        for each in sockets:
            reset(each)

    def rule_for(self, exchange: Exchange) -> Rule | None:
        """Take the rule that acts on this exchange, and count it."""
        with self._lock:
            rules = list(self._rules)
        for rule in rules:
            if re.search(rule.match, exchange.name) and rule.when(exchange):
                with self._lock:
                    if rule.times == 0:
                        continue
                    rule.times = None if rule.times is None else rule.times - 1
                return rule
        return None

    def track(self, connection: socket.socket, *, is_open: bool) -> None:
        """Remember a connection for `cut`."""
        with self._lock:
            (self._open.add if is_open else self._open.discard)(connection)

    def note(self, exchange: Exchange) -> None:
        """Show an exchange to those who watch: before it is passed on (status 0) and answered."""
        for watch in self.seen:
            watch(exchange)

    def _handler(self) -> type[Any]:
        raise NotImplementedError


def reset(connection: socket.socket) -> None:
    """End a connection the hard way: the other side sees a reset."""
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = False  # so that closing waits for them
    request_queue_size = 128
    proxy: Any

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        self.proxy.track(request, is_open=True)
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.proxy.track(request, is_open=False)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks is what this is for."""


class Dropped(Exception):
    """The client shall hear nothing more."""


def begin(rule: Rule | None, exchange: Exchange) -> None:
    """Act before the exchange is passed on. Raises Dropped."""
    if rule is None:
        return
    if rule.before is not None:
        rule.before(exchange)
    time.sleep(rule.delay_seconds)
    if rule.refuse or (rule.delay_seconds and rule.cleared):
        rule.hit.set()
        raise Dropped


def finish(rule: Rule | None, exchange: Exchange) -> None:
    """Act when the upstream has answered. Raises Dropped."""
    if rule is None:
        return
    if rule.rewrite is not None:
        exchange.reply = rule.rewrite(exchange.reply)
    if rule.after is not None:
        rule.after(exchange)
    rule.hit.set()
    if rule.drop_reply:
        raise Dropped
