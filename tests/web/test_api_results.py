"""…/result as JSON, Markdown and text, and waiting for it with Prefer."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from flask.testing import FlaskClient

from models import cancellations, transitions
from models.database import connection, execute
from models.states import ImportType
from models.transitions import ReportedResult
from tests.builders import register, report, result
from tests.web.conftest import Issuer, Person, make_settings
from web.factory import create_app


@pytest.fixture
def completed(person: Person) -> str:
    _, (child_id,) = register(subject=person.sub)
    report(child_id, "completed", result=result(pages=205))
    return child_id


def get(client: FlaskClient, person: Person, path: str, **headers: str) -> Any:
    return client.get(f"/api/v1/{path}", headers={**person.headers, **headers})


def test_a_result_comes_whole_in_each_format(
    client: FlaskClient, person: Person, completed: str
) -> None:
    path = f"imports/{completed}/result"
    body = get(client, person, path).json
    assert body["import_id"] == completed
    assert body["document"] == {"title": "設計書"}
    assert [page["number"] for page in body["pages"]] == list(range(1, 206))
    text = get(client, person, path, Accept="text/plain")
    assert text.mimetype == "text/plain"
    assert text.get_data(as_text=True).split("\f")[204].strip() == "頁205"
    markdown = get(client, person, path, Accept="text/markdown").get_data(as_text=True)
    assert markdown.split("\n\n")[:2] == ["頁1", "頁2"]


def test_a_result_is_304_to_who_has_it_and_other_formats_are_others(
    client: FlaskClient, person: Person, completed: str
) -> None:
    path = f"imports/{completed}/result"
    tag = get(client, person, path).headers["ETag"]
    same = get(client, person, path, **{"If-None-Match": tag})
    assert (same.status_code, same.data) == (304, b"")
    other = get(client, person, path, **{"If-None-Match": tag, "Accept": "text/plain"})
    assert other.status_code == 200


def test_a_design_comes_as_json_and_markdown(client: FlaskClient, person: Person) -> None:
    _, (child_id,) = register(subject=person.sub, type=ImportType.CODE2DES)
    transitions.apply_report(
        type=ImportType.CODE2DES,
        child_id=child_id,
        event="completed",
        run=1,
        result=ReportedResult(
            sha256="e" * 64,
            detected_type="text/x-python",
            page_count=None,
            document={},
            design={"schema": "code2des/1"},
            markdown={"ja": "# 設計", "en": "# Design"},
        ),
    )
    path = f"code2des/{child_id}/result"
    assert get(client, person, path).json["design"] == {"schema": "code2des/1"}
    japanese = {"Accept": "text/markdown", "Accept-Language": "ja"}
    assert get(client, person, path, **japanese).get_data(as_text=True) == "# 設計"
    assert get(client, person, path, Accept="text/plain").get_data(as_text=True) == "# Design"
    design = f"code2des/{child_id}/design"
    assert get(client, person, design, **japanese).get_data(as_text=True) == "# 設計"
    assert get(client, person, design, Accept="image/png").json["code"] == "not_acceptable"


def test_no_result_yet_and_no_result_ever_are_told_apart(
    client: FlaskClient, person: Person
) -> None:
    _, (waiting, failed, cancelled) = register(3, subject=person.sub)
    report(failed, "failed")
    cancellations.cancel_import(person.sub, ImportType.PAGE_IMPORT, cancelled)
    codes = {
        child_id: get(client, person, f"imports/{child_id}/result").json["code"]
        for child_id in (waiting, failed, cancelled)
    }
    assert list(codes.values()) == ["result_not_ready", "no_result", "no_result"]


def test_a_format_that_does_not_exist_is_406_and_an_expired_result_410(
    client: FlaskClient, person: Person, completed: str
) -> None:
    path = f"imports/{completed}/result"
    refused = get(client, person, path, Accept="image/png")
    assert (refused.status_code, refused.json["code"]) == (406, "not_acceptable")
    with connection():
        execute("UPDATE page_import SET result_expired_at = now()")
    assert get(client, person, path).status_code == 410


def test_prefer_wait_holds_the_answer_until_the_end(client: FlaskClient, person: Person) -> None:
    batch_id, (child_id,) = register(subject=person.sub)
    timer = threading.Timer(0.7, report, (child_id, "completed"))
    timer.start()
    started = time.monotonic()
    answer = get(client, person, f"imports/{child_id}", Prefer="wait=20")
    timer.join()
    assert answer.json["status"] == "completed"
    assert answer.headers["Preference-Applied"] == "wait=20"
    assert 0.6 < time.monotonic() - started < 10
    at_once = get(client, person, f"batches/{batch_id}", Prefer="respond-async, wait=20")
    assert at_once.json["status"] == "1"
    assert "Preference-Applied" not in at_once.headers


def test_prefer_wait_with_an_etag_holds_it_until_a_change(
    client: FlaskClient, person: Person
) -> None:
    batch_id, (child_id,) = register(subject=person.sub)
    known = get(client, person, f"batches/{batch_id}").headers["ETag"]
    unchanged = get(
        client, person, f"batches/{batch_id}", **{"If-None-Match": known, "Prefer": "wait=1"}
    )
    assert (unchanged.status_code, unchanged.headers["Preference-Applied"]) == (304, "wait=1")
    timer = threading.Timer(0.3, report, (child_id, "processing"), {"run": None})
    timer.start()
    changed = get(
        client, person, f"batches/{batch_id}", **{"If-None-Match": known, "Prefer": "wait=20"}
    )
    timer.join()
    assert changed.json["counts"]["running"] == 1


@pytest.mark.parametrize("value", ["wait", "wait=x", "wait=-1", "return=minimal", "wait=9999999"])
def test_a_preference_in_another_form_is_ignored(
    client: FlaskClient, person: Person, value: str
) -> None:
    _, (child_id,) = register(subject=person.sub)
    answer = get(client, person, f"imports/{child_id}", Prefer=value)
    assert "Preference-Applied" not in answer.headers


def test_only_so_many_wait_in_one_process(
    issuer: Issuer, storage: Any, aws: Any, database: str, person: Person
) -> None:
    app = create_app(make_settings(issuer, max_waiters=1), storage)
    _, (child_id,) = register(subject=person.sub)
    answers: list[Any] = []

    def wait() -> None:
        answers.append(get(app.test_client(), person, f"imports/{child_id}", Prefer="wait=2"))

    threads = [threading.Thread(target=wait) for _ in range(3)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - started < 8
    applied = [answer for answer in answers if "Preference-Applied" in answer.headers]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert len(applied) == 1
