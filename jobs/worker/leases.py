"""The worker's calls to one SQS queue, with short limits and errors in our words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from jobs.errors import JobsError, QueueUnavailable
from jobs.settings import WorkerSettings

#: AWS refuses some stale receipts, the emulator all of them.
_STALE_CODES = frozenset({"ReceiptHandleIsInvalid", "MessageNotInflight", "InvalidParameterValue"})

T = TypeVar("T")


class ReceiptLost(JobsError):
    """The receipt is no longer good: the message was redelivered, or is gone."""

    code = "receipt_lost"


@dataclass(frozen=True)
class Delivery:
    """One receive of one message."""

    message_id: str
    body: str
    receipt: str
    receive_count: int
    #: seconds since 1970 by the clock of SQS
    sent_at: float | None = None


class Leases:
    """Receive, extend, release and delete; thread-safe. Building it needs no network."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        session = boto3.session.Session()
        # A receive must outlast its long poll, and still end within the time to stop.
        self._receiving = _client(session, settings, settings.long_poll_seconds + 3, attempts=1)
        self._calling = _client(session, settings, 5, attempts=1)

    def url(self, name: str) -> str:
        """Return the address of a queue. Raises QueueUnavailable, also when it does not exist."""
        return str(_translated(lambda: self._calling.get_queue_url(QueueName=name))["QueueUrl"])

    def receive(self, url: str, count: int) -> list[Delivery]:
        """Wait for up to `count` messages and make them invisible. Raises QueueUnavailable."""
        answer = _translated(
            lambda: self._receiving.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=min(count, 10),
                WaitTimeSeconds=self._settings.long_poll_seconds,
                VisibilityTimeout=self._settings.visibility_seconds,
                MessageSystemAttributeNames=["ApproximateReceiveCount", "SentTimestamp"],
            )
        )
        return [
            Delivery(
                message_id=entry["MessageId"],
                body=entry["Body"],
                receipt=entry["ReceiptHandle"],
                receive_count=int(entry.get("Attributes", {}).get("ApproximateReceiveCount", 1)),
                sent_at=_sent_at(entry),
            )
            for entry in answer.get("Messages", [])
        ]

    def set_visibility(self, url: str, receipt: str, seconds: int) -> None:
        """Make a held message visible after `seconds`. Raises ReceiptLost, QueueUnavailable."""
        _translated(
            lambda: self._calling.change_message_visibility(
                QueueUrl=url, ReceiptHandle=receipt, VisibilityTimeout=seconds
            )
        )

    def delete(self, url: str, receipt: str) -> None:
        """Delete a held message. Raises ReceiptLost, QueueUnavailable."""
        _translated(lambda: self._calling.delete_message(QueueUrl=url, ReceiptHandle=receipt))

    def visible(self, url: str) -> int:
        """Return about how many messages wait. Raises QueueUnavailable."""
        name = "ApproximateNumberOfMessages"
        answer = _translated(
            lambda: self._calling.get_queue_attributes(QueueUrl=url, AttributeNames=[name])
        )
        return int(answer["Attributes"][name])


def _sent_at(entry: dict[str, Any]) -> float | None:
    sent = str(entry.get("Attributes", {}).get("SentTimestamp", ""))
    return int(sent) / 1000 if sent.isdecimal() else None


def _client(
    session: boto3.session.Session, settings: WorkerSettings, read_seconds: int, *, attempts: int
) -> Any:
    return session.client(
        "sqs",
        endpoint_url=settings.aws_endpoint_url,
        region_name=settings.aws_region,
        config=Config(
            connect_timeout=3,
            read_timeout=read_seconds,
            retries={"total_max_attempts": attempts, "mode": "standard"},
            max_pool_connections=32,
        ),
    )


def _translated(call: Callable[[], T]) -> T:
    try:
        return call()
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", "Unknown"))
        if code.rpartition(".")[2] in _STALE_CODES:
            raise ReceiptLost(code) from error
        raise QueueUnavailable(code) from error
    except (BotoCoreError, OSError) as error:
        raise QueueUnavailable(type(error).__name__) from error
