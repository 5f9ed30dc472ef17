"""JSON bodies: what is no JSON, what means two things, what is too deep, large or unknown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.builders import rows
from tests.web.conftest import Person

GOOD = {"file_name": "a.txt", "size_bytes": 1, "sha256": "0" * 64}


def post(client: FlaskClient, person: Person, raw: bytes, kind: str = "application/json") -> Any:
    return client.post("/api/v1/uploads", data=raw, content_type=kind, headers=person.headers)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"{} {}",
        b'\xff\xfe{"files": []}',
        b'{"files": "\xe3\x81"}',
        b'{"files": [], "files": []}',
        b'{"files": [{"size_bytes": NaN}]}',
        b'{"files": [{"size_bytes": -Infinity}]}',
        b'{"files": [{"size_bytes": 1e999}]}',
        b'{"files": [{"size_bytes": ' + b"9" * 5000 + b"}]}",
        b'{"files": [{"file_name": "a\\u0000.txt"}]}',
        b'{"files": [{"file_name": "a\\ud800.txt"}]}',
        b'{"files": [{"a\\u0000": 1}]}',
        b'{"files": "a\nb"}',
        b'{"files": ' + b"[" * 33 + b"]" * 33 + b"}",
        b"[" * 100_000,
    ],
    ids=range(16),
)
def test_what_is_no_clean_json_is_400(client: FlaskClient, person: Person, raw: bytes) -> None:
    answer = post(client, person, raw)
    assert (answer.status_code, answer.json["code"]) == (400, "json_invalid")
    assert rows("SELECT id FROM upload") == []


@pytest.mark.parametrize(
    ("body", "code", "pointer"),
    [
        ({"files": [GOOD], "admin": True}, "field_unknown", "/admin"),
        ({"files": [{**GOOD, "created_by": "x"}]}, "field_unknown", "/files/0/created_by"),
        ({}, "field_invalid", "/files"),
        ({"files": []}, "field_invalid", "/files"),
        ({"files": [{**GOOD, "size_bytes": "1"}]}, "field_invalid", "/files/0/size_bytes"),
        ({"files": [{**GOOD, "size_bytes": True}]}, "field_invalid", "/files/0/size_bytes"),
        ({"files": [{**GOOD, "sha256": "X" * 64}]}, "field_invalid", "/files/0/sha256"),
        ([], "field_invalid", ""),
        (None, "field_invalid", ""),
    ],
)
def test_what_the_route_does_not_take_is_refused_by_its_pointer(
    client: FlaskClient, person: Person, body: Any, code: str, pointer: str
) -> None:
    answer = post(client, person, json.dumps(body).encode())
    assert answer.json["code"] == code
    assert answer.json["errors"][0]["pointer"] == pointer


def test_faults_are_named_a_hundred_at_a_time(client: FlaskClient, person: Person) -> None:
    body = {"files": [{**GOOD, "size_bytes": 0}] * 300}
    answer = post(client, person, json.dumps(body).encode())
    assert len(answer.json["errors"]) == 100


def test_another_media_type_and_a_large_body_are_refused(
    client: FlaskClient, person: Person
) -> None:
    wrong = post(client, person, b"{}", "text/json")
    assert (wrong.status_code, wrong.json["code"]) == (415, "content_type_unsupported")
    large = post(client, person, b'{"files": "' + b"x" * (1 << 20) + b'"}')
    assert (large.status_code, large.json["code"]) == (413, "request_too_large")


def test_unicode_that_is_escaped_is_as_good_as_any(client: FlaskClient, person: Person) -> None:
    body = json.dumps({"files": [{**GOOD, "file_name": "設計\U0001f600.txt"}]}, ensure_ascii=True)
    answer = post(client, person, body.encode())
    assert answer.json["uploads"][0]["file_name"] == "設計\U0001f600.txt"
