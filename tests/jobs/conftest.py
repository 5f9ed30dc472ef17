"""Real queues and objects, a real worker process, and doubles for what is not under test."""

import base64
import io
import json
import os
import secrets
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest

from jobs.messages import JobMessage, encode_message
from jobs.settings import QueueSettings, StorageSettings
from jobs.storage import Storage
from tests.jobs.web_double import FaultyWay, WebDouble, faulty_way, web_double

ROOT = Path(__file__).resolve().parents[2]
SECRET = "whsec_" + base64.b64encode(b"a secret that only tests know!!!").decode()

#: A worker in a hurry: everything that takes minutes in earnest takes a second.
QUICK = {
    "WORKER_QUEUES": "page_import",
    "VISIBILITY_SECONDS": "3",
    "HEARTBEAT_SECONDS": "1",
    "BACKOFF_SECONDS": "1,1,1,1",
    "LONG_POLL_SECONDS": "1",
    "PROGRESS_SECONDS": "0.3",
    "PROBE_SECONDS": "0.2",
    "UNKNOWN_IMPORT_SECONDS": "0.5",
    "PARSE_CPU_SECONDS": "5",
    "PARSE_WALL_SECONDS": "60",
    "PARSE_MEMORY_BYTES": str(512 << 20),
    "PARSE_OUTPUT_BYTES": str(8 << 20),
}


def eventually(check: Callable[[], Any], seconds: float = 15) -> Any:
    """Return the first true value of `check` within the time; fail otherwise."""
    deadline = time.monotonic() + seconds
    while True:
        value = check()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds} s: {value!r}"
        time.sleep(0.05)


@dataclass
class Account:
    """Queues of this test alone, the shared bucket, and how to fill them."""

    endpoint_url: str
    region: str
    namespace: str
    storage: Storage
    sqs: Any

    @property
    def queue_settings(self) -> QueueSettings:
        return QueueSettings(
            aws_endpoint_url=self.endpoint_url,
            aws_region=self.region,
            queue_namespace=self.namespace,
        )

    def url(self, name: str = "page_import") -> str:
        return str(self.sqs.get_queue_url(QueueName=f"{self.namespace}_{name}")["QueueUrl"])

    def store(self, content: bytes, type_name: str = "page_import") -> JobMessage:
        """Store a source and return the message that names it; nothing is sent."""
        import_id = str(uuid.uuid4())
        stored = self.storage.put_source(
            import_id, io.BytesIO(content), file_name="名前.txt", content_type="text/plain"
        )
        return JobMessage(
            import_id=import_id,
            type=type_name,
            bucket=stored.bucket,
            object_key=stored.key,
            object_version=stored.version,
            content_type="text/plain",
            size_bytes=stored.size_bytes,
            sha256=stored.sha256,
            created_at="2026-11-30T00:00:00+00:00",
        )

    def send(self, message: JobMessage) -> str:
        self.send_body(encode_message(message))
        return message.import_id

    def send_body(self, body: str, name: str = "page_import") -> None:
        self.sqs.send_message(QueueUrl=self.url(name), MessageBody=body)

    def submit(self, command: str) -> str:
        """Store a file with a command for the hostile parsers and send its message."""
        return self.send(self.store(command.encode()))

    def count(self, name: str = "page_import") -> int:
        """How many messages a queue holds, visible or not."""
        attributes = self.sqs.get_queue_attributes(QueueUrl=self.url(name), AttributeNames=["All"])[
            "Attributes"
        ]
        return sum(
            int(attributes[f"ApproximateNumberOfMessages{kind}"])
            for kind in ("", "NotVisible", "Delayed")
        )

    def visible(self) -> int:
        attributes = self.sqs.get_queue_attributes(QueueUrl=self.url(), AttributeNames=["All"])
        return int(attributes["Attributes"]["ApproximateNumberOfMessages"])


@pytest.fixture(scope="session")
def storage(aws: Any) -> Storage:
    """The bucket of the session's emulator."""
    return Storage(
        StorageSettings(aws_endpoint_url=aws.endpoint_url, aws_region=aws.account.region)
    )


@pytest.fixture(scope="session")
def sqs(aws: Any) -> Any:
    """A plain client of the session's emulator."""
    return boto3.client("sqs", endpoint_url=aws.endpoint_url, region_name=aws.account.region)


@pytest.fixture
def account(aws: Any, storage: Storage, sqs: Any) -> Account:
    """Fresh queues with redrive after six receives, in the emulator of the session."""
    return make_account(aws, storage, sqs)


def make_account(aws: Any, storage: Storage, sqs: Any) -> Account:
    namespace = f"jobs-{secrets.token_hex(4)}"
    dead = sqs.create_queue(QueueName=f"{namespace}_page_import_dlq")["QueueUrl"]
    answer = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])
    redrive = {"deadLetterTargetArn": answer["Attributes"]["QueueArn"], "maxReceiveCount": "6"}
    sqs.create_queue(
        QueueName=f"{namespace}_page_import", Attributes={"RedrivePolicy": json.dumps(redrive)}
    )
    return Account(aws.endpoint_url, aws.account.region, namespace, storage, sqs)


@pytest.fixture
def web() -> Iterator[WebDouble]:
    """The web, as a double that records and fails on demand."""
    with make_web() as double:
        yield double


def make_web() -> AbstractContextManager[WebDouble]:
    return web_double([base64.b64decode(SECRET.removeprefix("whsec_"))])


@pytest.fixture
def way(account: Account) -> Iterator[FaultyWay]:
    """A way to AWS that fails on demand."""
    with faulty_way(account.endpoint_url) as faulty:
        yield faulty


@dataclass
class WorkerProcess:
    """One real worker process in its own process group, and its log."""

    process: subprocess.Popen[bytes]
    log_path: Path
    temp_dir: Path

    def log(self) -> list[dict[str, Any]]:
        lines = self.log_path.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def events(self, import_id: str | None = None) -> list[str]:
        return [
            entry["event"]
            for entry in self.log()
            if import_id is None or entry.get("import_id") == import_id
        ]

    def wait_for(self, event: str, seconds: float = 15) -> None:
        eventually(lambda: event in self.events(), seconds)

    def signal_group(self, number: int) -> None:
        os.killpg(self.process.pid, number)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


@dataclass
class Workers:
    """Starts workers against one account and one web."""

    environment: dict[str, str]
    directory: Path
    started: list[WorkerProcess] = field(default_factory=list)

    def start(self, *, parsers: str = "tests.jobs.hostile", **settings: str) -> WorkerProcess:
        """Start a worker and wait until it works."""
        worker = self.launch(parsers=parsers, **settings)
        eventually(lambda: "worker_started" in worker.events() or worker.process.poll() is not None)
        assert "worker_started" in worker.events(), worker.log_path.read_text()
        return worker

    def launch(self, *, parsers: str = "tests.jobs.hostile", **settings: str) -> WorkerProcess:
        """Start a worker and return at once."""
        log_path = self.directory / f"worker-{len(self.started)}.log"
        code = f"import sys; from jobs.worker.boot import main; sys.exit(main({parsers!r}))"
        with log_path.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", code],
                cwd=ROOT,
                env={**self.environment, **settings},
                stderr=log,
                stdout=log,
                start_new_session=True,
            )
        temp_dir = Path(settings.get("WORKER_TEMP_DIR", self.environment["WORKER_TEMP_DIR"]))
        self.started.append(WorkerProcess(process, log_path, temp_dir))
        return self.started[-1]


@pytest.fixture
def workers(account: Account, web: WebDouble, tmp_path: Path) -> Iterator[Workers]:
    """Start real worker processes; whatever still runs is killed afterwards."""
    with make_workers(account, web, tmp_path) as made:
        yield made


@contextmanager
def make_workers(account: Account, web: WebDouble, directory: Path) -> Iterator[Workers]:
    temp_dir = directory / "work"
    temp_dir.mkdir()
    environment = {
        **QUICK,
        "PATH": os.environ["PATH"],
        "WEB_URL": web.url,
        "WEBHOOK_SECRETS": SECRET,
        "AWS_ENDPOINT_URL": account.endpoint_url,
        "AWS_REGION": account.region,
        "AWS_DEFAULT_REGION": account.region,
        "AWS_ACCESS_KEY_ID": "torikomi",
        "AWS_SECRET_ACCESS_KEY": "aws-canary-secret",
        "AWS_EC2_METADATA_DISABLED": "true",
        "QUEUE_NAMESPACE": account.namespace,
        "WORKER_TEMP_DIR": str(temp_dir),
    }
    made = Workers(environment, directory)
    yield made
    for worker in made.started:
        if worker.process.poll() is None:
            worker.process.kill()
        worker.process.wait()
        log = worker.log_path.read_text()
        assert SECRET not in log
        assert environment["AWS_SECRET_ACCESS_KEY"] not in log


@dataclass
class Room:
    """One running worker with its queues and its web."""

    account: Account
    web: WebDouble
    worker: WorkerProcess


@pytest.fixture(scope="session")
def room(
    aws: Any, storage: Storage, sqs: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Room]:
    """One worker for all tests that look at their own import only."""
    account = make_account(aws, storage, sqs)
    with make_web() as web, make_workers(account, web, tmp_path_factory.mktemp("room")) as made:
        yield Room(account, web, made.start())
