"""The scheduler's side of SQS: send batches, read depths, look into dead-letter queues.

Queues are provisioned from outside (redrive policy included) and only looked up here.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from jobs.errors import MessageInvalid, QueueUnavailable
from jobs.findings import offset_of_answer
from jobs.messages import JobMessage, decode_message
from jobs.settings import QueueSettings

#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
MAX_BATCH_ENTRIES = 10

#: A dead letter is hidden from other drains for this long after it was read.
DEAD_VISIBILITY_SECONDS = 60

#: Faults of one entry that no second try cures.
_PERMANENT_CODES = frozenset(
    {
        "InvalidMessageContents",
        "MessageTooLong",
        "InvalidParameterValue",
        "InvalidParameterCombination",
    }
)
_DEPTHS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)

T = TypeVar("T")


@dataclass(frozen=True)
class OutgoingMessage:
    """One entry of a batch: `id` is the child ID, `group` the subject (SQS fair queues)."""

    id: str
    body: str
    group: str


@dataclass(frozen=True)
class Rejection:
    """SQS definitely refused one entry; `permanent` when it would refuse it again."""

    code: str
    permanent: bool


@dataclass(frozen=True)
class SendOutcome:
    """What SQS said about each entry; `unknown` entries were in neither list of its answer."""

    sent: frozenset[str]
    rejected: Mapping[str, Rejection]
    unknown: frozenset[str]


@dataclass(frozen=True)
class QueueDepth:
    """Approximate numbers of messages of one queue and of its dead-letter queue."""

    visible: int
    in_flight: int
    delayed: int
    dead: int


@dataclass(frozen=True, kw_only=True)
class QueueFacts:
    """How a queue is set up; `dead_letter_queue` is the name its messages are moved to."""

    visible: int
    visibility_seconds: int
    retention_seconds: int
    max_receives: int | None
    dead_letter_queue: str | None
    clock_offset_seconds: float | None


@dataclass(frozen=True)
class DeadLetter:
    """One message of a dead-letter queue; `message` is None when it does not decode.

    `sent_at` is when it was first sent, in seconds since 1970 by the clock of SQS.
    """

    receipt: str
    body: str
    import_id: str | None
    message: JobMessage | None
    sent_at: float | None = None


def queue_name(namespace: str, queue: str) -> str:
    """Return the SQS name of the queue of an import type."""
    return f"{namespace}_{queue}"


class QueueClient:
    """One boto3 client for all threads of the process. Building it needs no network."""

    def __init__(self, settings: QueueSettings) -> None:
        self._namespace = settings.queue_namespace
        self._urls: dict[str, str] = {}
        self._lock = threading.Lock()
        self._client = boto3.session.Session().client(
            "sqs",
            endpoint_url=settings.aws_endpoint_url,
            region_name=settings.aws_region,
            config=Config(
                connect_timeout=3,
                read_timeout=10,
                retries={"total_max_attempts": 2, "mode": "standard"},
                max_pool_connections=32,
            ),
        )

    def send_batch(self, queue: str, entries: Sequence[OutgoingMessage]) -> SendOutcome:
        """Send at most ten messages in one request and account for every single one.

        Raises QueueUnavailable when the whole request failed: what was sent is then unknown.
        """
        if not 0 < len(entries) <= MAX_BATCH_ENTRIES:
            raise ValueError(f"a batch has 1 to {MAX_BATCH_ENTRIES} entries")
        numbered = {str(number): entry for number, entry in enumerate(entries)}
        answer = self._call(
            queue,
            lambda url: self._client.send_message_batch(
                QueueUrl=url,
                Entries=[
                    {"Id": number, "MessageBody": entry.body, "MessageGroupId": entry.group}
                    for number, entry in numbered.items()
                ],
            ),
        )
        sent = {numbered[e["Id"]].id for e in answer.get("Successful", []) if e["Id"] in numbered}
        rejected = {
            numbered[entry["Id"]].id: _rejection(entry)
            for entry in answer.get("Failed", [])
            if entry.get("Id") in numbered
        }
        unknown = {entry.id for entry in entries} - sent - rejected.keys()
        return SendOutcome(frozenset(sent), rejected, frozenset(unknown))

    def depths(self, queue: str) -> QueueDepth:
        """Return the approximate depths of a queue and its DLQ. Raises QueueUnavailable."""
        numbers, dead = self._attributes(queue), self._attributes(f"{queue}_dlq")
        return QueueDepth(
            visible=numbers[_DEPTHS[0]],
            in_flight=numbers[_DEPTHS[1]],
            delayed=numbers[_DEPTHS[2]],
            dead=dead[_DEPTHS[0]] + dead[_DEPTHS[1]],  # the drain holds those it has to leave
        )

    def facts(self, queue: str) -> QueueFacts:
        """Ask SQS how a queue is set up, for `doctor`. Raises QueueUnavailable."""
        answer = self._call(
            queue,
            lambda url: self._client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"]),
        )
        told = answer["Attributes"]
        policy = json.loads(told.get("RedrivePolicy") or "{}")
        target = policy.get("deadLetterTargetArn")
        receives = policy.get("maxReceiveCount")
        return QueueFacts(
            visible=int(told.get(_DEPTHS[0], 0)),
            visibility_seconds=int(told.get("VisibilityTimeout", 30)),
            retention_seconds=int(told.get("MessageRetentionPeriod", 0)),
            max_receives=int(receives) if receives is not None else None,
            dead_letter_queue=str(target).rpartition(":")[2] if target else None,
            clock_offset_seconds=offset_of_answer(answer),
        )

    def receive_dead(
        self, queue: str, limit: int = 10, *, visibility_seconds: int = DEAD_VISIBILITY_SECONDS
    ) -> list[DeadLetter]:
        """Read up to `limit` (≤ 10) dead letters; they come back after a while unless deleted."""
        answer = self._call(
            f"{queue}_dlq",
            lambda url: self._client.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=min(limit, MAX_BATCH_ENTRIES),
                VisibilityTimeout=visibility_seconds,
                WaitTimeSeconds=0,
                MessageSystemAttributeNames=["SentTimestamp"],
            ),
        )
        return [_dead_letter(entry) for entry in answer.get("Messages", [])]

    def delete_dead(self, queue: str, receipt: str) -> None:
        """Delete one dead letter. Raises QueueUnavailable; an expired receipt counts as that."""
        self._call(
            f"{queue}_dlq",
            lambda url: self._client.delete_message(QueueUrl=url, ReceiptHandle=receipt),
        )

    def _attributes(self, queue: str) -> dict[str, int]:
        answer = self._call(
            queue,
            lambda url: self._client.get_queue_attributes(
                QueueUrl=url, AttributeNames=list(_DEPTHS)
            ),
        )
        return {name: int(answer["Attributes"].get(name, 0)) for name in _DEPTHS}

    def _call(self, queue: str, call: Callable[[str], T]) -> T:
        try:
            return call(self._url(queue))
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", "Unknown"))
            if "NonExistentQueue" in code or "QueueDoesNotExist" in code:
                self._urls.pop(queue, None)
            raise QueueUnavailable(code) from error
        except (BotoCoreError, OSError) as error:
            raise QueueUnavailable(type(error).__name__) from error

    def _url(self, queue: str) -> str:
        with self._lock:
            known = self._urls.get(queue)
        if known is None:
            name = queue_name(self._namespace, queue)
            known = str(self._client.get_queue_url(QueueName=name)["QueueUrl"])
            with self._lock:
                self._urls[queue] = known
        return known


def _rejection(entry: Mapping[str, Any]) -> Rejection:
    code = str(entry.get("Code", "Unknown"))
    return Rejection(code, bool(entry.get("SenderFault")) and code in _PERMANENT_CODES)


def _dead_letter(entry: Mapping[str, Any]) -> DeadLetter:
    body, receipt = str(entry["Body"]), str(entry["ReceiptHandle"])
    sent = entry.get("Attributes", {}).get("SentTimestamp")
    sent_at = int(sent) / 1000 if sent else None
    try:
        message = decode_message(body)
    except MessageInvalid:
        return DeadLetter(receipt, body, _claimed_id(body), None, sent_at)
    return DeadLetter(receipt, body, message.import_id, message, sent_at)


def _claimed_id(body: str) -> str | None:
    try:
        envelope = json.loads(base64.b64decode(body, validate=True))
    except (ValueError, RecursionError):
        return None
    claimed = envelope.get("message_id") if isinstance(envelope, dict) else None
    return claimed if isinstance(claimed, str) else None
