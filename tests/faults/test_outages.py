"""P8: ten minutes without SQS, S3, the web process or PostgreSQL fail no accepted import.

Ten minutes are five visibility time-outs of 120 s; here they are as many of the short ones.
"""

import json
import signal
import time
from collections import defaultdict

import pytest

from tests.faults.product import QUICK, until

OUTAGE_SECONDS = 5 * int(QUICK["VISIBILITY_SECONDS"])
#: Parsers that obey the file: the ordinary worker otherwise.
OBEDIENT = (
    "exec env -u DATABASE_URL python -c"
    " 'import sys; from jobs.worker.boot import main; sys.exit(main(\"tests.jobs.hostile\"))'"
)


@pytest.fixture
def receives(product):
    """child → receive counts of the reports that the web has taken."""
    seen = defaultdict(set)

    def note(exchange):
        if exchange.name.startswith("web POST") and exchange.status == 200:
            said = json.loads(exchange.body)
            seen[said["import_id"]].add(said["receive_count"])

    product.reports.seen.append(note)
    yield seen
    product.reports.seen.remove(note)


def all_completed_in_their_first_run(product, accepted):
    product.drain(120)
    assert product.violations(accepted=accepted, only_accepted=True) == []
    states = product.sql("SELECT DISTINCT status, run FROM page_import")
    assert states == [{"status": "completed", "run": 1}]
    assert product.sql("SELECT 1 AS one FROM batch_item WHERE dispatch_attempts > 2") == []
    assert product.queue_depth("page_import_dlq") == 0


def test_without_s3_web_and_sqs_for_long_nothing_fails_and_no_receive_is_burnt(product, receives):
    # Given three imports: S3 fails for the first, the web for the second, SQS for the third
    product.signal("worker", signal.SIGSTOP)
    first, second = (product.upload(b"x").json()["import_id"] for _ in range(2))
    no_s3 = product.aws["worker"].add("^s3 .*" + first, refuse=True, times=None)
    no_web = product.reports.add(
        "^web POST", when=lambda e: second in e.body.decode(), refuse=True, times=None
    )
    until(lambda: product.queue_depth("page_import") == 2, 30, "both are in SQS")
    no_sqs = product.aws["scheduler"].add("^sqs", refuse=True, times=None)
    third = product.upload(b"x").json()["import_id"]
    product.signal("worker", signal.SIGCONT)
    for rule in (no_s3, no_web, no_sqs):
        assert rule.hit.wait(30)

    time.sleep(OUTAGE_SECONDS)

    left = {row["job_id"]: row["status"] for row in product.unfinished()}
    assert left == {first: "processing", second: "queued", third: "queued"}
    all_completed_in_their_first_run(product, [first, second, third])
    assert receives[first] == receives[second] == receives[third] == {1}


def test_without_postgresql_for_long_nothing_fails_and_no_receive_is_burnt(product, receives):
    # Given an import at work, one whose work ends meanwhile, and one that waits for its dispatch
    product.kill("worker")
    product.start("worker", command=OBEDIENT)
    working, ending = (
        product.upload(text).json()["import_id"] for text in (b"sleep 12", b"sleep 1")
    )
    begun = "SELECT 1 AS one FROM page_import WHERE status = 'processing'"
    until(lambda: len(product.sql(begun)) == 2, 30, "both are at work")
    product.signal("scheduler", signal.SIGSTOP)
    waiting = product.upload(b"text x").json()["import_id"]
    rules = [way.add("^sql", refuse=True, times=None) for way in product.postgres.values()]
    for way in product.postgres.values():
        way.cut()
    product.signal("scheduler", signal.SIGCONT)
    for rule in rules:
        assert rule.hit.wait(30)

    time.sleep(OUTAGE_SECONDS)

    assert product.upload(b"x").status_code == 503
    left = {row["job_id"]: row["status"] for row in product.unfinished()}
    assert left == {working: "processing", ending: "processing", waiting: "queued"}
    all_completed_in_their_first_run(product, [working, ending, waiting])
    assert receives[working] == receives[ending] == receives[waiting] == {1}
