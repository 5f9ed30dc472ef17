"""Options of a file: taken by every way in, checked, told to the worker; a password is sealed."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from jobs.messages import JobMessage, encode_message
from jobs.parsing.encodings import _ALIASES, decode
from jobs.sealing import unseal
from jobs.settings import decode_sealing_key
from tests.builders import rows
from tests.web.conftest import SEALING_PAIR, Issuer, Person, make_settings
from tests.web.test_api_direct import make, promise, sent
from web.encodings import LABELS, is_known
from web.factory import create_app

API = "/api/v1"
PASSWORD = "合言葉 p&w%"
GIVEN = {"pages": "1-3,8,20-", "language": "ja", "images": "false", "encoding": "cp932"}
TOLD = {**GIVEN, "images": False}


def message_of(child_id: str) -> dict[str, Any]:
    return dict(rows("SELECT message FROM batch_item WHERE job_id = %s", (child_id,))[0]["message"])


def request_of(child_id: str) -> dict[str, Any]:
    return dict(rows("SELECT request FROM batch_item WHERE job_id = %s", (child_id,))[0]["request"])


def opened(child_id: str) -> str:
    """Open the sealed password of a message as a worker does."""
    keys = [decode_sealing_key(SEALING_PAIR[1])]
    return unseal(keys, message_of(child_id)["options"]["password"], child_id)


def test_a_form_tells_its_options_in_front_of_the_file(client: FlaskClient, person: Person) -> None:
    data = {
        **GIVEN,
        "custom_id": "行 1",
        "password": PASSWORD,
        "file": (BytesIO(b"hello"), "a.txt"),
    }
    answer = client.post(f"{API}/imports", data=data, headers=person.headers)
    assert answer.status_code == 202, answer.json
    child_id = answer.json["import_id"]
    assert answer.json["custom_id"] == "行 1"
    assert opened(child_id) == PASSWORD
    kept = {k: v for k, v in message_of(child_id)["options"].items() if k != "password"}
    assert kept == TOLD
    assert request_of(child_id)["options"] == TOLD


def test_a_raw_body_tells_them_in_its_query_and_the_password_in_a_header(
    client: FlaskClient, person: Person
) -> None:
    query = "&".join(f"{name}={quote(value)}" for name, value in GIVEN.items())
    answer = client.post(
        f"{API}/imports?filename=a.txt&custom_id=x&{query}",
        data=b"hello",
        headers={**person.headers, "File-Password": quote(PASSWORD)},
    )
    assert answer.status_code == 202, answer.json
    child_id = answer.json["import_id"]
    assert opened(child_id) == PASSWORD
    assert message_of(child_id)["options"] | {"password": None} == {**TOLD, "password": None}
    shown = client.get(f"{API}/imports/{child_id}", headers=person.headers).json
    assert shown["custom_id"] == "x"
    assert PASSWORD not in json.dumps(shown, ensure_ascii=False)


def test_a_form_of_many_files_tells_one_thing_of_all_or_one_of_each(
    client: FlaskClient, person: Person
) -> None:
    def post(**fields: Any) -> Any:
        files = [(BytesIO(b"one"), "a.txt"), (BytesIO(b"two"), "b.txt")]
        data = {"type": "page_import", **fields, "files": files}
        return client.post(f"{API}/batches", data=data, headers=person.headers)

    common = post(pages="2", password=PASSWORD).json["items"]
    for item in common:
        assert message_of(item["import_id"])["options"]["pages"] == "2"
        assert opened(item["import_id"]) == PASSWORD
    wishes = [{"custom_id": "first", "options": {"language": "zh-TW"}}, {}]
    first, second = post(items=json.dumps(wishes)).json["items"]
    assert (first["custom_id"], second["custom_id"]) == ("first", None)
    assert message_of(first["import_id"])["options"] == {"images": True, "language": "zh-TW"}
    assert message_of(second["import_id"])["options"] == {"images": True}
    for wrong in ([{}], [{}, {}, {}], [{"custom_id": "a"}, {"custom_id": "a"}]):
        answer = post(items=json.dumps(wrong))
        assert (answer.status_code, answer.json["code"]) == (422, "items_invalid"), wrong
        assert answer.json["errors"][0]["pointer"].startswith("/items/")
    for fields, code in (
        ({"custom_id": "a"}, "field_unknown"),
        ({"items": "[{}, {}]", "pages": "1"}, "field_invalid"),
        ({"items": "[{}"}, "json_invalid"),
        ({"items": '[{"pages": "1"}, {}]'}, "field_unknown"),
    ):
        assert post(**fields).json["code"] == code


def test_an_item_of_a_json_batch_has_a_password_of_its_own(
    client: FlaskClient, person: Person
) -> None:
    ids = sent(client, person, ("a.txt", b"one"), ("b.txt", b"two"))
    items = [
        {"upload_id": ids[0], "options": {"pages": "1-2", "password": PASSWORD}},
        {"upload_id": ids[1], "options": {"password": "other", "images": False}},
    ]
    answer = make(client, person, items)
    assert answer.status_code == 202, answer.json
    assert [opened(each) for each in ids] == [PASSWORD, "other"]
    assert request_of(ids[0])["options"] == {"pages": "1-2", "images": True}


def test_a_password_stands_nowhere_in_clear(client: FlaskClient, person: Person) -> None:
    secret = "never-in-clear-93517"
    data = {"password": secret, "file": (BytesIO(b"hello"), "a.txt")}
    headers = {**person.headers, "Idempotency-Key": "with-a-password"}
    answer = client.post(f"{API}/imports", data=data, headers=headers)
    assert answer.status_code == 202
    for table in ("batch_item", "page_import", "job_event", "idempotency_key", "batch"):
        assert secret not in str(rows(f"SELECT * FROM {table}"))
    assert secret not in answer.text


def test_every_send_of_a_sealed_password_is_the_same_bytes(
    client: FlaskClient, person: Person
) -> None:
    data = {"password": PASSWORD, "file": (BytesIO(b"hello"), "a.txt")}
    child_id = client.post(f"{API}/imports", data=data, headers=person.headers).json["import_id"]
    sends = {encode_message(JobMessage.from_json(message_of(child_id))) for _ in range(3)}
    assert len(sends) == 1


def test_another_wish_under_the_same_key_is_another_request(
    client: FlaskClient, person: Person
) -> None:
    def post(**fields: str) -> Any:
        data = {**fields, "file": (BytesIO(b"hello"), "a.txt")}
        headers = {**person.headers, "Idempotency-Key": "wishes"}
        return client.post(f"{API}/imports", data=data, headers=headers)

    first = post(pages="1", password="one")
    assert post(pages="1", password="one").json == first.json
    for other in ({"pages": "1", "password": "two"}, {"pages": "1"}, {"pages": "2"}):
        assert post(**other).json["code"] == "idempotency_key_reused"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pages", "0"),
        ("pages", "3-1"),
        ("pages", "1,,2"),
        ("pages", "-3"),
        ("pages", "１"),
        ("pages", ",".join(["1"] * 51)),
        ("language", "日本語"),
        ("language", "ja;drop"),
        ("images", "yes"),
        ("encoding", "a b"),
        ("encoding", "klingon"),
        ("encoding", "mbcs"),
        ("encoding", "base64"),
        ("encoding", "unicode_escape"),
        ("encoding", ".."),
        ("password", "x" * 256),
        ("custom_id", "a\nb"),
        ("custom_id", "x" * 256),
    ],
)
def test_a_wrong_option_is_422_with_its_place(
    client: FlaskClient, person: Person, name: str, value: str
) -> None:
    data = {name: value, "file": (BytesIO(b"hello"), "a.txt")}
    answer = client.post(f"{API}/imports", data=data, headers=person.headers)
    assert (answer.status_code, answer.json["code"]) == (422, "field_invalid")
    assert answer.json["errors"][0]["pointer"] == f"/{name}"
    assert rows("SELECT id FROM batch") == []


def test_an_unknown_encoding_is_refused_on_every_way_in(
    client: FlaskClient, person: Person
) -> None:
    data = {"encoding": "klingon", "file": (BytesIO(b"x = 1"), "a.py")}
    form = client.post(f"{API}/code2des", data=data, headers=person.headers)
    query = "filename=a.txt&encoding=Unicode-Escape"
    raw = client.post(f"{API}/imports?{query}", data=b"x", headers=person.headers)
    (upload,) = promise(client, person, ("a.txt", b"one"))
    items = [{"upload_id": upload["upload_id"], "options": {"encoding": "rot13"}}]
    batch = make(client, person, items)
    for answer, place in (
        (form, "/encoding"),
        (raw, "/encoding"),
        (batch, "/items/0/options/encoding"),
    ):
        assert (answer.status_code, answer.json["code"]) == (422, "field_invalid")
        assert answer.json["errors"] == [{"pointer": place}]
    assert rows("SELECT id FROM batch") == []


@pytest.mark.parametrize("label", sorted(LABELS | {"Shift_JIS", "UTF-16", "cp932", "EUC-JP"}))
def test_an_encoding_that_is_taken_is_decoded_with(label: str) -> None:
    assert is_known(label)
    assert decode("日".encode(), forced=label).encoding != decode(b"x").encoding


def test_every_label_that_the_readers_know_is_taken() -> None:
    assert [label for label in _ALIASES if not is_known(label)] == []


def test_a_password_in_a_query_or_in_broken_bytes_is_refused(
    client: FlaskClient, person: Person
) -> None:
    url = f"{API}/imports?filename=a.txt"
    asked = client.post(f"{url}&password=x", data=b"x", headers=person.headers)
    assert (asked.status_code, asked.json["code"]) == (400, "field_unknown")
    headers = {**person.headers, "File-Password": "%ff"}
    broken = client.post(url, data=b"x", headers=headers)
    assert (broken.status_code, broken.json["code"]) == (422, "field_invalid")


def test_source_code_has_no_pages_and_no_password(client: FlaskClient, person: Person) -> None:
    data = {"pages": "1", "file": (BytesIO(b"x = 1"), "a.py")}
    answer = client.post(f"{API}/code2des", data=data, headers=person.headers)
    assert (answer.status_code, answer.json["code"]) == (422, "option_unsupported")
    assert answer.json["errors"] == [{"pointer": "/pages"}]
    (upload,) = promise(client, person, ("a.py", b"x = 1"))
    items = [{"upload_id": upload["upload_id"], "options": {"images": True}}]
    batch = make(client, person, items, type="code2des")
    assert batch.status_code == 422
    assert {"pointer": "/items/0/options/images", "code": "option_unsupported"} in batch.json[
        "errors"
    ]


def test_without_a_key_no_password_is_taken(
    issuer: Issuer, storage: Any, person: Person, database: str
) -> None:
    app = create_app(make_settings(issuer, sealing_public_key=""), storage)
    data = {"password": "x", "file": (BytesIO(b"hello"), "a.txt")}
    answer = app.test_client().post(f"{API}/imports", data=data, headers=person.headers)
    assert (answer.status_code, answer.json["code"]) == (422, "password_unsupported")
