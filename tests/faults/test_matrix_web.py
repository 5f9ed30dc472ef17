"""The rows of the fault matrix that hit an upload: S3 and PostgreSQL fail under the real web."""

import os
import signal
import threading
import time

import psycopg2

from local.processes import wait_until
from tests.faults.product import until
from tests.faults.proxy import SLOW_DOWN
from tests.faults.test_kill_points import registers

SOURCE = r"^s3 PUT .*/source"
EXPIRED = b"<?xml version='1.0'?><Error><Code>ExpiredToken</Code><Message>expired</Message></Error>"


def is_503(answer, code):
    assert (answer.status_code, answer.json()["code"]) == (503, code), answer.text
    assert answer.json()["retryable"] is True
    assert int(answer.headers["Retry-After"]) > 0


def nothing_was_registered(product):
    return product.sql("SELECT id FROM batch") == [] and product.sent == {}


def keys(product):
    found = product.s3.list_objects_v2(Bucket="torikomi").get("Contents", [])
    return {entry["Key"] for entry in found if entry["Key"].endswith("/source")}


def finishes(product, *answers):
    """Every one of these uploads was taken in, and nothing else; all of it completes."""
    ids = [answer.json()["import_id"] for answer in answers]
    product.drain()
    assert product.violations(accepted=ids, only_accepted=True) == []
    states = product.sql("SELECT status, run FROM page_import")
    assert {row["status"] for row in states} == {"completed"}


def test_f01_a_put_that_breaks_at_the_second_of_three_files_leaves_nothing(product):
    before = keys(product)
    puts = iter(range(10))
    product.aws["web"].add(SOURCE, times=None, when=lambda e: next(puts) > 0, refuse=True)
    files = [("files", (f"{n}.txt", b"x")) for n in range(3)]
    answer = product.api.post("/api/v1/batches", data={"type": "page_import"}, files=files)
    is_503(answer, "storage_unavailable")
    assert nothing_was_registered(product)
    assert keys(product) == before, "the first file was taken back"
    product.aws["web"].clear()
    finishes(product, product.upload(b"honest again"))


def test_f02_an_s3_that_asks_to_slow_down_is_tried_twice_and_then_given_up(product):
    tries = []
    product.aws["web"].add(SOURCE, times=None, before=tries.append, status=503, content=SLOW_DOWN)
    is_503(product.upload(b"x"), "storage_unavailable")
    assert len(tries) == 2
    assert nothing_was_registered(product)


def test_f02_one_slow_down_is_not_seen_by_the_client(product):
    product.aws["web"].add(SOURCE, status=503, content=SLOW_DOWN)
    finishes(product, product.upload(b"x"))


def test_f03_a_put_that_was_stored_though_its_answer_was_lost_is_an_orphan_and_no_import(product):
    before = keys(product)
    product.aws["web"].add(SOURCE, times=2, drop_reply=True)
    is_503(product.upload(b"x", key='"f03"'), "storage_unavailable")
    assert nothing_was_registered(product)
    (orphan,) = keys(product) - before
    again = product.upload(b"x", key='"f03"')
    assert again.json()["import_id"] not in orphan
    finishes(product, again)


def test_f05_a_commit_whose_answer_was_lost_keeps_the_object_and_the_key_finds_it(product):
    before = keys(product)
    product.postgres["web"].add("^sql COMMIT$", when=registers, drop_reply=True)
    is_503(product.upload(b"x", key='"f05"'), "commit_unknown")
    assert len(keys(product) - before) == 1
    again = product.upload(b"x", key='"f05"')
    assert again.status_code == 202
    finishes(product, again)


def test_f05_a_commit_that_never_arrived_frees_the_key(product):
    product.postgres["web"].add("^sql COMMIT$", when=registers, refuse=True)
    is_503(product.upload(b"x", key='"f05b"'), "commit_unknown")
    assert nothing_was_registered(product)
    product.sql("UPDATE idempotency_key SET lease_until = now() WHERE response IS NULL")
    again = product.upload(b"x", key='"f05b"')
    assert again.status_code == 202
    finishes(product, again)


def test_f08_a_postgresql_restart_while_idle_is_not_seen_by_the_next_request(product):
    first = product.upload(b"before")
    old = product.stack.pid("postgres")
    os.kill(old, signal.SIGINT)
    assert wait_until(lambda: product.stack.pid("postgres") not in (old, None), 20)
    until(lambda: can_connect(product), 20, "PostgreSQL is back")
    second = product.upload(b"after")
    assert second.status_code == 202, second.text
    finishes(product, first, second)


def can_connect(product):
    try:
        psycopg2.connect(product.stack.database_url, connect_timeout=2).close()
    except psycopg2.OperationalError:
        return False
    return True


def test_f08_a_session_that_ends_under_a_request_is_a_503_and_the_next_one_works(product):
    ended = threading.Event()

    def end_the_session(exchange):
        if not ended.is_set():
            ended.set()
            product.postgres["web"].cut()

    product.aws["web"].add(SOURCE, after=end_the_session)
    answer = product.upload(b"in flight")
    assert answer.status_code in (202, 503)
    uploads = [answer] if answer.status_code == 202 else []
    finishes(product, *uploads, product.upload(b"next"))


def test_f09_a_database_that_turned_read_only_refuses_writes_and_answers_reads(product):
    first = product.upload(b"before")
    product.drain()
    try:
        product.sql("ALTER DATABASE torikomi SET default_transaction_read_only = on")
        product.postgres["web"].cut()
        is_503(product.upload(b"x"), "database_unavailable")
        is_503(product.upload(b"x", key='"f09"'), "database_unavailable")
        path = f"/api/v1/imports/{first.json()['import_id']}"
        assert product.api.get(path).json()["status"] == "completed"
    finally:
        product.sql("SET default_transaction_read_only = off")
        product.sql("ALTER DATABASE torikomi SET default_transaction_read_only = off")
    product.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = 'torikomi' AND pid <> pg_backend_pid()"
    )
    # The web learns of an ended session when the end has come through; a client that was quicker
    # is told to come again, and does.
    deadline = time.monotonic() + 20
    again = product.upload(b"healed without a restart", key='"f09"')
    while again.status_code == 503 and time.monotonic() < deadline:
        is_503(again, "database_unavailable")
        time.sleep(0.2)
        again = product.upload(b"healed without a restart", key='"f09"')
    assert again.status_code == 202, again.text
    finishes(product, first, again)


def test_f42_expired_credentials_are_a_storage_failure_and_no_crash(product):
    product.aws["web"].add(SOURCE, times=None, status=400, content=EXPIRED)
    is_503(product.upload(b"x"), "storage_unavailable")
    assert nothing_was_registered(product)
    assert "ExpiredToken" in product.log("web").read_text("utf-8")
