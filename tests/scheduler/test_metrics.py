"""What a scheduler tells about itself, the database and the queues."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import boto3
import httpx
import pytest

from jobs.metrics import REGISTRY
from local.processes import free_port
from models import samples, status
from models.states import ImportType
from scheduler.deadletters import DeadLetters
from scheduler.sampler import Sampler
from scheduler.sweeper import Sweeper
from tests.builders import change, register, report

ROOT = Path(__file__).parents[2]


def value(name: str, **labels: str) -> float:
    """Return one sample of this process, 0 when it has none yet."""
    return REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.fixture
def sample(scheduler_settings):
    """Take a sample now."""
    return Sampler(scheduler_settings).sample


def test_the_oldest_pending_item_and_their_number_are_told(sample):
    register()
    _, (child_id,) = register()
    change(
        "UPDATE batch_item SET created_at = now() - interval '200 seconds' WHERE job_id = %s",
        (child_id,),
    )
    sample()
    assert value("import_outbox_pending") == 2
    assert 200 <= value("import_outbox_oldest_age_seconds") < 260
    assert value("import_children", state="queued") == 2


def test_a_sent_item_waits_in_the_queue_and_is_stuck_when_the_queue_is_empty(
    sample, dispatcher, scheduler_settings, queue
):
    _, (child_id,) = register()
    dispatcher.dispatch_due()
    change(
        "UPDATE batch_item SET dispatched_at = now() - interval '2 hours' WHERE job_id = %s",
        (child_id,),
    )
    status.put("queue:page_import", "queue", {"visible": 1, "in_flight": 0, "dead": 0})
    sample()
    assert value("import_outbox_pending") == 0
    assert 7200 <= value("import_queue_oldest_age_seconds", queue="page_import") < 7300
    assert value("import_stuck", state="queued") == 0, "it waits behind others"

    status.put("queue:page_import", "queue", {"visible": 0, "in_flight": 0, "dead": 3})
    sample()
    assert value("import_stuck", state="queued") == 1
    assert value("import_queue_dead", queue="page_import") == 3


def test_a_running_import_in_silence_is_stuck(sample):
    _, (child_id,) = register()
    report(child_id, "processing")
    sample()
    assert value("import_children", state="processing") == 1
    assert value("import_stuck", state="processing") == 0
    change(
        "UPDATE page_import SET last_report_at = now() - interval '1 hour' WHERE id = %s",
        (child_id,),
    )
    sample()
    assert value("import_stuck", state="processing") == 1


def test_a_completion_without_its_result_is_told(sample):
    _, (child_id,) = register()
    sample()
    assert value("import_completed_without_result") == 0
    change(
        "UPDATE page_import SET status = 'completed', page_count = 2, last_report_at = now(),"
        " completed_at = now() WHERE id = %s",
        (child_id,),
    )
    sample()
    assert value("import_completed_without_result") == 1


def test_dispatch_counts_what_sqs_took_and_what_it_refused(dispatcher, queue):
    accepted = value("import_dispatch_attempts_total", outcome="accepted")
    failures = value("import_enqueue_failures_total", reason="RequestThrottled")
    register()
    dispatcher.dispatch_due()
    assert value("import_dispatch_attempts_total", outcome="accepted") == accepted + 1

    queue.down = "RequestThrottled"
    register()
    dispatcher.dispatch_due()
    assert value("import_enqueue_failures_total", reason="RequestThrottled") == failures + 1


def test_the_age_of_a_letter_that_stays_in_the_dead_letter_queue_is_told(
    sample, queue, aws, scheduler_settings
):
    client = boto3.client("sqs")
    url = client.get_queue_url(QueueName="torikomi_page_import_dlq")["QueueUrl"]
    client.send_message(QueueUrl=url, MessageBody="not one of ours")
    letters = DeadLetters(queue, None)
    deadline = time.monotonic() + 30
    while not letters.settle_some(ImportType.PAGE_IMPORT):
        assert time.monotonic() < deadline, "the letter does not come"
        time.sleep(0.2)
    first = samples.dead_letter_ages()["page_import"]
    sample()
    assert first <= value("import_queue_dead_oldest_age_seconds", queue="page_import") < 60
    change(
        "UPDATE process_status SET data = data || '{\"seen_at\": 0}' WHERE kind = 'dead_letters'"
    )
    sample()
    assert value("import_queue_dead_oldest_age_seconds", queue="page_import") == 0


def test_the_sweeper_counts_what_it_does(queue, scheduler_settings):
    before = value("import_sweeper_actions_total", action="silent_new_run")
    _, (child_id,) = register()
    report(child_id, "processing")
    change(
        "UPDATE page_import SET last_report_at = now() - interval '2 hours' WHERE id = %s",
        (child_id,),
    )
    Sweeper(queue, scheduler_settings).sweep()
    assert value("import_sweeper_actions_total", action="silent_new_run") == before + 1


def test_the_process_tells_metrics_heartbeat_file_and_systemd_that_it_lives(
    database, queue, tmp_path
):
    port, heartbeat = free_port(), tmp_path / "heartbeat"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(60)
        env = {
            **os.environ,
            "DATABASE_URL": database,
            "SCHEDULER_METRICS_PORT": str(port),
            "SAMPLE_PERIOD_SECONDS": "0.5",
            "HEARTBEAT_FILE": str(heartbeat),
            "NOTIFY_SOCKET": str(tmp_path / "notify"),
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "scheduler"], cwd=ROOT, env=env, stderr=subprocess.DEVNULL
        )
        try:
            assert systemd.recv(100) == b"READY=1"
            assert systemd.recv(100) == b"WATCHDOG=1"
            text = wait_for_metric(port, 'last_success_timestamp_seconds{tick="sample"}')
            assert heartbeat.exists()
            assert httpx.get(f"http://127.0.0.1:{port}/livez").text == "ok\n"
            assert "import_outbox_oldest_age_seconds 0.0" in text
            assert "process_resident_memory_bytes" in text
            assert httpx.get(f"http://127.0.0.1:{port}/other").status_code == 404
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.wait()
    assert not heartbeat.exists(), "who is gone is not alive"


def wait_for_metric(port: int, text: str) -> str:
    """Scrape until the answer has the text."""
    deadline = time.monotonic() + 60
    while True:
        try:
            answer = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=30)
            if text in answer.text:
                return answer.text
        except httpx.HTTPError:
            pass
        assert time.monotonic() < deadline, f"{text} is not told"
        time.sleep(0.2)
