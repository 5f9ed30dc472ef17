"""A worker starts only as it should, and a stalled one goes."""

import subprocess
import sys
import threading
import time

from jobs.settings import WorkerSettings
from jobs.worker.broker import LeasedBroker
from jobs.worker.gate import Gate
from jobs.worker.watchdog import Watchdog
from tests.jobs.conftest import ROOT, SECRET, eventually


def refusal(worker) -> str:
    assert worker.process.wait(20) == 1, worker.log_path.read_text()
    (entry,) = [e for e in worker.log() if e["event"] == "worker_refused_to_start"]
    return entry["reason"]


def test_a_worker_that_could_reach_postgresql_refuses_to_start(workers):
    worker = workers.launch(DATABASE_URL="postgresql://canary:pw@db/x")

    assert "DATABASE_URL" in refusal(worker)
    assert "canary" not in worker.log_path.read_text()


def test_a_worker_names_the_settings_that_are_missing_or_wrong(workers):
    worker = workers.launch(WEBHOOK_SECRETS="whsec_c2hvcnQ=", WORKER_THREADS="0")

    assert (
        refusal(worker) == "these settings are missing or wrong: WEBHOOK_SECRETS, WORKER_THREADS."
    )
    assert "c2hvcnQ" not in worker.log_path.read_text()


def test_a_worker_refuses_queues_that_it_does_not_know(workers):
    assert "page_exports" in refusal(workers.launch(WORKER_QUEUES="page_exports"))


def test_a_worker_refuses_to_start_without_its_queue_and_creates_none(workers, account):
    worker = workers.launch(QUEUE_NAMESPACE="nowhere")

    assert refusal(worker) == "The queue nowhere_page_import does not exist."
    assert account.sqs.list_queues(QueueNamePrefix="nowhere").get("QueueUrls", []) == []


def test_a_worker_waits_for_an_sqs_that_does_not_answer_and_can_be_stopped(workers):
    worker = workers.launch(AWS_ENDPOINT_URL="http://127.0.0.1:9")

    worker.wait_for("queue_unavailable", seconds=20)
    assert worker.stop() == 0


def test_a_worker_without_a_place_for_temporary_files_refuses_to_start(workers, tmp_path):
    reason = refusal(workers.launch(WORKER_TEMP_DIR=str(tmp_path / "nowhere")))

    assert "WORKER_TEMP_DIR" in reason


def test_a_worker_whose_parsers_do_not_load_refuses_to_start(workers):
    worker = workers.launch(parsers="tests.jobs.no_such_parsers")

    assert refusal(worker) == "the parsing helper ended while starting"


def test_the_walls_that_are_up_are_logged_at_the_start(workers):
    worker = workers.start()

    (tested,) = [e for e in worker.log() if e["event"] == "sandbox_tested"]
    assert {"rlimits", "seccomp"} <= set(tested["walls"])


def test_a_worker_process_holds_neither_a_driver_nor_a_web_framework():
    code = (
        "import sys; import jobs.worker.boot, jobs.worker.helper, jobs.parsing;"
        "print(sorted({'peewee', 'psycopg2', 'flask', 'apscheduler', 'models', 'web'}"
        " & set(sys.modules)))"
    )

    found = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert found.stdout.strip() == "[]"
    assert not [name for name in WorkerSettings.model_fields if "database" in name]


def test_messages_that_wait_while_nothing_is_taken_call_the_supervisor(account):
    settings = WorkerSettings(
        aws_endpoint_url=account.endpoint_url,
        aws_region=account.region,
        queue_namespace=account.namespace,
        webhook_secrets=SECRET,
        web_url="http://127.0.0.1:9",
    )
    gate = Gate()
    broker = LeasedBroker(settings, gate, threading.Event())
    consumer = broker.open_queue("page_import")
    stalls: list[float] = []
    watchdog = Watchdog(
        [consumer], broker.leases, gate, lambda: stalls.append(time.monotonic()), after_seconds=0.5
    )
    watchdog.start()
    time.sleep(1.5)
    assert stalls == [], "an empty queue is no stall"

    account.send_body("anything")

    eventually(lambda: stalls)
    watchdog.stop()
