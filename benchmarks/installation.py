"""The parts of the product that a benchmark runs on, each gone when its block ends."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from pathlib import Path
from types import MappingProxyType

import httpx
import structlog
from pydantic import SecretStr

from jobs import logs
from jobs.settings import LogSettings
from local.postgres import PostgresServer
from local.processes import free_port
from local.provision import access_token
from local.stack import ALL, Stack
from models import database
from models.settings import DatabaseSettings

_NOTHING: Mapping[str, str] = MappingProxyType({})
#: Nobody measures the rate limit here.
_UNLIMITED = {"RATE_LIMIT_REQUESTS": "1000000"}
_ANYBODY = {
    "AWS_ACCESS_KEY_ID": "benchmark",
    "AWS_SECRET_ACCESS_KEY": "benchmark",
    "AWS_DEFAULT_REGION": "ap-northeast-1",
}


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a directory that root's PostgreSQL, running as somebody else, may walk through."""
    with tempfile.TemporaryDirectory(prefix="torikomi-bench-") as name:
        path = Path(name)
        path.chmod(0o711)
        yield path


@contextmanager
def postgres(settings: Mapping[str, str] = _NOTHING) -> Iterator[PostgresServer]:
    """Run the embedded PostgreSQL."""
    with scratch() as directory:
        server = PostgresServer(directory / "pg", settings=settings)
        server.start()
        try:
            yield server
        finally:
            database.database.close_all()
            server.destroy()


def migrated(server: PostgresServer, name: str) -> DatabaseSettings:
    """Make a database with the product's tables and point `models` at it."""
    quiet()
    server.create_database(name)
    settings = point_at(server, name)
    database.migrate()
    return settings


def point_at(server: PostgresServer, name: str) -> DatabaseSettings:
    """Point `models` at a database of the server."""
    settings = DatabaseSettings(
        database_url=SecretStr(server.url(name)), database_statement_timeout_seconds=600
    )
    database.configure(settings)
    return settings


@contextmanager
def stack(processes: Sequence[str] = ALL, given: Mapping[str, str] = _NOTHING) -> Iterator[Stack]:
    """Run the product; `given` are settings of its processes."""
    quiet()
    with scratch() as directory:
        product = Stack(directory / "stack", processes=processes, given={**_UNLIMITED, **given})
        product.start()
        try:
            yield product
        finally:
            product.destroy()


@contextmanager
def stand_in(latency_milliseconds: float) -> Iterator[str]:
    """Run the stand-in for SQS and point boto3 at it; yield its address."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.sqs_stand_in", str(port)]
    process = subprocess.Popen([*command, str(latency_milliseconds)])
    before = dict(os.environ)
    os.environ |= _ANYBODY
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(200):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.05)
        yield address
    finally:
        os.environ.clear()
        os.environ |= before
        process.kill()
        process.wait()


def quiet() -> None:
    """Log errors only, where this process is not what is measured."""
    logs.configure("benchmark", LogSettings(log_level="ERROR"))


@contextmanager
def logging_to_nowhere() -> Iterator[None]:
    """Log in this process as the product does, at INFO as JSON, to /dev/null; then as before."""
    root = logging.getLogger()
    level, handlers, configured = root.level, root.handlers[:], structlog.get_config()
    with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere):
        logs.configure("benchmark", LogSettings())
        try:
            yield
        finally:
            structlog.configure(**configured)
            root.handlers[:] = handlers
            root.setLevel(level)


def client(product: Stack, timeout_seconds: float = 600) -> httpx.Client:
    """Return an HTTP client that is signed in as the stack's first user."""
    token = access_token(product.account, product.provisioned)
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=product.url, headers=headers, timeout=timeout_seconds)


def children_of(pid: int) -> list[int]:
    """Return the processes that a process started and that still run."""
    children = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # a thread that has just ended
            children += [int(child) for child in task.read_text().split()]
    return children


def memory_bytes(pid: int, name: str = "VmRSS") -> int:
    """Return what /proc says about a process: VmRSS now, VmHWM at most since the last reset."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(name)


def forget_peak(pid: int) -> None:
    """Let VmHWM of a process begin anew."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
