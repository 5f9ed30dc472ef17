"""SIGKILL at an exact moment of the story of one upload; nothing is lost, nothing is doubled.

The moments are exchanges on the network: the proxy kills the process before it passes the request
on, or after the other side has done its part and before the process can know.
"""

import json
import re

import httpx
import pytest

REGISTRATION = re.compile(r'INSERT INTO "?batch_item"?\b')


MARK = r"^sql UPDATE batch_item i SET dispatched_at"


def registers(exchange):
    return REGISTRATION.search(exchange.earlier)


def report(event):
    return lambda exchange: json.loads(exchange.body)["event"] == event


#: name → (process, proxy, exchange, which of them, when)
POINTS = {
    "after_s3_put": ("web", "aws", r"^s3 PUT .*/source", None, "after"),
    "before_commit": ("web", "postgres", r"^sql COMMIT$", registers, "before"),
    "after_commit": ("web", "postgres", r"^sql COMMIT$", registers, "after"),
    "after_claim": ("scheduler", "aws", r"^sqs SendMessageBatch", None, "before"),
    "after_sqs_accept": ("scheduler", "aws", r"^sqs SendMessageBatch", None, "after"),
    "before_mark": (
        "scheduler",
        "postgres",
        MARK,
        None,
        "before",
    ),
    "after_mark": (
        "scheduler",
        "postgres",
        MARK,
        None,
        "after",
    ),
    "before_start_report": ("worker", "reports", r"^web POST", report("processing"), "before"),
    "after_start_report": ("worker", "reports", r"^web POST", report("processing"), "after"),
    "after_parse": ("worker", "aws", r"^s3 PUT .*/results/", None, "before"),
    "after_result_put": ("worker", "aws", r"^s3 PUT .*/results/", None, "after"),
    "before_report": ("worker", "reports", r"^web POST", report("completed"), "before"),
    "after_report": ("worker", "reports", r"^web POST", report("completed"), "after"),
    "before_ack": ("worker", "aws", r"^sqs DeleteMessage", None, "before"),
    "after_ack": ("worker", "aws", r"^sqs DeleteMessage", None, "after"),
}
#: Where the client has no answer, and whether the import was registered none the less.
UNANSWERED = {"after_s3_put": False, "before_commit": False, "after_commit": True}


def way(product, process, proxy):
    found = getattr(product, proxy)
    return found[process] if isinstance(found, dict) else found


@pytest.mark.parametrize("point", POINTS)
def test_a_process_killed_at_this_point_loses_and_doubles_nothing(product, point):
    process, proxy, match, when, moment = POINTS[point]
    kill = {moment: lambda exchange: product.kill(process)}
    rule = way(product, process, proxy).add(
        match,
        **({"when": when} if when else {}),
        **kill,
        refuse=moment == "before",
        drop_reply=moment == "after",
    )
    key = f'"{point}"'
    accepted = []
    try:
        answer = product.upload("いろは\n".encode(), key=key)
        assert answer.status_code == 202
        accepted.append(answer.json()["import_id"])
    except httpx.TransportError:
        assert point in UNANSWERED
    assert rule.hit.wait(20), "the moment never came"
    assert not product.alive(process)
    before = product.sql("SELECT job_id FROM batch_item")
    if point in UNANSWERED:
        assert len(before) == UNANSWERED[point]

    product.start(process)
    if point in UNANSWERED:
        product.sql("UPDATE idempotency_key SET lease_until = now() WHERE response IS NULL")
        again = product.upload("いろは\n".encode(), key=key)
        assert again.status_code == 202
        accepted.append(again.json()["import_id"])
        assert [row["job_id"] for row in before] in ([], accepted)
    product.sql("UPDATE batch_item SET lease_until = now() WHERE lease_until > now()")
    product.drain()

    assert product.violations(accepted=accepted, only_accepted=True) == []
    (child,) = product.sql("SELECT status, page_count, run FROM page_import")
    assert (child["status"], child["page_count"], child["run"]) == ("completed", 1, 1)
