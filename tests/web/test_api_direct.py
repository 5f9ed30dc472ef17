"""Files straight to S3: promised, sent, verified, made a batch of, or forgotten."""

from __future__ import annotations

import hashlib
from typing import Any

import httpx
import pytest
from flask.testing import FlaskClient

from jobs.storage import Storage
from models import uploads
from scheduler.janitor import Janitor
from scheduler.settings import SchedulerSettings
from tests.builders import change, rows
from tests.web.conftest import Person

API = "/api/v1"


def promise(client: FlaskClient, person: Person, *files: tuple[str, bytes]) -> list[dict[str, Any]]:
    wanted = [
        {
            "file_name": name,
            "size_bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
            "content_type": "text/plain",
        }
        for name, content in files
    ]
    answer = client.post(f"{API}/uploads", json={"files": wanted}, headers=person.headers)
    assert answer.status_code == 201, answer.json
    return list(answer.json["uploads"])


def put(upload: dict[str, Any], content: bytes) -> int:
    headers = {k: v for k, v in upload["headers"].items() if k != "Content-Length"}
    return httpx.put(upload["url"], content=content, headers=headers).status_code


def make(client: FlaskClient, person: Person, items: list[Any], **more: Any) -> Any:
    headers = {**person.headers, **more.pop("headers", {})}
    body = {"type": "page_import", "items": items, **more}
    return client.post(f"{API}/batches", json=body, headers=headers)


def sent(client: FlaskClient, person: Person, *files: tuple[str, bytes]) -> list[str]:
    made = promise(client, person, *files)
    for upload, (_, content) in zip(made, files, strict=True):
        assert put(upload, content) == 200
    return [upload["upload_id"] for upload in made]


def test_a_batch_of_direct_uploads_is_registered_as_it_was_sent(
    client: FlaskClient, person: Person, storage: Storage
) -> None:
    ids = sent(client, person, ("設計書.txt", b"one"), ("b.txt", b"two"))
    items = [
        {"upload_id": ids[1], "custom_id": "second/2"},
        {"upload_id": ids[0], "options": {"encoding": "shift_jis"}},
    ]
    answer = make(client, person, items, name="夜間")
    assert answer.status_code == 202, answer.json
    body = answer.json
    assert (body["total"], body["status"]) == (2, "0")
    assert [item["import_id"] for item in body["items"]] == [ids[1], ids[0]]
    assert [item["custom_id"] for item in body["items"]] == ["second/2", None]
    listed = client.get(body["links"]["items"], headers=person.headers).json["items"]
    assert [item["custom_id"] for item in listed] == ["second/2", None]
    assert listed[1]["file_name"] == "設計書.txt"
    message = rows("SELECT message FROM batch_item WHERE job_id = %s", (ids[0],))[0]["message"]
    assert message["options"] == {"encoding": "shift_jis", "images": True}
    chunks = storage.open_source(message["object_key"], message["object_version"])
    assert b"".join(chunks) == b"one"


def test_s3_takes_the_promised_bytes_only(client: FlaskClient, person: Person) -> None:
    (upload,) = promise(client, person, ("a.txt", b"promised"))
    assert upload["headers"]["Content-Length"] == "8"
    assert put(upload, b"otherwis") == 400
    assert put(upload, b"promised") == 200


def test_a_version_put_after_the_use_changes_nothing(
    client: FlaskClient, person: Person, storage: Storage
) -> None:
    (upload,) = promise(client, person, ("a.txt", b"first"))
    assert put(upload, b"first") == 200
    assert make(client, person, [{"upload_id": upload["upload_id"]}]).status_code == 202
    pinned = rows("SELECT object_key, object_version FROM page_import")[0]
    assert pinned["object_version"]
    assert put(upload, b"first") == 200
    again = storage.find_source(upload["upload_id"])
    assert again is not None
    assert again.version != pinned["object_version"]
    assert b"".join(storage.open_source(*pinned.values())) == b"first"


def test_every_wrong_item_is_named_and_nothing_is_made(
    client: FlaskClient, person: Person, stranger: Person, storage: Storage
) -> None:
    good, used = sent(client, person, ("a.txt", b"a"), ("b.txt", b"b"))
    assert make(client, person, [{"upload_id": used}]).status_code == 202
    (foreign,) = sent(client, stranger, ("c.txt", b"c"))
    missing, wrong, exe = (
        upload["upload_id"]
        for upload in promise(client, person, ("d.txt", b"d"), ("e.txt", b"e"), ("f.exe", b"f"))
    )
    items = [{"upload_id": each, "custom_id": "x"} for each in (good, good, used, foreign, exe)]
    answer = make(client, person, items)
    assert (answer.status_code, answer.json["code"]) == (422, "items_invalid")
    found = {(fault["pointer"], fault["code"]) for fault in answer.json["errors"]}
    assert found == {
        *((f"/items/{n}/custom_id", "custom_id_repeated") for n in range(1, 5)),
        ("/items/1/upload_id", "upload_repeated"),
        ("/items/2/upload_id", "upload_used"),
        ("/items/3/upload_id", "upload_unknown"),
        ("/items/4/upload_id", "extension_unsupported"),
    }
    storage._call("put_object", Key=f"imports/{wrong}/source", Body=b"not the promise")
    late = make(client, person, [{"upload_id": each} for each in (good, missing, wrong)])
    assert [(f["pointer"], f["code"]) for f in late.json["errors"]] == [
        ("/items/1/upload_id", "upload_missing"),
        ("/items/2/upload_id", "upload_mismatch"),
    ]
    assert len(rows("SELECT id FROM batch_item")) == 1
    assert make(client, person, [{"upload_id": good}]).status_code == 202, "a refusal uses nothing"


def test_uploads_are_verified_in_bulk_and_too_many_unverified_are_refused(
    client: FlaskClient, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = sent(client, person, *((f"{n}.txt", b"x%d" % n) for n in range(4)))
    monkeypatch.setattr("web.direct.MAX_VERIFIED", 2)
    early = make(client, person, [{"upload_id": each} for each in ids])
    assert (early.status_code, early.json["code"]) == (409, "uploads_unverified")
    done = client.post(f"{API}/uploads/complete", json={"upload_ids": ids}, headers=person.headers)
    assert [(u["upload_id"], u["used"]) for u in done.json["uploads"]] == [
        (each, False) for each in ids
    ]
    assert make(client, person, [{"upload_id": each} for each in ids]).status_code == 202


def test_completing_names_what_is_missing_and_keeps_what_is_there(
    client: FlaskClient, person: Person, stranger: Person
) -> None:
    (there,) = sent(client, person, ("a.txt", b"a"))
    (missing,) = (u["upload_id"] for u in promise(client, person, ("b.txt", b"b")))
    body = {"upload_ids": [there, missing]}
    answer = client.post(f"{API}/uploads/complete", json=body, headers=person.headers)
    assert (answer.status_code, answer.json["errors"]) == (
        422,
        [{"code": "upload_missing", "pointer": "/upload_ids/1"}],
    )
    assert rows("SELECT id FROM upload WHERE verified_at IS NOT NULL") == [{"id": there}]
    foreign = client.post(f"{API}/uploads/complete", json=body, headers=stranger.headers)
    assert {fault["code"] for fault in foreign.json["errors"]} == {"upload_unknown"}


def test_the_same_key_makes_one_batch_of_uploads(client: FlaskClient, person: Person) -> None:
    one, two = sent(client, person, ("a.txt", b"a"), ("b.txt", b"b"))
    key = {"Idempotency-Key": '"night-1"'}
    first = make(client, person, [{"upload_id": one}], headers=key)
    again = make(client, person, [{"upload_id": one}], headers=key)
    assert first.status_code == again.status_code == 202
    assert first.json == again.json
    other = make(client, person, [{"upload_id": two}], headers=key)
    assert (other.status_code, other.json["code"]) == (422, "idempotency_key_reused")
    assert len(rows("SELECT id FROM batch")) == 1


def test_two_batches_at_once_cannot_use_the_same_upload(
    client: FlaskClient, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    (only,) = sent(client, person, ("a.txt", b"a"))
    known = uploads.find_uploads(person.sub, [only])
    assert make(client, person, [{"upload_id": only}]).status_code == 202
    monkeypatch.setattr(uploads, "find_uploads", lambda *_: known)
    late = make(client, person, [{"upload_id": only}])
    assert (late.status_code, late.json["code"]) == (409, "upload_used")
    assert len(rows("SELECT id FROM batch")) == 1


def test_unused_uploads_are_forgotten_with_their_objects_after_twelve_hours(
    client: FlaskClient, person: Person, storage: Storage, aws: Any, database: str
) -> None:
    unused, used, fresh = sent(client, person, ("a.txt", b"a"), ("b.txt", b"b"), ("c.txt", b"c"))
    assert make(client, person, [{"upload_id": used}]).status_code == 202
    change("UPDATE upload SET expires_at = now() - interval '1 s' WHERE id <> %s", (fresh,))
    assert make(client, person, [{"upload_id": unused}]).json["errors"][0]["code"] == (
        "upload_unknown"
    )
    janitor = Janitor(storage, SchedulerSettings(database_url=database))
    assert janitor.drop_unused_uploads() == 1
    assert storage.find_source(unused) is None
    assert storage.find_source(used) is not None
    assert {row["id"] for row in rows("SELECT id FROM upload")} == {used, fresh}
    change("UPDATE upload SET expires_at = now() - interval '13 h' WHERE id = %s", (used,))
    assert janitor.drop_unused_uploads() == 0
    assert storage.find_source(used) is not None, "its import still wants it"
    assert [row["id"] for row in rows("SELECT id FROM upload")] == [fresh]


@pytest.mark.parametrize(
    ("change", "place", "code"),
    [
        ({"file_name": "../a.txt"}, "/files/0/file_name", "file_name_path"),
        ({"file_name": "a\u202e.txt"}, "/files/0/file_name", "file_name_bidi"),
        ({"size_bytes": 65 << 20}, "/files/0/size_bytes", "file_too_large"),
    ],
)
def test_a_promise_that_cannot_be_kept_is_refused(
    client: FlaskClient, person: Person, change: dict[str, Any], place: str, code: str
) -> None:
    good = {"file_name": "a.txt", "size_bytes": 1, "sha256": "0" * 64}
    answer = client.post(
        f"{API}/uploads", json={"files": [{**good, **change}]}, headers=person.headers
    )
    assert (answer.status_code, answer.json["code"]) == (422, "items_invalid")
    assert answer.json["errors"] == [{"code": code, "pointer": place}]
    assert rows("SELECT id FROM upload") == []


def test_bytes_imported_before_are_named_with_the_earlier_import(
    client: FlaskClient, person: Person, stranger: Person
) -> None:
    def upload(who: Person) -> dict[str, Any]:
        path = f"{API}/imports?filename=a.txt"
        return dict(client.post(path, data=b"same bytes", headers=who.headers).json)

    first = upload(person)
    assert first["already_imported"] is None
    assert upload(stranger)["already_imported"] is None
    second = upload(person)["already_imported"]
    assert (second["import_id"], second["status"]) == (first["import_id"], "queued")
    assert client.get(second["link"], headers=person.headers).status_code == 200
    change("UPDATE batch_item SET cancelled_at = now()")
    assert upload(person)["already_imported"] is None
