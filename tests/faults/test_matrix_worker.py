"""The rows of the fault matrix that hit the work: real workers, the real web, faults between."""

import hashlib
import json
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from jobs.settings import decode_secrets
from jobs.signing import sign
from local.procfile import read_procfile
from tests.faults.product import ROOT, until

GET_SOURCE = r"^s3 GET .*/source"
REPORT = r"^web POST /webhooks/"
#: A disk that takes no file above 64 blocks of 512 bytes.
SMALL_DISK = "ulimit -f 64; exec env -u DATABASE_URL python -m jobs.worker"


def event_is(event):
    return lambda exchange: json.loads(exchange.body)["event"] == event


def done(product, answer, *, run=1):
    """The upload completes in this run, and every invariant holds."""
    product.drain()
    accepted = [answer.json()["import_id"]]
    assert product.violations(accepted=accepted, only_accepted=True) == []
    (row,) = product.sql("SELECT status, run, error_code FROM page_import")
    assert (row["status"], row["run"], row["error_code"]) == ("completed", run, None)


def test_f29_a_completion_that_comes_a_hundred_times_at_once_is_stored_once(product):
    caught = []
    product.reports.add(REPORT, when=event_is("completed"), before=caught.append, refuse=True)
    answer = product.upload("百回".encode())
    until(lambda: caught, 20, "the completion is on its way")
    body = caught[0].body
    secrets = decode_secrets(product.stack.env("web")["WEBHOOK_SECRETS"])

    def post(number):
        headers = sign(secrets, f"msg_{number}", int(time.time()), body)
        url = f"{product.stack.url}/webhooks/page_import"
        return httpx.post(url, content=body, headers=headers, timeout=60)

    with ThreadPoolExecutor(25) as pool:
        answers = list(pool.map(post, range(100)))
    assert {a.status_code for a in answers} == {200}
    assert sum(a.json()["applied"] for a in answers) <= 1
    done(product, answer)


def test_f32_a_source_that_s3_forbids_for_a_while_is_waited_for(product):
    denied = b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"
    rule = product.aws["worker"].add(GET_SOURCE, times=3, status=403, content=denied)
    answer = product.upload(b"x")
    assert rule.hit.wait(20)
    done(product, answer)


def test_f33_a_source_whose_bytes_are_cut_is_fetched_again_and_never_parsed_short(product):
    content = "行\n".encode() * 150_000
    rule = product.aws["worker"].add(GET_SOURCE, times=2, cut_after=100_000)
    answer = product.upload(content)
    assert rule.hit.wait(20)
    done(product, answer)
    text = "".join(row["text"] for row in product.sql("SELECT text FROM page ORDER BY number"))
    assert text.count("行") == 150_000


def test_f33_a_source_whose_bytes_are_others_for_once_is_fetched_again(product):
    rule = product.aws["worker"].add(GET_SOURCE, rewrite=lambda body: b"y" * len(body))
    answer = product.upload(b"x" * 100)
    assert rule.hit.wait(20)
    done(product, answer)
    (page,) = product.sql("SELECT text FROM page")
    assert page["text"] == "x" * 100


@pytest.fixture
def two_receives(product):
    """Let the queue give a message up after two receives instead of six."""
    url = product.sqs.get_queue_url(QueueName="torikomi_page_import")["QueueUrl"]
    attributes = product.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["RedrivePolicy"])
    policy = attributes["Attributes"]["RedrivePolicy"]
    fewer = json.dumps({**json.loads(policy), "maxReceiveCount": 2})
    product.sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": fewer})
    yield
    product.sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": policy})


def test_f35_a_file_that_kills_its_worker_reaches_the_dlq_and_gets_a_new_run(product, two_receives):
    kill = product.reports.add(
        REPORT, when=event_is("processing"), after=lambda e: product.kill("worker"), times=2
    )
    answer = product.upload("毒".encode())
    for _ in range(2):
        until(lambda: not product.alive("worker"), 20, "the worker is dead")
        product.start("worker")
    assert kill.times == 0
    done(product, answer, run=2)
    (event,) = product.sql("SELECT detail FROM job_event WHERE event = 'new_run'")
    assert event["detail"] == "dead_lettered"


def test_f37_a_worker_without_room_on_its_disk_fails_no_file(product):
    product.kill("worker")
    product.start("worker:small", command=SMALL_DISK)  # with a small log of its own
    answer = product.upload(b"x" * 200_000)
    until(lambda: b"disk_trouble" in product.log("worker:small").read_bytes(), 20, "no room")
    assert product.queue_depth("page_import") == 1
    product.kill("worker:small")
    product.start("worker")
    done(product, answer)


def test_f37_a_web_without_room_on_its_disk_takes_the_result_later(product):
    product.kill("web")
    product.start("web:small", command=f"ulimit -f 1024; {read_procfile(ROOT / 'Procfile')['web']}")
    lines = [hashlib.sha256(b"%d" % number).hexdigest() for number in range(60_000)]
    refused: list[int] = []
    rule = product.reports.add(
        REPORT,
        times=None,
        when=event_is("completed"),
        after=lambda exchange: refused.append(exchange.status),
    )
    answer = product.upload("\n".join(lines).encode())
    assert rule.hit.wait(30)
    assert set(refused) == {503}
    product.kill("web:small")
    product.start("web")
    done(product, answer)


def test_a_worker_that_stands_still_beyond_its_visibility_doubles_nothing(product):
    product.reports.add(
        REPORT,
        when=event_is("completed"),
        before=lambda e: product.signal("worker", signal.SIGSTOP),
        refuse=True,
    )
    answer = product.upload("二人".encode())
    until(lambda: is_stopped(product), 20, "the worker stands still")
    product.start("worker:2")
    until(lambda: product.unfinished() == [], 20, "the second one completes it")
    product.signal("worker", signal.SIGCONT)
    done(product, answer)


def is_stopped(product):
    return product.sql("SELECT 1 AS one FROM page_import WHERE status = 'processing'")
