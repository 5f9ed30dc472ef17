"""What the web process counts, and the listener that tells it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from flask.testing import FlaskClient
from prometheus_client.parser import text_string_to_metric_families

from jobs.metrics import REGISTRY
from local.processes import free_port
from tests.web.conftest import CLIENT_ID, ISSUER, WEBHOOK_SECRETS, Issuer, Person

ROOT = Path(__file__).resolve().parents[2]


def value(name: str, **labels: str) -> float:
    """Return one sample of this process, 0 when it has none yet."""
    return REGISTRY.get_sample_value(name, labels) or 0.0


def read(port: int) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Scrape a listener: sample name and labels → value."""
    answer = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=30, trust_env=False)
    assert answer.status_code == 200
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_an_upload_is_counted_by_channel_and_end(client: FlaskClient, person: Person) -> None:
    def counts() -> list[float]:
        name = "import_upload_requests_total"
        outcomes = ("accepted", "refused", "failed")
        return [value(name, channel="api", outcome=outcome) for outcome in outcomes]

    before = counts()
    size_before = value("import_upload_size_bytes_sum")
    stored_before = value("import_storage_operations_total", op="put_object", outcome="ok")
    client.post("/api/v1/imports?filename=a.txt", data=b"four", headers=person.headers)
    client.post("/api/v1/imports?filename=a.txt", data=b"", headers=person.headers)

    assert [now - then for now, then in zip(counts(), before, strict=True)] == [1, 1, 0]
    assert value("import_upload_size_bytes_sum") - size_before == 4
    stored = value("import_storage_operations_total", op="put_object", outcome="ok")
    assert stored - stored_before == 1


def test_a_report_without_a_good_signature_is_counted_by_what_is_wrong(
    client: FlaskClient,
) -> None:
    name = "import_webhook_signature_failures_total"
    before = {reason: value(name, reason=reason) for reason in ("header", "clock", "signature")}
    now = str(int(time.time()))
    for timestamp, signature in (("1", "v1,AAAA"), (now, "v1,AAAA")):
        headers = {
            "webhook-id": "msg_1",
            "webhook-timestamp": timestamp,
            "webhook-signature": signature,
        }
        assert client.post("/webhooks/page_import", data=b"{}", headers=headers).status_code == 401
    client.post("/webhooks/page_import", data=b"{}")

    after = {reason: value(name, reason=reason) - before[reason] for reason in before}
    assert after == {"header": 1, "clock": 1, "signature": 1}


def test_cancelled_imports_are_counted_one_by_one(client: FlaskClient, person: Person) -> None:
    before = value("import_terminal_total", state="cancelled", reason="")
    url = "/api/v1/imports?filename=a.txt"
    made = client.post(url, data=b"x", headers=person.headers).json
    client.post(f"/api/v1/imports/{made['import_id']}/cancel", headers=person.headers)
    batch = client.post(url, data=b"y", headers=person.headers).json["batch_id"]
    client.delete(f"/api/v1/batches/{batch}", headers=person.headers)
    client.delete(f"/api/v1/batches/{batch}", headers=person.headers)

    assert value("import_terminal_total", state="cancelled", reason="") == before + 2


def test_no_public_path_tells_the_metrics(client: FlaskClient) -> None:
    assert client.get("/metrics").status_code == 404


def test_no_label_names_an_import_a_person_or_a_file() -> None:
    labels = {
        label
        for family in REGISTRY.collect()
        for sample in family.samples
        for label in sample.labels
    }
    assert labels <= {
        *("channel", "outcome", "op", "reason", "state", "kind", "status", "event", "result"),
        *("le", "queue", "tick", "action", "class", "limit", "trouble"),
    }


@pytest.fixture
def serve(
    database: str, aws: Any, issuer: Issuer, tmp_path: Path
) -> Iterator[Callable[..., tuple[subprocess.Popen[bytes], dict[str, str]]]]:
    """Run the Procfile's own web process with some settings more."""
    started = []

    def start(**more: str) -> tuple[subprocess.Popen[bytes], dict[str, str]]:
        line = next(
            text.removeprefix("web: ")
            for text in (ROOT / "Procfile").read_text("utf-8").splitlines()
            if text.startswith("web: ")
        )
        env = {
            **os.environ,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "DATABASE_URL": database,
            "PORT": str(free_port()),
            "WEB_METRICS_PORT": str(free_port()),
            "BIND_HOST": "127.0.0.1",
            "COGNITO_ISSUER": ISSUER,
            "COGNITO_JWKS_URL": issuer.url,
            "COGNITO_CLIENT_ID": CLIENT_ID,
            "SESSION_SECRET": "s" * 48,
            "WEBHOOK_SECRETS": WEBHOOK_SECRETS,
            "SECURE_COOKIES": "0",
            "TMPDIR": str(tmp_path),
            **more,
        }
        log = (tmp_path / "web.log").open("wb")
        process = subprocess.Popen(
            ["/bin/sh", "-c", line], cwd=ROOT, env=env, stdout=log, stderr=log
        )
        started.append((process, log))
        wait_for(f"http://127.0.0.1:{env['PORT']}/livez")
        return process, env

    yield start
    for process, log in started:
        process.terminate()
        process.wait(60)
        log.close()


def wait_for(url: str) -> None:
    """Wait until a URL answers 200."""
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            assert time.monotonic() < deadline, f"{url} does not answer"
            time.sleep(0.1)


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """Return gunicorn's worker processes."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(child) for child in children]


def test_two_web_processes_tell_one_sum_also_when_the_teller_dies(
    serve: Any, person: Person, tmp_path: Path
) -> None:
    process, env = serve(WEB_CONCURRENCY="2")
    wait_for(f"http://127.0.0.1:{env['WEB_METRICS_PORT']}/livez")
    key = ("import_upload_requests_total", (("channel", "api"), ("outcome", "accepted")))
    url = f"http://127.0.0.1:{env['PORT']}/api/v1/imports?filename=a.txt"
    for _ in range(12):  # each on a connection of its own: both processes get some
        assert httpx.post(url, content=b"x", headers=person.headers).status_code == 202

    assert read(int(env["WEB_METRICS_PORT"]))[key] == 12
    assert len({path.name for path in tmp_path.glob("torikomi-web-*/counter_*.db")}) >= 2

    for worker in workers_of(process):
        os.kill(worker, signal.SIGKILL)
    wait_for(f"http://127.0.0.1:{env['WEB_METRICS_PORT']}/livez")
    assert read(int(env["WEB_METRICS_PORT"]))[key] == 12, "what dead processes counted stays"

    process.terminate()
    process.wait(60)
    assert not list(tmp_path.glob("torikomi-web-*")), "and goes with the whole"


def test_a_taken_port_hurts_nobody_and_is_taken_over(serve: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        _, env = serve(WEB_METRICS_PORT=str(port))
        assert httpx.get(f"http://127.0.0.1:{env['PORT']}/livez").status_code == 200

    wait_for(f"http://127.0.0.1:{port}/livez")
    assert ("import_jwks_refresh_total", (("outcome", "ok"),)) in read(port)
