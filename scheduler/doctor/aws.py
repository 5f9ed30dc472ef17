"""S3 and SQS: reachable, allowed, set up as the product needs them."""

from __future__ import annotations

import io
from collections.abc import Iterator

from jobs.errors import ObjectMissing, QueueUnavailable, StorageUnavailable
from jobs.findings import Finding, clock, ok, problem, warning
from jobs.queue import QueueClient, queue_name
from jobs.settings import QueueSettings, StorageSettings, WorkerSettings
from jobs.storage import Storage
from models.ids import uuid7
from models.states import ImportType

#: Five deploys in a row may each return a message that was being worked on.
NEEDED_RECEIVES = 6
NEEDED_RETENTION_SECONDS = 4 * 24 * 3600
_PROBE = b"doctor"

_STEPS = {
    "AccessDenied": "give the process's role the rights of deploy/aws/torikomi.yaml",
    "403": "give the process's role the rights of deploy/aws/torikomi.yaml",
    "InvalidAccessKeyId": "check AWS_ACCESS_KEY_ID, or remove it where a role is used",
    "SignatureDoesNotMatch": "check AWS_SECRET_ACCESS_KEY and this machine's clock",
    "RequestTimeTooSkewed": "let NTP set this machine's clock",
    "ExpiredToken": "renew the credentials",
    "NoCredentialsError": "give the process a role, or AWS_ACCESS_KEY_ID and its secret",
    "NoRegionError": "set AWS_REGION and AWS_DEFAULT_REGION",
    "NonExistentQueue": "create the queues with deploy/aws, or check QUEUE_NAMESPACE",
    "QueueDoesNotExist": "create the queues with deploy/aws, or check QUEUE_NAMESPACE",
    "does not exist": "create the bucket with deploy/aws, or check S3_BUCKET",
    "NoSuchBucket": "create the bucket with deploy/aws, or check S3_BUCKET",
}
_NETWORK = "check AWS_REGION, AWS_ENDPOINT_URL and the way out of this machine's network"


def next_step(reason: str) -> str:
    """Return what to do about what AWS, or the way to it, has said."""
    return next((step for code, step in _STEPS.items() if code in reason), _NETWORK)


def check_bucket(settings: StorageSettings, *, write: bool) -> Iterator[Finding]:
    """Look at the bucket; with `write` store, read and delete one object as the web would."""
    storage = Storage(settings)
    try:
        facts = storage.facts()
        next(storage.list_keys("imports/0"), None)
        yield ok("bucket", f"{settings.s3_bucket} answers and may be listed")
        yield clock("bucket", facts.clock_offset_seconds)
        if facts.versioned:
            yield ok("bucket versions", "kept")
        else:
            step = "switch versioning on: a version pins what a row means"
            yield problem("bucket versions", "not kept", step)
        if write:
            yield _written(storage)
    except (StorageUnavailable, ObjectMissing) as error:
        yield problem("bucket", f"{settings.s3_bucket}: {error}", next_step(str(error)))


def _written(storage: Storage) -> Finding:
    child_id = uuid7()
    stored = storage.put_source(
        child_id, io.BytesIO(_PROBE), file_name="doctor.txt", content_type="text/plain"
    )
    read = b"".join(storage.open_source(stored.key, stored.version))
    storage.delete_source(stored.key, stored.version)
    if read != _PROBE:
        return problem("bucket rights", "it gave back other bytes", "look at what stands before S3")
    return ok("bucket rights", "an object was written, read and deleted")


def check_queues(
    settings: QueueSettings, worker: WorkerSettings | None, *, dead_letters: bool
) -> Iterator[Finding]:
    """Look at each queue, with `dead_letters` also at its DLQ, which no worker may touch.

    `worker` is what a worker is told, if known.
    """
    queue = QueueClient(settings)
    for kind in ImportType:
        part = f"queue {queue_name(settings.queue_namespace, kind)}"
        try:
            yield from _queue(queue, kind, part, worker)
            if dead_letters:
                yield from _dead_letters(queue, kind, part)
        except QueueUnavailable as error:
            yield problem(part, f"it does not answer ({error.reason})", next_step(error.reason))


def _queue(
    queue: QueueClient, kind: ImportType, part: str, worker: WorkerSettings | None
) -> Iterator[Finding]:
    facts = queue.facts(kind)
    yield ok(part, f"it answers; {facts.visible} wait")
    yield clock(part, facts.clock_offset_seconds)
    wanted = f"{part.removeprefix('queue ')}_dlq"
    if facts.max_receives is None or facts.dead_letter_queue != wanted:
        step = f"give it a redrive policy to {wanted} with maxReceiveCount {NEEDED_RECEIVES}"
        yield problem(f"{part} redrive", f"leads to {facts.dead_letter_queue or 'nowhere'}", step)
    elif facts.max_receives < NEEDED_RECEIVES:
        step = f"set maxReceiveCount to {NEEDED_RECEIVES}: five deploys must not dead-letter"
        yield warning(f"{part} redrive", f"after {facts.max_receives} receives", step)
    else:
        yield ok(f"{part} redrive", f"to {wanted} after {facts.max_receives} receives")
    if facts.retention_seconds < NEEDED_RETENTION_SECONDS:
        days = facts.retention_seconds / 86400
        yield warning(f"{part} retention", f"{days:.1f} days", "set it to 14 days")
    if worker is not None and facts.visibility_seconds != worker.visibility_seconds:
        said = f"the queue says {facts.visibility_seconds} s, workers ask for their own"
        step = f"set the queue's to {worker.visibility_seconds} s (VISIBILITY_SECONDS)"
        yield warning(f"{part} visibility", said, step)


def _dead_letters(queue: QueueClient, kind: ImportType, part: str) -> Iterator[Finding]:
    queue.receive_dead(kind, 1, visibility_seconds=0)
    dead = queue.depths(kind).dead
    if dead:
        step = "see `dlq list`; what no row knows stays until a person looks"
        yield warning(f"{part}_dlq", f"{dead} dead letters", step)
    else:
        yield ok(f"{part}_dlq", "empty, and may be read")
