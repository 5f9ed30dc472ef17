"""POST /webhooks/…: signed worker reports, verified before anything is believed."""

from __future__ import annotations

import gzip
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from jobs.messages import Report, ReportError, ReportEvent, ResultRef, canonical_json
from jobs.settings import WebhookSettings
from jobs.signing import sign
from jobs.storage import Storage
from models.ids import uuid7
from models.states import ImportType
from tests.builders import register
from tests.web.conftest import WEBHOOK_SECRETS
from tests.web.test_api_uploads import rows

SECRETS = WebhookSettings(webhook_secrets=WEBHOOK_SECRETS).secrets()  # type: ignore[arg-type]


def send(
    client: FlaskClient,
    body: bytes,
    *,
    type: str = "page_import",
    secrets: Any = SECRETS,
    shift_seconds: int = 0,
    **changes: str,
) -> Any:
    stamp = int(time.time()) + shift_seconds
    headers = {**sign(secrets, "msg_1", timestamp=stamp, body=body), **changes}
    return client.post(f"/webhooks/{type}", data=body, headers=headers)


def report(child_id: str, event: str, **more: Any) -> bytes:
    values = {"event": ReportEvent(event), "import_id": child_id, "type": "page_import", **more}
    return Report(**values).to_bytes()


def put_result(storage: Storage, tmp_path: Path, child_id: str, *lines: Any) -> ResultRef:
    path = tmp_path / "result"
    raw = b"".join(canonical_json(line) + b"\n" for line in lines)
    path.write_bytes(gzip.compress(raw, mtime=0))
    digest, size_bytes = storage.put_result(child_id, "1", path)
    return ResultRef(
        parser_version="1",
        sha256=digest,
        size_bytes=size_bytes,
        detected_type="text/plain",
        page_count=2,
    )


DOCUMENT = {"document": {"schema": 1, "type": "page_import", "parser_version": "1"}}


def page(number: int) -> dict[str, Any]:
    text = f"本文 {number}"
    return {
        "page": {"number": number, "text": text, "markdown": text, "tables": [], "warnings": []}
    }


@pytest.fixture
def child_id(database: str) -> str:
    return register()[1][0]


def test_processing_is_answered_with_the_run(client: FlaskClient, child_id: str) -> None:
    answer = send(client, report(child_id, "processing"))
    assert answer.status_code == 200
    assert answer.json == {"applied": True, "status": "processing", "run": 1}


def test_a_completed_report_brings_its_pages_in_once(
    client: FlaskClient, child_id: str, storage: Storage, tmp_path: Path
) -> None:
    ref = put_result(storage, tmp_path, child_id, DOCUMENT, page(1), page(2))
    body = report(child_id, "completed", run=1, result=ref)
    first, again = send(client, body), send(client, body)
    assert (first.status_code, first.json["applied"]) == (200, True)
    assert (again.status_code, again.json["applied"]) == (200, False)
    texts = [row["text"] for row in rows("SELECT text FROM page ORDER BY number")]
    assert texts == ["本文 1", "本文 2"]


def test_twenty_completions_at_once_give_one_result(
    app: Flask, child_id: str, storage: Storage, tmp_path: Path
) -> None:
    ref = put_result(storage, tmp_path, child_id, DOCUMENT, page(1), page(2))
    body = report(child_id, "completed", run=1, result=ref)
    answers: list[Any] = []
    threads = [
        threading.Thread(target=lambda: answers.append(send(app.test_client(), body)))
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status_code for answer in answers} == {200}
    assert sum(answer.json["applied"] for answer in answers) == 1
    assert len(rows("SELECT number FROM page")) == 2


def test_anything_else_on_an_ended_import_is_409(
    client: FlaskClient, child_id: str, storage: Storage, tmp_path: Path
) -> None:
    failed = report(child_id, "failed", run=1, error=ReportError(code="file_corrupt", message="x"))
    assert send(client, failed).status_code == 200
    ref = put_result(storage, tmp_path, child_id, DOCUMENT, page(1))
    late = send(client, report(child_id, "completed", run=1, result=ref))
    assert (late.status_code, late.json["applied"]) == (409, False)
    assert late.json["status"] == "failed"
    assert send(client, report(child_id, "processing")).status_code == 409
    assert rows("SELECT number FROM page") == []


BAD_HEADERS: dict[str, dict[str, str]] = {
    "no id": {"webhook-id": ""},
    "another id": {"webhook-id": "msg_2"},
    "no time": {"webhook-timestamp": ""},
    "no number as time": {"webhook-timestamp": "1e9"},
    "non-ASCII time": {"webhook-timestamp": "１７"},
    "no signature": {"webhook-signature": ""},
    "another version": {"webhook-signature": "v2,AAAA"},
    "not base64": {"webhook-signature": "v1,%%%"},
    "bytes beyond ASCII": {"webhook-signature": "v1,é"},
    "many": {"webhook-signature": " ".join(["v1,AAAA"] * 100)},
}


@pytest.mark.parametrize("headers", BAD_HEADERS.values(), ids=BAD_HEADERS.keys())
def test_a_bad_signature_is_401(
    client: FlaskClient, child_id: str, headers: dict[str, str]
) -> None:
    encoded = {name: value.encode().decode("latin-1") for name, value in headers.items()}
    answer = send(client, report(child_id, "processing"), **encoded)
    assert (answer.status_code, answer.json["code"]) == (401, "signature_invalid")
    assert rows("SELECT status FROM page_import") == [{"status": "queued"}]


def test_an_old_or_future_or_foreign_report_is_401_and_the_second_secret_counts(
    client: FlaskClient, child_id: str
) -> None:
    body = report(child_id, "processing")
    assert send(client, body, shift_seconds=-301).status_code == 401
    assert send(client, body, shift_seconds=302).status_code == 401
    assert send(client, body, secrets=[b"x" * 24]).status_code == 401
    assert send(client, body, secrets=SECRETS[1:]).status_code == 200


def test_an_unknown_import_is_404_and_a_wrong_body_is_named(
    client: FlaskClient, child_id: str
) -> None:
    assert send(client, report(uuid7(), "processing")).status_code == 404
    assert send(client, report("../x", "processing")).status_code == 404
    assert send(client, b"[" * 5000).json["code"] == "report_invalid"
    assert send(client, b"{}").status_code == 400
    mismatch = send(client, report(child_id, "processing"), type="code2des")
    assert (mismatch.status_code, mismatch.json["code"]) == (422, "report_mismatch")
    assert send(client, b"x" * (256 * 1024 + 1)).status_code == 413


def test_a_result_that_is_not_what_the_report_says_changes_nothing(
    client: FlaskClient, child_id: str, storage: Storage, tmp_path: Path
) -> None:
    ref = put_result(storage, tmp_path, child_id, DOCUMENT, page(1))
    absent = ResultRef(
        parser_version="1", sha256="0" * 64, size_bytes=9, detected_type="text/plain"
    )
    assert send(client, report(child_id, "completed", run=1, result=absent)).status_code == 422
    shorter = ResultRef(**{**vars(ref), "size_bytes": 9})
    assert send(client, report(child_id, "completed", run=1, result=shorter)).status_code == 503
    wrong = put_result(storage, tmp_path, child_id, {"document": {"type": "code2des"}})
    assert send(client, report(child_id, "completed", run=1, result=wrong)).status_code == 422
    bomb = put_result(storage, tmp_path, child_id, {"page": {}})
    assert send(client, report(child_id, "completed", run=1, result=bomb)).status_code == 422
    assert rows("SELECT status FROM page_import") == [{"status": "queued"}]


def test_a_design_document_comes_in_with_both_languages(
    client: FlaskClient, database: str, storage: Storage, tmp_path: Path
) -> None:
    child_id = register(type=ImportType.CODE2DES)[1][0]
    document = {"document": {"schema": 1, "type": "code2des", "parser_version": "1"}}
    lines = [document, {"design": {"a": 1}}, {"markdown": {"ja": "# 設計", "en": "# Design"}}]
    ref = put_result(storage, tmp_path, child_id, *lines)
    body = report(child_id, "completed", type="code2des", run=1, result=ref)
    assert send(client, body, type="code2des").json["applied"] is True
    (row,) = rows("SELECT design, markdown_ja, markdown_en FROM code2des_design")
    assert row == {"design": {"a": 1}, "markdown_ja": "# 設計", "markdown_en": "# Design"}


def test_hostile_text_in_a_failure_is_stored_without_nul(
    client: FlaskClient, child_id: str
) -> None:
    error = ReportError(code="file_corrupt", message="a\x00b" + "x" * 5000)
    assert send(client, report(child_id, "failed", run=1, error=error)).status_code == 200
    (row,) = rows("SELECT error_message FROM page_import")
    assert row["error_message"].startswith("abx")
