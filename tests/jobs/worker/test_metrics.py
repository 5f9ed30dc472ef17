"""What a worker tells about itself."""

from __future__ import annotations

import re
import socket
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.registry import Collector

from jobs.health import Health
from jobs.listener import Listener
from jobs.metrics import REGISTRY, reason
from jobs.settings import MetricsSettings
from jobs.worker import metrics
from jobs.worker.errors import LeaveMessage
from jobs.worker.gate import Gate
from local.processes import free_port

ROOT = Path(__file__).resolve().parents[3]


def value(name: str, **labels: str) -> float:
    """Return one sample of this process, 0 when it has none yet."""
    return REGISTRY.get_sample_value(name, labels) or 0.0


def test_a_bad_file_is_counted_by_its_code_and_a_killed_parser_by_its_limit() -> None:
    failures = value("import_worker_failures_total", **{"class": "parse_memory"})
    killed = value("import_parser_killed_total", limit="memory")
    metrics.note_failure("parse_memory")
    assert value("import_worker_failures_total", **{"class": "parse_memory"}) == failures + 1
    assert value("import_parser_killed_total", limit="memory") == killed + 1


def test_a_parser_that_invents_codes_makes_no_series_without_end() -> None:
    for number in range(200):
        metrics.note_failure(f"invented_{number}")
    classes = {
        sample.labels["class"]
        for family in REGISTRY.collect()
        for sample in family.samples
        if sample.name == "import_worker_failures_total"
    }
    assert "other" in classes
    assert classes <= {*metrics.CLASSES, "other"}


def test_every_failure_that_the_worker_names_has_a_class_of_its_own() -> None:
    named = set()
    for path in (ROOT / "jobs" / "worker").glob("*.py"):
        text = path.read_text("utf-8")
        named |= set(re.findall(r'(?:Verdict|ParseFailure|note_failure)\(\s*"(\w+)"', text))
    assert len(named) > 8
    assert named <= metrics.CLASSES


def test_only_a_word_of_an_error_text_becomes_a_label() -> None:
    assert reason("AWS.SimpleQueueService.NonExistentQueue") == (
        "AWS.SimpleQueueService.NonExistentQueue"
    )
    assert reason("0198c9a2-import") == "other"
    assert len(reason("x" * 500)) <= 48


def test_work_is_timed_and_counted_as_done_or_left() -> None:
    def work(message: object, receive_count: int) -> None:
        if receive_count > 1:
            raise LeaveMessage("again")

    name = "import_worker_deliveries_total"
    done = value(name, kind="code2des", outcome="done")
    left = value(name, kind="code2des", outcome="left")
    run = metrics.counted(work, "code2des")
    run({}, 1)
    with pytest.raises(LeaveMessage):
        run({}, 2)
    assert value(name, kind="code2des", outcome="done") == done + 1
    assert value(name, kind="code2des", outcome="left") == left + 1


def test_only_the_first_receive_tells_how_long_a_message_waited() -> None:
    before = value("import_queue_wait_seconds_count", kind="page_import")
    metrics.note_receive("page_import", 1, time.time() - 3)
    metrics.note_receive("page_import", 2, time.time() - 300)
    metrics.note_receive("page_import", 1, None)
    assert value("import_queue_wait_seconds_count", kind="page_import") == before + 1


def test_a_closed_gate_is_told() -> None:
    gate = Gate()
    gate.close("storage", 60)
    assert value("import_worker_gate_closed", trouble="storage") == 1
    gate.open("storage")
    assert value("import_worker_gate_closed", trouble="storage") == 0


def get(url: str) -> httpx.Response:
    """Ask until somebody answers."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return httpx.get(url, timeout=30)
        except httpx.HTTPError:
            assert time.monotonic() < deadline, f"{url} does not answer"
            time.sleep(0.05)


class Broken(Collector):
    """A collector with a fault."""

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> list[Metric]:
        raise RuntimeError("told to")


def test_a_fault_while_scraping_costs_that_scrape_and_nothing_else() -> None:
    port = free_port()
    registry = CollectorRegistry()
    registry.register(Broken())
    listener = Listener("127.0.0.1", port, registry)
    listener.start()
    try:
        assert get(f"http://127.0.0.1:{port}/metrics").status_code == 500
        with socket.create_connection(("127.0.0.1", port)) as rude:
            rude.sendall(b"\x00\xff garbage\r\n")
        assert get(f"http://127.0.0.1:{port}/livez").text == "ok\n"
    finally:
        listener.stop()


def test_a_worker_in_trouble_says_so_and_its_heartbeat_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.health.BEAT_SECONDS", 0.05)
    port, heartbeat = free_port(), tmp_path / "heartbeat"
    troubles = ["nobody has looked at page_import for 300 s"]
    settings = MetricsSettings(heartbeat_file=heartbeat)
    health = Health(settings, port, lambda: troubles[0] if troubles else None)
    health.start()
    try:
        answer = get(f"http://127.0.0.1:{port}/livez")
        assert (answer.status_code, answer.text) == (503, f"{troubles[0]}\n")
        assert not heartbeat.exists()
        troubles.clear()
        deadline = time.monotonic() + 30
        while not heartbeat.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert get(f"http://127.0.0.1:{port}/livez").status_code == 200
    finally:
        health.stop()
    assert not heartbeat.exists()


def test_a_worker_that_waits_for_sqs_is_alive(workers: Any) -> None:
    port = free_port()
    worker = workers.launch(AWS_ENDPOINT_URL="http://127.0.0.1:9", WORKER_METRICS_PORT=str(port))

    worker.wait_for("queue_unavailable", seconds=60)
    assert get(f"http://127.0.0.1:{port}/livez").text == "ok\n"
    text = get(f"http://127.0.0.1:{port}/metrics").text
    assert 'import_worker_held_messages{queue="page_import"} 0.0' in text
    assert "import_worker_temp_free_bytes" in text
    assert worker.stop() == 0
