"""What a program outside sees of the running product: its API, its form, its queue, its tables."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import psycopg2
import psycopg2.extras
import pytest

from local.stack import Stack
from tests.flow.papers import large_pdf

TERMINAL = {"completed", "failed", "cancelled"}


@pytest.fixture
def api(stack: Stack, token: str) -> Iterator[httpx.Client]:
    """The JSON API as the default user."""
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=stack.url, headers=headers, timeout=60) as client:
        yield client


@pytest.fixture
def upload(api: httpx.Client) -> Callable[..., dict[str, Any]]:
    """Upload one file as a page import; return the body of the 202."""

    def send(content: bytes, name: str = "memo.txt", kind: str = "imports") -> dict[str, Any]:
        answer = api.post(f"/api/v1/{kind}", files={"file": (name, content)})
        assert answer.status_code == 202, answer.text
        return dict(answer.json())

    return send


@pytest.fixture
def ended(api: httpx.Client) -> Callable[..., dict[str, Any]]:
    """Wait until an import is terminal; return it."""

    def wait(child_id: str, seconds: float = 60, kind: str = "imports") -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while True:
            answer = api.get(f"/api/v1/{kind}/{child_id}")
            assert answer.status_code == 200, answer.text
            if answer.json()["status"] in TERMINAL:
                return dict(answer.json())
            assert time.monotonic() < deadline, answer.text
            time.sleep(0.05)

    return wait


@pytest.fixture
def sql(stack: Stack) -> Iterator[Callable[..., list[dict[str, Any]]]]:
    """Look into the product's database."""
    connection = psycopg2.connect(stack.database_url)
    connection.autocommit = True

    def run(statement: str, params: tuple[Any, ...] = ()) -> list[dict[str, Any]]:
        with connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
            cursor.execute(statement, params)
            return [dict(row) for row in cursor.fetchall()] if cursor.description else []

    yield run
    connection.close()


@pytest.fixture
def sqs(stack: Stack) -> Any:
    """The product's SQS."""
    return _client(stack, "sqs")


@pytest.fixture
def s3(stack: Stack) -> Any:
    """The product's S3."""
    return _client(stack, "s3")


def _client(stack: Stack, service: str) -> Any:
    account = stack.account
    return boto3.client(
        service,
        endpoint_url=account.endpoint_url,
        region_name=account.region,
        aws_access_key_id=account.access_key_id,
        aws_secret_access_key=account.secret_access_key,
    )


@pytest.fixture
def queue_url(sqs: Any) -> str:
    """The queue of page imports."""
    return str(sqs.get_queue_url(QueueName="torikomi_page_import")["QueueUrl"])


@pytest.fixture
def no_worker(stack: Stack) -> Iterator[Callable[[], None]]:
    """Keep the worker stopped; the yielded function lets it work again."""
    stack.pause("worker")
    running = False

    def go_on() -> None:
        nonlocal running
        running = True
        stack.restart("worker")

    yield go_on
    if not running:
        stack.restart("worker")


@pytest.fixture(scope="session")
def ten_megabytes() -> bytes:
    """A PDF of at least 10 MB made of real pages."""
    return large_pdf(10 * 1024 * 1024)


@pytest.fixture
def log_lines(stack: Stack) -> Callable[[str], list[dict[str, Any]]]:
    """Read the log lines of one process."""

    def read(process: str) -> list[dict[str, Any]]:
        path = Path(stack.data_dir) / "logs" / f"{process}.log"
        lines = path.read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    return read
