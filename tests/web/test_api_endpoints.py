"""/api/v1/endpoints: registering, changing, the log, tests and replays."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from models import cancellations
from models.ids import uuid7
from tests.builders import change, register, report, rows
from tests.web.conftest import Issuer, Person, make_settings
from web.factory import create_app

API = "/api/v1/endpoints"
URL = "https://hooks.example.com/torikomi?from=us"


def post(client: FlaskClient, person: Person, path: str = "", **body: Any) -> Any:
    return client.post(f"{API}{path}", json=body, headers=person.headers)


@pytest.fixture
def made(client: FlaskClient, person: Person) -> dict[str, Any]:
    answer = post(client, person, url=URL)
    assert answer.status_code == 201, answer.json
    return dict(answer.json)


def test_an_endpoint_is_registered_and_its_secret_shown_once(
    client: FlaskClient, person: Person, made: dict[str, Any]
) -> None:
    assert made["secret"].startswith("whsec_")
    assert made["events"] == [
        "import.completed",
        "import.failed",
        "import.cancelled",
        "batch.completed",
        "endpoint.disabled",
    ]
    shown = client.get(made["links"]["self"], headers=person.headers).json
    assert shown == {name: value for name, value in made.items() if name != "secret"}
    assert client.get(API, headers=person.headers).json["endpoints"] == [shown]


def test_it_can_ask_for_some_events_in_a_language(client: FlaskClient, person: Person) -> None:
    answer = client.post(
        API,
        json={"url": URL, "events": ["import.failed", "import.failed"], "description": "夜間"},
        headers={**person.headers, "Accept-Language": "ja"},
    )
    assert answer.headers["Location"] == answer.json["links"]["self"]
    assert answer.json["events"] == ["import.failed"]
    assert (answer.json["language"], answer.json["description"]) == ("ja", "夜間")
    other = post(client, person, url=URL, language="ja", enabled=False).json
    assert (other["language"], other["enabled"]) == ("ja", False)
    assert other["disabled_reason"] == "owner"


@pytest.mark.parametrize(
    ("body", "status", "code", "place"),
    [
        ({}, 422, "field_invalid", "/url"),
        ({"url": ""}, 422, "field_invalid", "/url"),
        ({"url": "http://example.com/"}, 422, "endpoint_url_refused", "/url"),
        ({"url": "https://10.0.0.1/"}, 422, "endpoint_url_refused", "/url"),
        ({"url": "https://[::ffff:127.0.0.1]/"}, 422, "endpoint_url_refused", "/url"),
        ({"url": "https://a:b@example.com/"}, 422, "endpoint_url_refused", "/url"),
        ({"url": URL, "events": []}, 422, "field_invalid", "/events"),
        ({"url": URL, "events": ["endpoint.test"]}, 422, "field_invalid", "/events/0"),
        ({"url": URL, "language": "fr"}, 422, "field_invalid", "/language"),
        ({"url": URL, "description": "a\nb"}, 422, "field_invalid", "/description"),
        ({"url": URL, "secret": "whsec_x"}, 400, "field_unknown", "/secret"),
    ],
)
def test_what_cannot_be_registered_is_named(
    client: FlaskClient, person: Person, body: dict[str, Any], status: int, code: str, place: str
) -> None:
    answer = post(client, person, **body)
    assert (answer.status_code, answer.json["code"]) == (status, code)
    assert answer.json["errors"][0]["pointer"] == place
    assert rows("SELECT id FROM endpoint") == []


def test_the_reason_of_a_refused_url_has_a_code(client: FlaskClient, person: Person) -> None:
    answer = post(client, person, url="https://169.254.169.254/latest")
    assert answer.json["errors"] == [{"pointer": "/url", "code": "address_refused"}]


def test_only_the_embedded_default_takes_http_on_loopback(
    issuer: Issuer, storage: Any, aws: Any, database: str, person: Person
) -> None:
    app = create_app(make_settings(issuer, endpoint_allow_local=True), storage)
    answer = post(app.test_client(), person, url="http://127.0.0.1:9000/")
    assert answer.status_code == 201


def test_a_subject_has_at_most_twenty(client: FlaskClient, person: Person) -> None:
    for _ in range(20):
        assert post(client, person, url=URL).status_code == 201
    answer = post(client, person, url=URL)
    assert (answer.status_code, answer.json["code"]) == (409, "endpoints_exceeded")


def test_it_is_changed_in_part(client: FlaskClient, person: Person, made: dict[str, Any]) -> None:
    path = made["links"]["self"]
    body = {"events": ["batch.completed"], "description": "x"}
    changed = client.patch(path, json=body, headers=person.headers).json
    assert (changed["events"], changed["description"]) == (["batch.completed"], "x")
    assert changed["url"] == URL
    cleared = client.patch(path, json={"description": None}, headers=person.headers).json
    assert cleared["description"] is None
    assert client.patch(path, json={}, headers=person.headers).json["events"] == body["events"]
    for wrong, code in (
        ({"url": None}, "field_invalid"),
        ({"url": "http://x/"}, "endpoint_url_refused"),
    ):
        answer = client.patch(path, json=wrong, headers=person.headers)
        assert (answer.status_code, answer.json["code"]) == (422, code)


def test_a_new_secret_is_shown_once_and_the_end_of_the_old_one_told(
    client: FlaskClient, person: Person, made: dict[str, Any]
) -> None:
    rotated = post(client, person, f"/{made['endpoint_id']}/rotate").json
    assert rotated["secret"] not in ("", made["secret"])
    assert rotated["previous_secret_until"] is not None
    assert "secret" not in client.get(made["links"]["self"], headers=person.headers).json


def test_a_deleted_endpoint_is_404(
    client: FlaskClient, person: Person, made: dict[str, Any]
) -> None:
    path = made["links"]["self"]
    assert client.delete(path, headers=person.headers).status_code == 204
    for method in ("get", "delete"):
        assert getattr(client, method)(path, headers=person.headers).status_code == 404
    assert client.get(API, headers=person.headers).json["endpoints"] == []


def test_an_event_has_the_body_that_the_get_had(
    client: FlaskClient, person: Person, made: dict[str, Any]
) -> None:
    batch_id, (child_id,) = register(subject=person.sub)
    report(child_id, "failed")
    listed = client.get(made["links"]["deliveries"], headers=person.headers).json
    bodies = {}
    for each in listed["deliveries"]:
        assert (each["state"], each["attempts"], each["error"]) == ("pending", 0, None)
        detail = client.get(each["links"]["self"], headers=person.headers).json
        assert detail["tries"] == []
        assert detail["body"]["event_id"] == each["event_id"]
        bodies[each["type"]] = detail["body"]
    own = client.get(f"/api/v1/imports/{child_id}", headers=person.headers).json
    assert bodies["import.failed"]["data"] == own
    batch = client.get(f"/api/v1/batches/{batch_id}", headers=person.headers).json
    assert bodies["batch.completed"]["data"] == batch
    # … and keeps it, whatever becomes of the import.
    client.delete(f"/api/v1/batches/{batch_id}", headers=person.headers)
    for each in listed["deliveries"]:
        again = client.get(each["links"]["self"], headers=person.headers).json
        assert again["body"] == bodies[each["type"]]


def test_deliveries_are_filtered_and_paged(
    client: FlaskClient, person: Person, made: dict[str, Any]
) -> None:
    batch_id, _ = register(3, subject=person.sub)
    cancellations.cancel_batch(person.sub, batch_id)
    path = made["links"]["deliveries"]
    seen, query = [], "?limit=3"
    while query:
        page = client.get(f"{path}{query}", headers=person.headers).json
        seen += [each["event_id"] for each in page["deliveries"]]
        query = f"?limit=3&cursor={page['next_cursor']}" if page["next_cursor"] else ""
    assert len(seen) == 4
    assert seen == sorted(seen, reverse=True)
    pending = client.get(f"{path}?state=pending", headers=person.headers).json["deliveries"]
    assert len(pending) == 4
    assert client.get(f"{path}?state=failed", headers=person.headers).json["deliveries"] == []
    for query, code in (("state=x", "field_invalid"), ("cursor=x", "cursor_invalid")):
        answer = client.get(f"{path}?{query}", headers=person.headers)
        assert answer.json["code"] == code


def test_a_test_event_goes_to_that_endpoint_alone(
    client: FlaskClient, person: Person, made: dict[str, Any]
) -> None:
    post(client, person, url=URL)
    sent = post(client, person, f"/{made['endpoint_id']}/test")
    assert sent.status_code == 202
    assert sent.headers["Location"] == sent.json["links"]["self"]
    assert sent.json["body"]["type"] == "endpoint.test"
    assert sent.json["body"]["data"]["endpoint_id"] == made["endpoint_id"]
    assert len(rows("SELECT event_id FROM delivery")) == 1


def test_what_failed_is_replayed_one_by_one_or_all_since_a_time(
    client: FlaskClient, person: Person, made: dict[str, Any]
) -> None:
    sent = [post(client, person, f"/{made['endpoint_id']}/test").json for _ in range(3)]
    change("UPDATE delivery SET state = 'failed', error = 'status', attempts = 9")
    again = client.post(sent[0]["links"]["replay"], headers=person.headers)
    assert (again.status_code, again.json["event_id"]) == (202, sent[0]["event_id"])
    assert (again.json["state"], again.json["attempts"]) == ("pending", 0)
    path = f"/{made['endpoint_id']}/replay"
    answer = post(client, person, path, since="2020-01-01T09:00:00+09:00")
    assert (answer.status_code, answer.json) == (202, {"replayed": 2})
    change("UPDATE delivery SET state = 'failed'")
    change(
        "UPDATE outgoing_event SET occurred_at = '2020-01-01' WHERE id = %s", (sent[1]["event_id"],)
    )
    assert post(client, person, path, since="2020-01-02T00:00:00Z").json == {"replayed": 2}
    for wrong in ("yesterday", "2020-01-01T00:00:00", 5, None):
        answer = post(client, person, path, since=wrong)
        assert (answer.status_code, answer.json["code"]) == (422, "field_invalid")


def test_a_disabled_endpoint_is_sent_nothing(
    client: FlaskClient, person: Person, made: dict[str, Any]
) -> None:
    sent = post(client, person, f"/{made['endpoint_id']}/test").json
    off = client.patch(made["links"]["self"], json={"enabled": False}, headers=person.headers)
    assert off.json["disabled_reason"] == "owner"
    failed = client.get(sent["links"]["self"], headers=person.headers).json
    assert (failed["state"], failed["error"]) == ("failed", "endpoint_disabled")
    for answer in (
        post(client, person, f"/{made['endpoint_id']}/test"),
        client.post(sent["links"]["replay"], headers=person.headers),
        post(client, person, f"/{made['endpoint_id']}/replay", since="2020-01-01T00:00:00Z"),
    ):
        assert (answer.status_code, answer.json["code"]) == (409, "endpoint_disabled")


def test_a_delivery_of_another_endpoint_is_404(
    client: FlaskClient, person: Person, made: dict[str, Any]
) -> None:
    other = post(client, person, url=URL).json
    sent = post(client, person, f"/{made['endpoint_id']}/test").json
    path = f"{other['links']['deliveries']}/{sent['event_id']}"
    assert client.get(path, headers=person.headers).status_code == 404
    assert client.post(f"{path}/replay", headers=person.headers).status_code == 404
    unknown = f"{made['links']['deliveries']}/{uuid7()}"
    assert client.get(unknown, headers=person.headers).status_code == 404


def test_a_log_without_a_change_is_304(
    app: Flask, client: FlaskClient, person: Person, made: dict[str, Any]
) -> None:
    first = client.get(made["links"]["deliveries"], headers=person.headers)
    headers = {**person.headers, "If-None-Match": first.headers["ETag"]}
    assert client.get(made["links"]["deliveries"], headers=headers).status_code == 304
