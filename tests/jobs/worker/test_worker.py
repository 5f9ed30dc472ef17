"""One real worker process against real queues and objects: what an outsider sees."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

from jobs.messages import ReportEvent
from jobs.results import read_result
from tests.jobs.conftest import eventually


def test_a_file_is_fetched_parsed_stored_reported_and_only_then_deleted(account, web, workers):
    worker = workers.start()

    import_id = account.submit("text こんにちは")

    report = eventually(lambda: web.ended.get(import_id))
    eventually(lambda: account.count() == 0)
    assert web.events(import_id) == ["processing", "completed"]
    assert report.result.detected_type == "text/plain"
    assert worker.stop() == 0
    assert list(worker.temp_dir.iterdir()) == []
    assert "worker_stopped" in worker.events()


def test_the_result_object_is_what_the_report_says(room, tmp_path):
    account, web = room.account, room.web
    import_id = account.submit("text こんにちは")
    result = eventually(lambda: web.ended.get(import_id)).result

    path = tmp_path / "result"
    account.storage.fetch_result(import_id, "1", result.sha256, result.size_bytes, path)

    kinds = dict(read_result(path, 1 << 20))
    assert kinds["document"]["parser_version"] == "1"
    assert kinds["page"]["text"] == "こんにちは"
    assert path.read_bytes()[4:8] == bytes(4), "mtime is zero"
    assert json.loads(gzip.decompress(path.read_bytes()).split(b"\n")[0])["document"]


def test_a_bad_file_is_a_failed_report_and_the_worker_lives_on(room):
    account, web = room.account, room.web

    crashed = account.submit("segfault")
    refused = account.submit("fail file_encrypted")
    good = account.submit("text fine")

    eventually(lambda: {crashed, refused, good} <= set(web.ended))
    assert web.ended[crashed].error.code == "parse_crashed"
    assert web.ended[refused].error.code == "file_encrypted"
    assert web.ended[good].event is ReportEvent.COMPLETED
    eventually(lambda: account.count() == 0)


def test_a_password_that_no_key_opens_is_a_failed_report(room):
    account, web = room.account, room.web

    message = replace(account.store(b"text x"), options={"password": "sealed1.AAAA"})
    account.send(message)

    eventually(lambda: web.ended.get(message.import_id))
    assert web.ended[message.import_id].error.code == "password_unreadable"
    assert "sealed1" not in web.ended[message.import_id].error.message


def test_progress_is_reported_while_a_parser_runs(room):
    account, web = room.account, room.web

    import_id = account.submit("sleep 1.5")

    eventually(lambda: web.ended.get(import_id))
    mine = [report for report in web.reports if report.import_id == import_id]
    progress = [report for report in mine if report.event is ReportEvent.PROGRESS]
    assert len(progress) >= 3
    assert (0, 1, 1) in {(report.done, report.total, report.run) for report in progress}


def test_a_work_longer_than_the_visibility_is_done_once(account, web, workers):
    workers.start(VISIBILITY_SECONDS="1", HEARTBEAT_SECONDS="0.3")
    workers.start(VISIBILITY_SECONDS="1", HEARTBEAT_SECONDS="0.3")

    import_id = account.submit("sleep 3.5")

    eventually(lambda: web.ended.get(import_id))
    eventually(lambda: account.count() == 0)
    assert web.events(import_id) == ["processing", "completed"]


def test_a_60_megabyte_file_never_lies_in_the_memory_of_the_worker(room):
    account, web, worker = room.account, room.web, room.worker
    warm = account.submit("text warm")
    eventually(lambda: web.ended.get(warm))
    before = peak_bytes(worker)

    import_id = account.send(account.store(b"text large\n" + bytes(60 << 20)))

    report = eventually(lambda: web.ended.get(import_id), seconds=30)
    assert report.event is ReportEvent.COMPLETED
    assert peak_bytes(worker) - before <= 24 << 20


def peak_bytes(worker) -> int:
    status = Path(f"/proc/{worker.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024
