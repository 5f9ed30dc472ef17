"""Signed reports against the running web process: twenty at once, forged, late."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from jobs import results
from jobs.messages import Report, ReportEvent, ResultRef
from jobs.settings import StorageSettings, decode_secrets
from jobs.signing import sign
from jobs.storage import Storage
from models.ids import uuid7


@pytest.fixture
def send(stack):
    """Sign a report with the product's secret and post it."""
    secrets = decode_secrets(stack.env("worker")["WEBHOOK_SECRETS"])

    def post(report: Report, secrets=secrets, at: int | None = None) -> httpx.Response:
        body = report.to_bytes()
        headers = sign(secrets, f"msg_{uuid7()}", at or int(time.time()), body)
        return httpx.post(
            f"{stack.url}/webhooks/{report.type}", content=body, headers=headers, timeout=60
        )

    return post


@pytest.fixture
def stored_result(stack, tmp_path, monkeypatch):
    """Store a result object for an import, as a worker would; return its reference."""
    account = stack.account
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", account.access_key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", account.secret_access_key)
    storage = Storage(
        StorageSettings(aws_endpoint_url=account.endpoint_url, aws_region=account.region)
    )

    def store(child_id: str, text: str = "一頁") -> ResultRef:
        lines = tmp_path / f"{child_id}.jsonl"
        document = {"schema": 1, "type": "page_import", "parser_version": "1", "page_count": 1}
        page = {"number": 1, "text": text, "markdown": text, "tables": [], "warnings": []}
        lines.write_text(
            json.dumps({"document": document | {"detected_type": "text"}})
            + "\n"
            + json.dumps({"page": page})
            + "\n",
            "utf-8",
        )
        packed = tmp_path / f"{child_id}.gz"
        results.pack_result(lines, packed)
        digest, size = storage.put_result(child_id, "1", packed)
        return ResultRef(
            parser_version="1", sha256=digest, size_bytes=size, detected_type="text", page_count=1
        )

    return store


def completed(child_id: str, result: ResultRef, run: int = 1) -> Report:
    return Report(
        event=ReportEvent.COMPLETED,
        import_id=child_id,
        type="page_import",
        run=run,
        result=result,
    )


def test_the_same_report_twenty_times_at_once_gives_one_result_set(
    upload, no_worker, send, stored_result, sql
):
    child_id = upload(b"twenty")["import_id"]
    report = completed(child_id, stored_result(child_id))
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: send(report), range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert sum(answer.json()["applied"] for answer in answers) == 1
    count = sql("SELECT count(*) AS n FROM page WHERE page_import_id = %s", (child_id,))
    assert count == [{"n": 1}]


def test_the_first_completion_wins_and_another_result_is_a_conflict(
    upload, no_worker, send, stored_result, sql
):
    child_id = upload(b"first wins")["import_id"]
    assert send(completed(child_id, stored_result(child_id, "最初"))).json()["applied"] is True
    late = send(completed(child_id, stored_result(child_id, "別物")))
    assert late.status_code == 409
    (page,) = sql("SELECT text FROM page WHERE page_import_id = %s", (child_id,))
    assert page["text"] == "最初"


def test_a_report_that_names_a_result_which_is_not_there_changes_nothing(
    upload, no_worker, send, api
):
    child_id = upload(b"no result")["import_id"]
    lie = ResultRef(parser_version="1", sha256="a" * 64, size_bytes=10, detected_type="text")
    assert 400 <= send(completed(child_id, lie)).status_code < 500
    assert api.get(f"/api/v1/imports/{child_id}").json()["status"] == "queued"


@pytest.mark.parametrize("fault", ["another secret", "old", "future"])
def test_a_report_that_is_not_from_us_now_is_401(upload, no_worker, send, api, fault):
    child_id = upload(b"forged")["import_id"]
    report = Report(event=ReportEvent.PROCESSING, import_id=child_id, type="page_import")
    faults = {
        "another secret": {"secrets": [b"x" * 32]},
        "old": {"at": int(time.time()) - 400},
        "future": {"at": int(time.time()) + 400},
    }
    assert send(report, **faults[fault]).status_code == 401
    assert api.get(f"/api/v1/imports/{child_id}").json()["status"] == "queued"


def test_a_cancelled_import_stops_the_worker_with_409(upload, no_worker, send, api, ended):
    child_id = upload(b"cancelled")["import_id"]
    assert api.post(f"/api/v1/imports/{child_id}/cancel").status_code in {200, 202}
    report = Report(event=ReportEvent.PROCESSING, import_id=child_id, type="page_import")
    assert send(report).status_code == 409
    no_worker()
    assert ended(child_id)["status"] == "cancelled"


def test_an_unknown_import_is_404(send):
    report = Report(event=ReportEvent.PROCESSING, import_id=uuid7(), type="page_import")
    assert send(report).status_code == 404
