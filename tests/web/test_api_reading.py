"""Reading and cancelling over the API: shapes, ETag, paging, and nobody else's ids."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from models import transitions
from models.database import connection, execute
from models.ids import uuid7
from models.states import ImportType
from tests.builders import register, result
from tests.web.conftest import Person
from tests.web.test_api_uploads import rows


def complete(child_id: str) -> None:
    applied = transitions.apply_report(
        type=ImportType.PAGE_IMPORT,
        child_id=child_id,
        event="completed",
        run=1,
        result=result(),
    )
    assert applied.applied


def test_a_batch_takes_many_files_and_lists_them_in_order(
    client: FlaskClient, person: Person
) -> None:
    names = ["b.txt", "a.txt", "設計.md"]
    answer = client.post(
        "/api/v1/batches",
        data={"type": "page_import", "files": [(BytesIO(n.encode()), n) for n in names]},
        headers=person.headers,
    )
    assert answer.status_code == 202
    assert [item["file_name"] for item in answer.json["items"]] == names
    where = answer.headers["Location"]
    batch = client.get(where, headers=person.headers).json
    assert batch["status"] == "0"
    assert batch["counts"]["total"] == batch["counts"]["queued"] == 3
    first = client.get(f"{where}/items?limit=2", headers=person.headers).json
    rest = client.get(
        f"{where}/items?limit=2&cursor={first['next_cursor']}", headers=person.headers
    ).json
    assert [i["file_name"] for i in first["items"] + rest["items"]] == names
    assert rest["next_cursor"] is None


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ({"files": [(BytesIO(b"x"), "a.txt")]}, "type_unsupported"),
        ({"type": "pdf", "files": [(BytesIO(b"x"), "a.txt")]}, "type_unsupported"),
        ({"type": "page_import"}, "file_missing"),
        ({"type": "page_import", "kind": "x"}, "field_unknown"),
        ({"type": "code2des", "files": [(BytesIO(b"x"), "a.pdf")]}, "extension_unsupported"),
        (
            {"type": "page_import", "files": [(BytesIO(b"x"), f"{n}.txt") for n in range(6)]},
            "too_many_files",
        ),
    ],
)
def test_a_bad_batch_is_refused_as_a_whole(
    client: FlaskClient, person: Person, data: dict[str, Any], code: str
) -> None:
    body = {**data}
    if "files" in body:
        body["files"] = [(BytesIO(b"x"), name) for _, name in body["files"]]
    answer = client.post(
        "/api/v1/batches",
        data=body,
        headers=person.headers,
        content_type="multipart/form-data",
    )
    assert answer.json["code"] == code
    assert rows("SELECT id FROM batch") == rows("SELECT id FROM batch_item") == []


def test_a_status_has_an_etag_and_becomes_304(client: FlaskClient, person: Person) -> None:
    batch_id, (child_id,) = register(subject=person.sub)
    first = client.get(f"/api/v1/imports/{child_id}", headers=person.headers)
    known = {**person.headers, "If-None-Match": first.headers["ETag"]}
    same = client.get(f"/api/v1/imports/{child_id}", headers=known)
    assert (same.status_code, same.data) == (304, b"")
    complete(child_id)
    assert client.get(f"/api/v1/imports/{child_id}", headers=known).status_code == 200
    assert client.get(f"/api/v1/batches/{batch_id}", headers=person.headers).json["status"] == "1"


def test_pages_and_events_of_a_completed_import(client: FlaskClient, person: Person) -> None:
    _, (child_id,) = register(subject=person.sub)
    assert client.get(f"/api/v1/imports/{child_id}/pages", headers=person.headers).json == {
        "pages": [],
        "next_cursor": None,
    }
    complete(child_id)
    first = client.get(f"/api/v1/imports/{child_id}/pages?limit=1", headers=person.headers).json
    assert [page["number"] for page in first["pages"]] == [1]
    assert first["next_cursor"]
    events = client.get(f"/api/v1/imports/{child_id}/events", headers=person.headers).json["events"]
    assert [event["event"] for event in events] == ["accepted", "completed"]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=x", "cursor=%00", "cursor=!!", "limit=²"]
)
def test_wrong_paging_values_are_400(client: FlaskClient, person: Person, query: str) -> None:
    answer = client.get(f"/api/v1/batches?{query}", headers=person.headers)
    assert answer.status_code == 400


def test_a_failed_import_says_why_in_the_callers_language(
    client: FlaskClient, person: Person
) -> None:
    _, (child_id,) = register(subject=person.sub)
    transitions.apply_report(
        type=ImportType.PAGE_IMPORT,
        child_id=child_id,
        event="failed",
        run=1,
        error_code="file_encrypted",
        error_message="needs a password",
    )
    headers = {**person.headers, "Accept-Language": "ja"}
    error = client.get(f"/api/v1/imports/{child_id}", headers=headers).json["error"]
    assert error == {
        "code": "file_encrypted",
        "message": "ファイルにパスワードがかかっています",
        "detail": "needs a password",
        "retryable": False,
    }


def test_cancelling_ends_an_import_and_is_409_afterwards(
    client: FlaskClient, person: Person
) -> None:
    batch_id, (one, two) = register(2, subject=person.sub)
    answer = client.post(f"/api/v1/imports/{one}/cancel", headers=person.headers)
    assert (answer.status_code, answer.json["status"]) == (200, "cancelled")
    again = client.post(f"/api/v1/imports/{one}/cancel", headers=person.headers)
    assert (again.status_code, again.json["code"]) == (409, "already_terminal")
    batch = client.post(f"/api/v1/batches/{batch_id}/cancel", headers=person.headers).json
    assert (batch["status"], batch["counts"]["cancelled"]) == ("3", 2)
    assert two


def fail(child_id: str) -> None:
    transitions.apply_report(
        type=ImportType.PAGE_IMPORT,
        child_id=child_id,
        event="failed",
        run=1,
        error_code="file_corrupt",
        error_message="x",
    )


def test_a_failed_import_can_be_tried_again_and_no_other(
    client: FlaskClient, person: Person
) -> None:
    batch_id, (one, two) = register(2, subject=person.sub)
    early = client.post(f"/api/v1/imports/{one}/retry", headers=person.headers)
    assert (early.status_code, early.json["code"]) == (409, "not_failed")
    fail(one)
    again = client.post(f"/api/v1/imports/{one}/retry", headers=person.headers)
    assert (again.status_code, again.json["status"], again.json["run"]) == (200, "queued", 2)
    assert again.json["error"] is None
    fail(two)
    complete(one)
    batch = client.post(f"/api/v1/batches/{batch_id}/retry", headers=person.headers).json
    assert (batch["counts"]["queued"], batch["counts"]["completed"]) == (1, 1)


def test_a_deleted_batch_is_gone_for_its_owner_too(client: FlaskClient, person: Person) -> None:
    batch_id, (child_id,) = register(subject=person.sub)
    assert client.delete(f"/api/v1/batches/{batch_id}", headers=person.headers).status_code == 204
    for path in (f"batches/{batch_id}", f"batches/{batch_id}/items", f"imports/{child_id}"):
        assert client.get(f"/api/v1/{path}", headers=person.headers).status_code == 404
    assert client.delete(f"/api/v1/batches/{batch_id}", headers=person.headers).status_code == 404


def test_an_expired_result_is_410(client: FlaskClient, person: Person) -> None:
    _, (child_id,) = register(subject=person.sub)
    complete(child_id)
    with connection():
        execute("UPDATE page_import SET result_expired_at = now()")
    answer = client.get(f"/api/v1/imports/{child_id}/pages", headers=person.headers)
    assert (answer.status_code, answer.json["code"]) == (410, "result_expired")
    assert client.get(f"/api/v1/imports/{child_id}", headers=person.headers).status_code == 200


def delivered_to(client: FlaskClient, person: Person) -> dict[str, str]:
    """Give the person an endpoint with a delivery; return what they are called in routes."""
    body = {"url": "https://hooks.example.com/"}
    made = client.post("/api/v1/endpoints", json=body, headers=person.headers).json
    sent = client.post(f"{made['links']['test']}", headers=person.headers).json
    return {"endpoint_id": made["endpoint_id"], "event_id": sent["event_id"]}


def test_every_route_with_an_id_is_404_for_a_stranger(
    app: Flask, person: Person, stranger: Person
) -> None:
    """Generated over the URL map: a new route is covered the moment it exists."""
    batch_id, (import_id,) = register(subject=person.sub)
    _, (code_id,) = register(subject=person.sub, type=ImportType.CODE2DES)
    client = app.test_client()
    told = delivered_to(client, person)
    checked = 0
    for rule in app.url_map.iter_rules():
        if not rule.arguments - {"type"} or not rule.rule.startswith("/api/"):
            continue
        code2des = (rule.defaults or {}).get(
            "type"
        ) == ImportType.CODE2DES or "code2des" in rule.rule
        own = {"batch_id": batch_id, "child_id": code_id if code2des else import_id, **told}
        for method in rule.methods - {"HEAD", "OPTIONS"}:
            for ids in (own, dict.fromkeys(own, uuid7()), dict.fromkeys(own, "x' or 1=1")):
                path = rule.rule
                for name, value in ids.items():
                    path = path.replace(f"<{name}>", value)
                answer = client.open(path, method=method, headers=stranger.headers)
                assert answer.status_code == 404, (method, path)
                assert answer.json["code"] == "not_found"
                checked += 1
    assert checked >= 66
    touched = "cancelled_at IS NOT NULL OR deleted_at IS NOT NULL"
    assert rows(f"SELECT id FROM batch_item WHERE {touched}") == []
    assert client.get("/api/v1/batches", headers=stranger.headers).json["batches"] == []


def test_a_cookie_alone_is_nothing_to_the_api(client: FlaskClient) -> None:
    client.set_cookie("torikomi_session", "x")
    assert client.get("/api/v1/batches").status_code == 401
