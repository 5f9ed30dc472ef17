"""Lost work comes back, dead letters get a verdict, unknown ones stay."""

import base64
import json
from pathlib import Path

import boto3
import pytest

from jobs.messages import JobMessage, encode_message
from jobs.results import pack_result
from jobs.settings import StorageSettings
from jobs.storage import Storage
from models import outbox
from scheduler.deadletters import DeadLetters
from scheduler.sweeper import Sweeper
from tests.builders import (
    change,
    child,
    event_names,
    item_of,
    register,
    report,
    rows,
    start_new_run,
)


@pytest.fixture
def sweeper(queue, scheduler_settings):
    return Sweeper(queue, scheduler_settings)


def dispatched(child_id: str, minutes_ago: int) -> None:
    """Pretend that the message was sent and then lost."""
    (claim,) = outbox.claim(10)
    outbox.mark_dispatched([claim.fence])
    change(
        "UPDATE batch_item SET dispatched_at = dispatched_at - %s * interval '1 minute'",
        (minutes_ago,),
    )


def test_a_message_lost_from_an_empty_queue_is_sent_again_after_a_minute(sweeper):
    _, (child_id,) = register()
    dispatched(child_id, minutes_ago=0)
    assert sweeper.sweep() == 0
    change("UPDATE batch_item SET dispatched_at = dispatched_at - interval '61 seconds'")
    assert sweeper.sweep() == 1
    assert child(child_id)["run"] == 2
    assert item_of(child_id)["dispatched_at"] is None


def test_a_deep_backlog_is_no_loss(sweeper, dispatcher):
    _, (child_id,) = register()
    dispatcher.dispatch_due()
    change("UPDATE batch_item SET dispatched_at = dispatched_at - interval '30 minutes'")
    assert sweeper.sweep() == 0
    assert child(child_id)["run"] == 1


def test_a_running_import_without_a_report_for_an_hour_starts_anew(sweeper):
    _, (child_id,) = register()
    report(child_id, "processing", run=None)
    assert sweeper.sweep() == 0
    change("UPDATE page_import SET last_report_at = last_report_at - interval '61 minutes'")
    assert sweeper.sweep() == 1
    assert event_names(child_id)[-1] == "new_run"


def test_three_sweepers_at_once_start_one_new_run(queue, scheduler_settings):
    from concurrent.futures import ThreadPoolExecutor

    _, ids = register(20)
    for child_id in ids:
        report(child_id, "processing", run=None)
    change("UPDATE page_import SET last_report_at = last_report_at - interval '61 minutes'")
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: Sweeper(queue, scheduler_settings).sweep(), range(3)))
    assert rows("SELECT DISTINCT run FROM page_import") == [{"run": 2}]


def test_queue_depths_are_sampled_for_operators(sweeper, dispatcher):
    register(3)
    dispatcher.dispatch_due()
    sweeper.sweep()
    (row,) = rows("SELECT data FROM process_status WHERE name = 'queue:page_import'")
    assert row["data"]["visible"] == 3


def send_dead(body: str) -> None:
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName="torikomi_page_import_dlq")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody=body)


def dead_count() -> int:
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName="torikomi_page_import_dlq")["QueueUrl"]
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(found[name]) for name in names)


def test_a_dead_letter_of_an_interrupted_import_starts_a_new_run_and_goes(queue):
    _, (child_id,) = register()
    report(child_id, "processing", run=None)
    send_dead(encode_message(JobMessage.from_json(item_of(child_id)["message"])))
    assert DeadLetters(queue, Storage(StorageSettings())).drain() == 1
    assert (child(child_id)["status"], child(child_id)["run"]) == ("queued", 2)
    assert dead_count() == 0


def store_result(child_id: str, directory: Path, type: str = "page_import") -> None:
    """Store a result as a worker does before its last report."""
    document = {"schema": 1, "type": type, "detected_type": "text", "page_count": 1}
    page = {"number": 1, "text": "頁", "markdown": "頁", "tables": [], "warnings": []}
    lines = directory / "lines"
    lines.write_text(json.dumps({"document": document}) + "\n" + json.dumps({"page": page}) + "\n")
    pack_result(lines, directory / "packed")
    Storage(StorageSettings()).put_result(child_id, "1", directory / "packed")


def test_a_dead_letter_whose_result_was_stored_completes_its_import(queue, tmp_path):
    _, (child_id,) = register()
    report(child_id, "processing", run=None)
    store_result(child_id, tmp_path)
    send_dead(encode_message(JobMessage.from_json(item_of(child_id)["message"])))
    assert DeadLetters(queue, Storage(StorageSettings())).drain() == 1
    assert (child(child_id)["status"], child(child_id)["page_count"]) == ("completed", 1)
    assert dead_count() == 0


def test_a_stored_result_of_another_kind_is_not_applied(queue, tmp_path):
    _, (child_id,) = register()
    report(child_id, "processing", run=None)
    store_result(child_id, tmp_path, type="code2des")
    send_dead(encode_message(JobMessage.from_json(item_of(child_id)["message"])))
    DeadLetters(queue, Storage(StorageSettings())).drain()
    assert (child(child_id)["status"], child(child_id)["run"]) == ("queued", 2)


def test_a_dead_letter_after_the_third_run_fails_the_import(queue):
    _, (child_id,) = register()
    while start_new_run(child_id) == "new_run" and child(child_id)["run"] < 4:
        pass
    report(child_id, "processing", run=None)
    send_dead(encode_message(JobMessage.from_json(item_of(child_id)["message"])))
    DeadLetters(queue, Storage(StorageSettings())).drain()
    assert child(child_id)["error_code"] == "dead_lettered"


def test_a_dead_letter_of_a_settled_import_just_goes(queue):
    _, (child_id,) = register()
    report(child_id, "completed")
    send_dead(encode_message(JobMessage.from_json(item_of(child_id)["message"])))
    assert DeadLetters(queue, Storage(StorageSettings())).drain() == 1
    assert child(child_id)["status"] == "completed"
    assert dead_count() == 0


@pytest.mark.parametrize(
    "body",
    ["not base64 \u8a2d", base64.b64encode(b"{}").decode(), base64.b64encode(b"[1]").decode()],
)
def test_an_undecodable_dead_letter_stays(queue, database, body):
    send_dead(body)
    assert DeadLetters(queue, Storage(StorageSettings())).drain() == 0
    assert dead_count() == 1


def test_a_dead_letter_of_an_unknown_import_stays(queue):
    _, (child_id,) = register()
    message = item_of(child_id)["message"] | {"import_id": "01a22d6b-50f3-764f-a94b-c4fec0864ceb"}
    send_dead(encode_message(JobMessage.from_json(json.loads(json.dumps(message)))))
    assert DeadLetters(queue, Storage(StorageSettings())).drain() == 0
    assert dead_count() == 1


def test_nothing_waits_longer_than_a_day_after_its_queue_last_moved(sweeper):
    _, (sent, unsent) = register(2)
    change("UPDATE batch_item SET dispatched_at = now() WHERE job_id = %s", (sent,))
    change("UPDATE page_import SET updated_at = updated_at - interval '25 hours'")
    sweeper.sweep()
    assert child(sent)["status"] == child(unsent)["status"] == "queued"
    change("UPDATE process_status SET seen_at = seen_at - interval '25 hours'")
    assert sweeper.sweep() == 2
    assert child(sent)["error_code"] == child(unsent)["error_code"] == "expired"
    assert item_of(unsent)["error_message"] is not None


def test_a_queue_that_moves_expires_nothing(sweeper):
    _, (old, moving) = register(2)
    change("UPDATE page_import SET updated_at = updated_at - interval '25 hours'")
    sweeper.sweep()
    change("UPDATE process_status SET seen_at = seen_at - interval '25 hours'")
    report(moving, "completed")
    assert sweeper.sweep() == 0
    assert child(old)["status"] == "queued"


def test_uploads_alone_do_not_count_as_movement(sweeper):
    _, (old,) = register()
    change("UPDATE page_import SET updated_at = updated_at - interval '25 hours'")
    sweeper.sweep()
    change("UPDATE process_status SET seen_at = seen_at - interval '25 hours'")
    register(3)
    assert sweeper.sweep() == 1
    assert child(old)["error_code"] == "expired"
