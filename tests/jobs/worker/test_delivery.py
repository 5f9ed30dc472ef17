"""SQS delivers late, twice and to the dying: every message still ends once, or in the DLQ."""

import base64
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from jobs.messages import ReportEvent, encode_message
from jobs.results import pack_result
from tests.jobs.conftest import eventually


def refuse(status: int, event: ReportEvent) -> Callable[[object], int | None]:
    return lambda report: status if report.event is event else None


def test_a_worker_killed_mid_parse_loses_nothing_and_doubles_nothing(account, web, workers):
    first = workers.start(VISIBILITY_SECONDS="1", HEARTBEAT_SECONDS="0.3")
    import_id = account.submit("sleep 2")
    eventually(lambda: web.events(import_id) == ["processing"])

    first.process.kill()
    first.process.wait()
    second = workers.start()

    eventually(lambda: web.ended.get(import_id), seconds=20)
    eventually(lambda: account.count() == 0)
    assert web.events(import_id) == ["processing", "processing", "completed"]
    assert web.ended[import_id].receive_count >= 2
    assert "stale_directory_removed" in second.events()
    assert second.stop() == 0
    assert list(second.temp_dir.iterdir()) == []


def test_the_same_message_twice_gives_one_result(room):
    account, web = room.account, room.web
    message = account.store(b"sleep 1")
    account.send(message)
    account.send(message)

    eventually(lambda: web.ended.get(message.import_id))
    eventually(lambda: account.count() == 0)

    mine = [report for report in web.reports if report.import_id == message.import_id]
    completed = [report for report in mine if report.event is ReportEvent.COMPLETED]
    assert len({report.result for report in completed}) == 1


def test_a_message_of_a_finished_import_is_deleted_and_nothing_is_parsed(room):
    account, web, worker = room.account, room.web, room.worker
    message = account.store(b"text once")
    account.send(message)
    eventually(lambda: web.ended.get(message.import_id))
    eventually(lambda: account.count() == 0)

    account.send(message)

    eventually(lambda: "work_not_wanted" in worker.events(message.import_id))
    eventually(lambda: account.count() == 0)
    assert worker.events(message.import_id).count("parser_ended") == 1


def test_a_cancel_while_parsing_kills_the_parser_and_deletes_the_message(account, web, workers):
    workers.start()
    web.fault = refuse(409, ReportEvent.PROGRESS)

    import_id = account.submit("sleep 60")

    eventually(lambda: web.events(import_id) == ["processing"])
    eventually(lambda: account.count() == 0)
    assert web.events(import_id) == ["processing"]
    assert account.storage.find_result(import_id, "1") is None


def test_an_import_that_the_web_does_not_know_ends_in_the_dead_letter_queue(account, web, workers):
    workers.start(BACKOFF_SECONDS="0", UNKNOWN_IMPORT_SECONDS="0")
    web.fault = refuse(404, ReportEvent.PROCESSING)

    import_id = account.submit("text x")

    eventually(lambda: account.count("page_import_dlq") == 1)
    eventually(lambda: account.count() == 0)
    assert web.events(import_id) == ["processing"] * 6
    assert web.ended == {}


def test_a_refused_report_leaves_the_message_and_raises_the_alarm(account, web, workers):
    worker = workers.start(PROBE_SECONDS="5")
    web.fault = refuse(422, ReportEvent.COMPLETED)

    import_id = account.submit("text x")

    eventually(lambda: "message_left" in worker.events(import_id))
    alarm = next(e for e in worker.log() if e["event"] == "report_refused")
    assert alarm["level"] == "critical"
    assert account.count() == 1


def test_a_stored_result_is_reported_again_instead_of_parsing_again(room, tmp_path):
    account, web = room.account, room.web
    message = account.store(b"segfault")
    lines = tmp_path / "lines"
    lines.write_bytes(b'{"document":{"detected_type":"text/plain","page_count":3}}\n')
    pack_result(lines, tmp_path / "packed")
    stored = account.storage.put_result(message.import_id, "1", tmp_path / "packed")

    account.send(message)

    report = eventually(lambda: web.ended.get(message.import_id))
    assert report.event is ReportEvent.COMPLETED
    assert (report.result.sha256, report.result.size_bytes) == stored
    assert report.result.page_count == 3


def test_undecodable_and_foreign_messages_end_in_the_dead_letter_queue(account, web, workers):
    worker = workers.start(BACKOFF_SECONDS="0")
    message = account.store(b"text x")
    good = encode_message(message)
    bodies = [
        "not base64 at all !!",
        "bm90IGpzb24=",
        rewritten(good, b'"actor_name":"import_page"', b'"actor_name":"import_cage"'),
        rewritten(good, b'"queue_name":"page_import"', b'"queue_name":"elsewhere"'),
        rewritten(good, b'"options":{},"queue_name"', b'"options":{"eta":1},"queue_name"'),
        rewritten(good, b'"options":{},"queue_name"', b'"options":{"max_retries":9},"queue_name"'),
        rewritten(good, b'"schema":1', b'"schema":99'),
    ]

    for body in bodies:
        account.send_body(body)

    eventually(lambda: account.count("page_import_dlq") == len(bodies), seconds=30)
    account.send(message)
    eventually(lambda: web.ended.get(message.import_id))
    eventually(lambda: account.count() == 0)
    assert "not base64" not in worker.log_path.read_text()


def rewritten(body: str, old: bytes, new: bytes) -> str:
    raw = base64.b64decode(body)
    assert old in raw, raw
    return base64.b64encode(raw.replace(old, new)).decode()


def test_a_missing_source_is_a_verdict(room):
    account, web = room.account, room.web
    message = replace(account.store(b"text x"), object_key="imports/gone/source")

    account.send(message)

    assert eventually(lambda: web.ended.get(message.import_id)).error.code == "source_missing"


def test_a_source_with_other_bytes_is_a_verdict_and_never_parsed(room):
    account, web, worker = room.account, room.web, room.worker
    message = replace(account.store(b"text x"), sha256="0" * 64)

    account.send(message)

    assert eventually(lambda: web.ended.get(message.import_id)).error.code == "source_corrupt"
    assert "parser_ended" not in worker.events(message.import_id)


def test_a_worker_never_holds_more_than_it_has_threads_for(account, web, workers):
    for _ in range(6):
        account.submit("sleep 1.5")
    workers.start(WORKER_THREADS="2")
    lowest = 6

    def all_ended() -> bool:
        nonlocal lowest
        waiting, ended = account.visible(), len(web.ended)
        lowest = min(lowest, waiting + ended)
        return ended == 6

    eventually(all_ended, seconds=20)
    assert lowest >= 4


def test_a_double_sigterm_to_the_whole_group_gives_everything_back_and_exits_zero(
    account, web, workers
):
    worker = workers.start(VISIBILITY_SECONDS="60")
    held = [account.submit("sleep 60") for _ in range(2)]
    account.submit("sleep 60")
    eventually(lambda: all(web.events(import_id) for import_id in held))

    worker.signal_group(signal.SIGTERM)
    worker.signal_group(signal.SIGTERM)
    worker.signal_group(signal.SIGINT)

    assert worker.process.wait(20) == 0
    assert account.visible() == 3
    assert list(worker.temp_dir.iterdir()) == []
    assert not descendants_alive(worker)


def test_a_stop_of_two_workers_at_once_costs_their_work_one_receive(account, web, workers):
    # Given two workers with free slots, whose polls would take what the other one gives back
    both = [workers.start(LONG_POLL_SECONDS="3") for _ in range(2)]
    import_id = account.submit("sleep 60")
    eventually(lambda: web.events(import_id))

    for worker in both:
        worker.signal_group(signal.SIGTERM)
    assert [worker.process.wait(20) for worker in both] == [0, 0]

    (again,) = account.sqs.receive_message(
        QueueUrl=account.url(), MessageSystemAttributeNames=["ApproximateReceiveCount"]
    )["Messages"]
    assert again["Attributes"]["ApproximateReceiveCount"] == "2"
    assert web.events(import_id).count("processing") == 1


def descendants_alive(worker) -> bool:
    entry = next((e for e in worker.log() if e["event"] == "helper_started"), None)
    assert entry is not None
    return Path(f"/proc/{entry['helper_pid']}").exists()


def test_a_killed_worker_takes_its_parsers_with_it(account, web, workers):
    worker = workers.start()
    import_id = account.submit("sleep 60")
    eventually(lambda: web.events(import_id))

    os.kill(worker.process.pid, signal.SIGKILL)
    worker.process.wait()

    eventually(lambda: not descendants_alive(worker))
