"""What crosses process borders: JobMessage (scheduler → worker) and Report (worker → web).

Both are frozen and versioned by `schema`. The encoding of a JobMessage is deterministic: the same
message gives the same bytes on every send, whatever order jsonb gave its keys back in.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from jobs.errors import MessageInvalid, ReportInvalid

MESSAGE_SCHEMA = 1
REPORT_SCHEMA = 1

#: SQS takes 1 MiB a message and a batch; ours are far below, so ten always fit one batch call.
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
MAX_MESSAGE_BYTES = 64 * 1024

#: import type → name of the actor that does the work; queues carry the name of the type.
ACTORS: Mapping[str, str] = {"page_import": "import_page", "code2des": "describe_code"}


def canonical_json(value: object) -> bytes:
    """Encode `value` as UTF-8 JSON with sorted keys and no white space; NaN is refused."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode("utf-8")


@dataclass(frozen=True, kw_only=True)
class JobMessage:
    """What a worker needs to find and check one source file; never the file itself."""

    import_id: str
    type: str
    bucket: str
    object_key: str
    object_version: str | None
    content_type: str
    size_bytes: int
    sha256: str
    created_at: str
    traceparent: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    schema: int = MESSAGE_SCHEMA

    def to_json(self) -> dict[str, Any]:
        """Return the jsonb value that `batch_item.message` keeps."""
        return {**vars(self), "options": dict(self.options)}

    @classmethod
    def from_json(cls, value: object) -> JobMessage:
        """Rebuild from `batch_item.message` or a received body.

        Raises MessageInvalid for another schema, an unknown type or wrong fields.
        """
        if not isinstance(value, Mapping) or value.get("schema") != MESSAGE_SCHEMA:
            raise MessageInvalid("unknown message schema")
        try:
            message = cls(**value)
            datetime.fromisoformat(message.created_at)
        except (TypeError, ValueError) as error:
            raise MessageInvalid("message fields do not fit schema 1") from error
        if message.type not in ACTORS or not isinstance(message.import_id, str):
            raise MessageInvalid("unknown import type")
        return message


def encode_message(message: JobMessage) -> str:
    """Return the SQS body: base64 of a canonical Dramatiq envelope. Frozen for schema 1.

    `message_id` is the child ID and `message_timestamp` (milliseconds) its `created_at`, so every
    send of an item is byte-identical. Raises MessageInvalid above MAX_MESSAGE_BYTES.
    """
    envelope = {
        "queue_name": message.type,
        "actor_name": ACTORS[message.type],
        "args": [],
        "kwargs": {"message": message.to_json()},
        "options": {},
        "message_id": message.import_id,
        "message_timestamp": int(datetime.fromisoformat(message.created_at).timestamp() * 1000),
    }
    body = base64.b64encode(canonical_json(envelope))
    if len(body) > MAX_MESSAGE_BYTES:
        raise MessageInvalid(f"message is larger than {MAX_MESSAGE_BYTES} bytes")
    return body.decode("ascii")


def decode_message(body: str) -> JobMessage:
    """Return the message of an SQS body that `encode_message` made. Raises MessageInvalid."""
    try:
        envelope = json.loads(base64.b64decode(body, validate=True))
    except (ValueError, RecursionError) as error:
        raise MessageInvalid("body is not base64 of JSON") from error
    kwargs = envelope.get("kwargs") if isinstance(envelope, dict) else None
    if not isinstance(kwargs, dict):
        raise MessageInvalid("body is not a job envelope")
    return JobMessage.from_json(kwargs.get("message"))


class ReportEvent(StrEnum):
    """What a worker can report about one import."""

    PROCESSING = "processing"
    PROGRESS = "progress"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class ResultRef:
    """Names one result object: `imports/{id}/results/{parser_version}-{sha256}`."""

    parser_version: str
    sha256: str
    size_bytes: int
    detected_type: str
    page_count: int | None = None


@dataclass(frozen=True, kw_only=True)
class ReportError:
    """Why an import failed: a stable code and one English sentence without secrets."""

    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Report:
    """One signed report of a worker about one import.

    `run` is None only in `processing`: the answer to it carries the current run.
    `receive_count` is SQS's ApproximateReceiveCount of the delivery at work.
    """

    event: ReportEvent
    import_id: str
    type: str
    run: int | None = None
    receive_count: int = 1
    done: int | None = None
    total: int | None = None
    result: ResultRef | None = None
    error: ReportError | None = None
    traceparent: str | None = None
    schema: int = REPORT_SCHEMA

    def to_bytes(self) -> bytes:
        """Return the exact bytes to sign and to send."""
        return canonical_json(asdict(self))

    @classmethod
    def from_bytes(cls, raw: bytes) -> Report:
        """Decode a received body. Raises ReportInvalid for anything that is not schema 1."""
        try:
            value = json.loads(raw)
            if not isinstance(value, dict) or value.get("schema") != REPORT_SCHEMA:
                raise ReportInvalid("unknown report schema")
            result, error = value.pop("result", None), value.pop("error", None)
            report = cls(
                **{**value, "event": ReportEvent(str(value.get("event")))},
                result=ResultRef(**result) if result is not None else None,
                error=ReportError(**error) if error is not None else None,
            )
        except (TypeError, ValueError, RecursionError) as problem:
            raise ReportInvalid("report fields do not fit schema 1") from problem
        report._check()
        return report

    def _check(self) -> None:
        ids_are_text = isinstance(self.import_id, str) and self.type in ACTORS
        numbers = (self.run, self.done, self.total, self.receive_count)
        numbers_fit = all(n is None or (type(n) is int and 0 <= n < 2**31) for n in numbers)
        needs_result = self.event is ReportEvent.COMPLETED
        needs_error = self.event is ReportEvent.FAILED
        if not ids_are_text or not numbers_fit:
            raise ReportInvalid("report fields do not fit schema 1")
        if needs_result != (self.result is not None) or needs_error != (self.error is not None):
            raise ReportInvalid("completed carries a result, failed carries an error")
        if self.event is not ReportEvent.PROCESSING and self.run is None:
            raise ReportInvalid("only a processing report may lack its run")


@dataclass(frozen=True, kw_only=True)
class ReportAnswer:
    """What the web answers to a report: whether it changed anything, and where the import is."""

    applied: bool
    status: str
    run: int
