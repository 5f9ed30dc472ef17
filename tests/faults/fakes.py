"""S3 and SQS behind our own interfaces, for the state machine: in memory, with faults on demand."""

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from jobs.bucket import FoundObject, source_key
from jobs.errors import QueueUnavailable, StorageUnavailable
from jobs.messages import decode_message
from jobs.queue import (
    DeadLetter,
    OutgoingMessage,
    QueueClient,
    QueueDepth,
    Rejection,
    SendOutcome,
)
from jobs.storage import ListedObject, Storage, StoredObject


@dataclass(eq=False)
class Message:
    """One message of a queue; standard queues promise neither order nor once."""

    queue: str
    body: str

    @property
    def import_id(self) -> str:
        return decode_message(self.body).import_id


class FakeQueue(QueueClient):
    """SQS as its worst documentation says it is. `fault` names what happens to the next sends."""

    def __init__(self) -> None:
        self.waiting: list[Message] = []
        self.dead: list[Message] = []
        self.sent: dict[str, list[str]] = {}
        self.fault = "none"

    def send_batch(self, queue: str, entries: Sequence[OutgoingMessage]) -> SendOutcome:
        if self.fault == "down":
            raise QueueUnavailable("EndpointConnectionError")
        first, *others = entries
        lost = [first] if self.fault in ("first_refused", "first_missing", "first_hopeless") else []
        for entry in entries if not lost else others:
            self.waiting.append(Message(queue, entry.body))
            self.sent.setdefault(entry.id, []).append(entry.body)
        if self.fault == "reply_lost":
            raise QueueUnavailable("ReadTimeoutError")
        taken = frozenset(entry.id for entry in entries) - {entry.id for entry in lost}
        if self.fault == "first_missing":
            return SendOutcome(taken, {}, frozenset({first.id}))
        permanent = self.fault == "first_hopeless"
        code = "InvalidMessageContents" if permanent else "InternalError"
        return SendOutcome(taken, {e.id: Rejection(code, permanent) for e in lost}, frozenset())

    def depths(self, queue: str) -> QueueDepth:
        if self.fault == "down":
            raise QueueUnavailable("EndpointConnectionError")
        waiting = sum(message.queue == queue for message in self.waiting)
        return QueueDepth(waiting, 0, 0, sum(message.queue == queue for message in self.dead))

    def receive_dead(self, queue: str, limit: int = 10) -> list[DeadLetter]:
        found = [message for message in self.dead if message.queue == queue][:limit]
        return [DeadLetter(str(id(m)), m.body, m.import_id, decode_message(m.body)) for m in found]

    def delete_dead(self, queue: str, receipt: str) -> None:
        self.dead = [message for message in self.dead if str(id(message)) != receipt]


@dataclass
class FakeStorage(Storage):
    """A bucket in memory; the put number `fails_at` of a request is refused."""

    bucket: str = "torikomi"
    keys: set[str] = field(default_factory=set)
    #: child → the packed result that a worker stored before it died
    results: dict[str, bytes] = field(default_factory=dict)
    fails_at: int = 0
    #: what clients have put themselves, by child
    arrived: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._count = itertools.count(1)

    def begin(self, fails_at: int) -> None:
        """Say which put of the next request fails; 0 means none."""
        self.fails_at, self._count = fails_at, itertools.count(1)

    def put_source(self, child_id: str, stream: Any, **about: str) -> StoredObject:
        content = b"".join(iter(lambda: stream.read(65536), b""))
        if next(self._count) == self.fails_at:
            raise StorageUnavailable("told to")
        self.keys.add(source_key(child_id))
        digest = hashlib.sha256(content).hexdigest()
        return StoredObject(self.bucket, source_key(child_id), "v1", len(content), digest)

    def delete_source(self, key: str, version: str | None) -> None:
        self.keys.discard(key)

    def arrive(self, child_id: str, content: bytes) -> None:
        """A client's own PUT of a promised file."""
        self.keys.add(source_key(child_id))
        self.arrived[child_id] = content

    def digest_of(self, child_id: str) -> str | None:
        """Return the SHA-256 of a client's file that is there."""
        there = source_key(child_id) in self.keys and child_id in self.arrived
        return hashlib.sha256(self.arrived[child_id]).hexdigest() if there else None

    def find_source(self, child_id: str) -> FoundObject | None:
        digest = self.digest_of(child_id)
        if digest is None:
            return None
        return FoundObject(version="v1", size_bytes=len(self.arrived[child_id]), sha256=digest)

    def list_older_than(self, cutoff: datetime, *, after: str = "") -> Iterator[ListedObject]:
        """Call every object old: the time in the key has to decide."""
        for key in sorted(self.keys):
            if key > after:
                yield ListedObject(key, 1, cutoff - timedelta(hours=1))

    def list_keys(self, prefix: str) -> Iterator[str]:
        return (key for key in sorted(self.keys) if key.startswith(prefix))

    def delete(self, key: str) -> int:
        self.keys.discard(key)
        if "/results/" in key:
            self.results.pop(key.split("/")[1], None)
        return 1

    def delete_tree(self, prefix: str) -> int:
        return sum(self.delete(key) for key in list(self.list_keys(prefix)))

    def store_result_as(self, child_id: str, digest: str) -> None:
        """Let a result object of this digest be there."""
        self.keys.add(f"imports/{child_id}/results/1-{digest}")

    def store_result(self, child_id: str, packed: bytes) -> str:
        """Do a worker's put_result; return the digest."""
        self.results[child_id] = packed
        digest = hashlib.sha256(packed).hexdigest()
        self.store_result_as(child_id, digest)
        return digest

    def list_results(self, child_id: str) -> Iterator[tuple[str, str, int]]:
        if packed := self.results.get(child_id):
            yield "1", hashlib.sha256(packed).hexdigest(), len(packed)

    def fetch_result(
        self, child_id: str, parser_version: str, sha256: str, size_bytes: int, destination: Path
    ) -> None:
        destination.write_bytes(self.results[child_id])
