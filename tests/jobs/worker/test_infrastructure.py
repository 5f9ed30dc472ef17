"""S3, SQS and the web fail for a while: nothing fails for it and no receive is burnt."""

import socket
import threading
import time

import pytest

from jobs.messages import ReportEvent
from tests.jobs.conftest import eventually
from tests.jobs.web_double import web_double


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def receive_counts(web) -> set[int]:
    return {report.receive_count for report in web.reports}


def test_a_web_that_is_down_and_comes_back_costs_no_receive(account, web, workers):
    port = free_port()
    worker = workers.start(WEB_URL=f"http://127.0.0.1:{port}")
    imports = {account.submit("text x") for _ in range(5)}
    worker.wait_for("gate_closed")
    time.sleep(2)

    assert account.visible() >= 3, "nothing new is received meanwhile"
    with web_double(web.secrets, port) as revived:
        eventually(lambda: imports <= set(revived.ended))
        eventually(lambda: account.count() == 0)
        assert receive_counts(revived) == {1}
        assert all(r.event is ReportEvent.COMPLETED for r in revived.ended.values())


@pytest.mark.parametrize("status", [401, 429, 500, 503])
def test_a_web_that_answers_trouble_is_waited_for(account, web, workers, status):
    worker = workers.start()
    until = time.monotonic() + 1
    web.fault = lambda report: status if time.monotonic() < until else None

    import_id = account.submit("text x")

    eventually(lambda: web.ended.get(import_id))
    eventually(lambda: account.count() == 0)
    assert receive_counts(web) == {1}
    assert {"gate_closed", "gate_opened"} <= set(worker.events())


def test_a_report_keeps_its_webhook_id_over_its_retries(account, web, workers):
    workers.start()
    failures = iter([503, 503])
    web.fault = lambda report: next(failures, None)

    import_id = account.submit("text x")

    eventually(lambda: web.ended.get(import_id))
    assert len(set(web.webhook_ids[:3])) == 1
    assert web.webhook_ids[3] != web.webhook_ids[0]


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_an_s3_that_fails_for_a_while_fails_no_file(account, web, way, workers, method):
    workers.start(AWS_ENDPOINT_URL=way.url)
    until = time.monotonic() + 1.5
    way.fault = lambda action: (
        503 if action.startswith(method) and time.monotonic() < until else None
    )

    import_id = account.submit("text x")

    report = eventually(lambda: web.ended.get(import_id))
    assert report.event is ReportEvent.COMPLETED
    assert way.refused >= 1
    assert receive_counts(web) == {1}


def test_deletes_that_fail_more_often_than_there_are_slots_stall_nothing(
    account, web, way, workers
):
    worker = workers.start(AWS_ENDPOINT_URL=way.url, WORKER_THREADS="2")
    broken = True
    way.fault = lambda action: 500 if action == "DeleteMessage" and broken else None
    for _ in range(4):
        account.submit("text x")
    eventually(lambda: way.refused >= 12, seconds=25)
    broken = False

    later = account.submit("text later")

    eventually(lambda: web.ended.get(later), seconds=20)
    eventually(lambda: account.count() == 0, seconds=20)
    assert len(web.ended) == 5
    assert "delete_failed" in worker.events()


def test_receives_that_fail_do_not_make_a_worker_take_more_than_it_can_hold(
    account, web, way, workers
):
    workers.start(AWS_ENDPOINT_URL=way.url, WORKER_THREADS="2")
    failing = iter([None, 500, None, 500, 500])
    way.fault = lambda action: next(failing, None) if action == "ReceiveMessage" else None
    for _ in range(6):
        account.submit("sleep 1.5")
    lowest = 6

    def all_ended() -> bool:
        nonlocal lowest
        waiting, ended = account.visible(), len(web.ended)
        lowest = min(lowest, waiting + ended)
        return ended == 6

    eventually(all_ended, seconds=25)
    assert lowest >= 4


def test_a_worker_that_waits_for_a_silent_web_still_stops_in_time(account, web, workers):
    worker = workers.start(STOP_SECONDS="2", VISIBILITY_SECONDS="60", HEARTBEAT_SECONDS="20")
    asked, answered = threading.Event(), threading.Event()

    def silence(report: object) -> int:
        asked.set()
        answered.wait(15)
        return 503

    web.fault = silence
    account.submit("text x")
    assert asked.wait(10)
    began = time.monotonic()

    assert worker.stop() == 0

    answered.set()
    assert time.monotonic() - began < 10
    assert account.visible() == 1


def test_a_lost_receipt_is_logged_and_the_slot_is_free_again(account, web, workers):
    hasty = {"VISIBILITY_SECONDS": "1", "HEARTBEAT_SECONDS": "30", "WORKER_THREADS": "1"}
    both = [workers.start(**hasty), workers.start(**hasty)]

    slow = account.submit("sleep 2.5")

    eventually(lambda: web.ended.get(slow))
    later = account.submit("text later")
    eventually(lambda: web.ended.get(later))
    eventually(lambda: account.count() == 0)
    assert "receipt_lost" in both[0].events() + both[1].events()
    assert [worker.stop() for worker in both] == [0, 0]
