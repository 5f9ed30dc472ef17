"""A dispatcher on the real queue, with a door for faults in front of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event

import boto3
import click
import pytest
from click.testing import CliRunner
from pydantic import SecretStr
from structlog.testing import capture_logs

from jobs.errors import QueueUnavailable
from jobs.queue import OutgoingMessage, QueueClient, QueueDepth, Rejection, SendOutcome
from jobs.settings import QueueSettings
from scheduler.breaker import Breaker
from scheduler.commands import GROUPS
from scheduler.dispatcher import Dispatcher
from scheduler.settings import SchedulerSettings

QUEUES = ("page_import", "code2des")


@dataclass
class FaultyQueue(QueueClient):
    """The real client; faults come in at our own interface, before or after the real send."""

    settings: QueueSettings
    down: str | None = None
    reply_lost: bool = False
    refuse: dict[str, Rejection] = field(default_factory=dict)
    forget: set[str] = field(default_factory=set)
    before_send: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        super().__init__(self.settings)

    def send_batch(self, queue: str, entries: Sequence[OutgoingMessage]) -> SendOutcome:
        self.before_send()
        if self.down is not None:
            raise QueueUnavailable(self.down)
        kept = [e for e in entries if e.id not in self.refuse and e.id not in self.forget]
        sent = super().send_batch(queue, kept).sent if kept else frozenset()
        if self.reply_lost:
            raise QueueUnavailable("ReadTimeoutError")
        refused = {e.id: self.refuse[e.id] for e in entries if e.id in self.refuse}
        forgotten = frozenset(e.id for e in entries if e.id in self.forget)
        return SendOutcome(sent, refused, forgotten)

    def depths(self, queue: str) -> QueueDepth:
        if self.down is not None:
            raise QueueUnavailable(self.down)
        return super().depths(queue)


@pytest.fixture
def queue(aws, database):
    """The queue client, with both queues and their DLQs empty."""
    sqs = boto3.client("sqs")
    for name in QUEUES:
        for url in (f"torikomi_{name}", f"torikomi_{name}_dlq"):
            sqs.purge_queue(QueueUrl=sqs.get_queue_url(QueueName=url)["QueueUrl"])
    return FaultyQueue(QueueSettings())


@pytest.fixture
def scheduler_settings(database):
    return SchedulerSettings(database_url=SecretStr(database), claim_limit=100)


@pytest.fixture
def dispatcher(queue, scheduler_settings):
    made = Dispatcher(queue, Breaker(), scheduler_settings, Event())
    yield made
    made.close()


@pytest.fixture
def received(aws):
    """Read what is visible in a queue: a function that returns (message ID, body) pairs."""
    sqs = boto3.client("sqs")

    def read(name: str = "page_import") -> list[dict]:
        url = sqs.get_queue_url(QueueName=f"torikomi_{name}")["QueueUrl"]
        found = []
        while True:
            batch = sqs.receive_message(
                QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"]
            ).get("Messages", [])
            if not batch:
                return found
            for message in batch:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            found += batch

    return read


@pytest.fixture
def operate(database, monkeypatch):
    """Run an operator's command; returns what it says, on stderr if it is to fail."""
    monkeypatch.setenv("DATABASE_URL", database)
    commands = click.Group(commands=list(GROUPS))

    def run(*words: str, fails: int = 0) -> str:
        with capture_logs():  # not set up here, structlog would write to stdout
            done = CliRunner().invoke(commands, words)
        assert done.exit_code == fails, done.output
        return done.stderr if fails else done.stdout

    return run
