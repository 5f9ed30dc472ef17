"""POST /api/v1/imports and /code2des: what is taken in, what it becomes, what is refused."""

from __future__ import annotations

import hashlib
from io import BytesIO
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from models.database import connection, fetch
from tests.web.conftest import Person


def rows(sql: str, *params: Any) -> list[dict[str, Any]]:
    with connection():
        return fetch(sql, params)


def nothing_is_stored(storage: Any) -> None:
    assert rows("SELECT id FROM batch") == []
    assert rows("SELECT id FROM batch_item") == []


def post_file(client: FlaskClient, person: Person, name: str, data: bytes, **headers: str) -> Any:
    return client.post(
        "/api/v1/imports",
        data={"file": (BytesIO(data), name)},
        headers={**person.headers, **headers},
    )


def test_a_multipart_file_is_answered_202_with_its_id_and_place(
    client: FlaskClient, person: Person
) -> None:
    answer = post_file(client, person, "設計書.txt", b"hello")
    assert answer.status_code == 202
    body = answer.json
    assert body["status"] == "queued"
    assert body["file_name"] == "設計書.txt"
    assert body["sha256"] == hashlib.sha256(b"hello").hexdigest()
    assert answer.headers["Location"] == f"/api/v1/imports/{body['import_id']}"
    assert int(answer.headers["Retry-After"]) > 0
    shown = client.get(answer.headers["Location"], headers=person.headers).json
    assert shown["status"] == "queued"
    assert shown["file_name"] == "設計書.txt"
    assert shown["batch_id"] == body["batch_id"]


def test_the_stored_object_is_the_file_and_the_message_names_it(
    client: FlaskClient, person: Person, storage: Any
) -> None:
    trace = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    body = post_file(client, person, "a.txt", b"hello", traceparent=trace).json
    (item,) = rows(
        "SELECT message, created_by FROM batch_item WHERE job_id = %s", body["import_id"]
    )
    message = item["message"]
    assert item["created_by"] == person.sub
    assert message["import_id"] == body["import_id"]
    assert message["traceparent"] == trace
    assert message["object_key"] == f"imports/{body['import_id']}/source"
    stored = storage.open_source(message["object_key"], message["object_version"])
    assert b"".join(stored) == b"hello"


def test_a_raw_body_is_named_by_content_disposition_or_query(
    client: FlaskClient, person: Person
) -> None:
    extended = "attachment; filename=x.txt; filename*=UTF-8''" + quote("設計書.md")
    named = client.post(
        "/api/v1/imports",
        data=b"# hello",
        headers={**person.headers, "Content-Disposition": extended},
        content_type="text/markdown",
    )
    assert named.status_code == 202
    assert named.json["file_name"] == "設計書.md"
    queried = client.post(
        "/api/v1/code2des?filename=" + quote("日本.py"),
        data=b"print()",
        headers=person.headers,
        content_type="text/x-python",
    )
    assert queried.status_code == 202
    assert queried.json["file_name"] == "日本.py"
    assert queried.headers["Location"] == f"/api/v1/code2des/{queried.json['code2des_id']}"


def raw_multipart(*parts: bytes, end: bool = True) -> bytes:
    body = b"".join(b"--B\r\n" + part + b"\r\n" for part in parts)
    return body + (b"--B--\r\n" if end else b"")


def file_part(disposition: bytes, data: bytes = b"data") -> bytes:
    return b"Content-Disposition: form-data; " + disposition + b"\r\n\r\n" + data


GOOD = file_part(b'name="file"; filename="a.txt"')
REFUSED: list[tuple[str, bytes, int, str]] = [
    ("no part at all", b"--B--\r\n", 400, "file_missing"),
    ("a field instead of a file", raw_multipart(file_part(b'name="file"')), 400, "field_unknown"),
    (
        "an empty file input",
        raw_multipart(file_part(b'name="file"; filename=""', b"")),
        400,
        "file_missing",
    ),
    (
        "an empty file",
        raw_multipart(file_part(b'name="file"; filename="a.txt"', b"")),
        422,
        "file_empty",
    ),
    (
        "another field name",
        raw_multipart(file_part(b'name="upload"; filename="a.txt"')),
        400,
        "field_unknown",
    ),
    ("two files", raw_multipart(GOOD, GOOD), 413, "too_many_files"),
    (
        "a file and a field behind it",
        raw_multipart(GOOD, file_part(b'name="x"')),
        400,
        "field_order",
    ),
    ("no last boundary", raw_multipart(GOOD, end=False), 400, "body_truncated"),
    ("cut inside the file", raw_multipart(GOOD)[:-14], 400, "body_truncated"),
    (
        "a Shift_JIS name",
        raw_multipart(file_part('name="file"; filename="設計書.txt"'.encode("cp932"))),
        400,
        "file_name_undecodable",
    ),
    (
        "a NUL in the name",
        raw_multipart(file_part(b'name="file"; filename="a\x00.txt"')),
        400,
        "file_name_control",
    ),
    (
        "a line break in the name",
        raw_multipart(file_part(b'name="file"; filename="a%0D%0Ab.txt"')),
        400,
        "file_name_control",
    ),
    (
        "a bidi mark in the name",
        raw_multipart(file_part('name="file"; filename="a\u202etxt.exe"'.encode())),
        400,
        "file_name_bidi",
    ),
    (
        "a path",
        raw_multipart(file_part(b'name="file"; filename="../../etc/passwd.txt"')),
        400,
        "file_name_path",
    ),
    (
        "a name of 256 bytes",
        raw_multipart(file_part(b'name="file"; filename="' + b"a" * 252 + b'.txt"')),
        400,
        "file_name_too_long",
    ),
    (
        "an extension that is never taken",
        raw_multipart(file_part(b'name="file"; filename="a.exe"')),
        415,
        "extension_unsupported",
    ),
    (
        "another part behind the end",
        raw_multipart(GOOD) + raw_multipart(GOOD),
        400,
        "multipart_malformed",
    ),
    ("text that is no multipart", b"hello", 400, "multipart_malformed"),
]


@pytest.mark.parametrize(
    ("body", "status", "code"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_a_bad_upload_has_its_own_code_and_stores_nothing(
    client: FlaskClient, person: Person, storage: Any, body: bytes, status: int, code: str
) -> None:
    answer = client.post(
        "/api/v1/imports",
        data=body,
        headers=person.headers,
        content_type="multipart/form-data; boundary=B",
    )
    assert (answer.status_code, answer.json["code"]) == (status, code)
    assert answer.content_type == "application/problem+json"
    nothing_is_stored(storage)


def test_names_of_255_bytes_and_with_quotes_stay_intact(
    client: FlaskClient, person: Person
) -> None:
    name = "あ" * 83 + "ab.txt"
    assert len(name.encode()) == 255
    assert post_file(client, person, name, b"x").json["file_name"] == name
    body = raw_multipart(file_part(b'name="file"; filename="it\'s %22q%22 100% ok.txt"'))
    answer = client.post(
        "/api/v1/imports",
        data=body,
        headers=person.headers,
        content_type="multipart/form-data; boundary=B",
    )
    assert answer.json["file_name"] == 'it\'s "q" 100% ok.txt'


def test_filename_star_in_a_part_wins_and_is_never_dropped(
    client: FlaskClient, person: Person
) -> None:
    part = file_part(b"name=\"file\"; filename*=UTF-8''%E8%A8%AD.txt")
    answer = client.post(
        "/api/v1/imports",
        data=raw_multipart(part),
        headers=person.headers,
        content_type="multipart/form-data; boundary=B",
    )
    assert answer.json["file_name"] == "設.txt"


def test_a_file_above_the_limit_is_413_declared_or_not(
    client: FlaskClient, person: Person, storage: Any
) -> None:
    big = b"x" * ((1 << 20) + 1)
    raw = client.post("/api/v1/imports?filename=a.txt", data=big, headers=person.headers)
    assert (raw.status_code, raw.json["code"]) == (413, "file_too_large")
    form = client.post(
        "/api/v1/imports",
        data=raw_multipart(file_part(b'name="file"; filename="a.txt"', big)),
        headers=person.headers,
        content_type="multipart/form-data; boundary=B",
    )
    assert form.json["code"] == "file_too_large"
    exact = client.post("/api/v1/imports?filename=a.txt", data=big[1:], headers=person.headers)
    assert exact.status_code == 202


def test_a_raw_body_without_name_or_bytes_is_refused(client: FlaskClient, person: Person) -> None:
    nameless = client.post("/api/v1/imports", data=b"x", headers=person.headers)
    assert nameless.json["code"] == "file_name_missing"
    empty = client.post("/api/v1/imports?filename=a.txt", headers=person.headers)
    assert empty.json["code"] == "file_empty"
    squeezed = client.post(
        "/api/v1/imports?filename=a.txt",
        data=b"x",
        headers={**person.headers, "Content-Encoding": "gzip"},
    )
    assert squeezed.status_code == 415


def test_the_final_line_break_may_come_alone(client: FlaskClient, person: Person) -> None:
    """The parser's strict mode takes a lone CRLF after the end for an epilogue."""
    filler = 64 * 1024 - len(raw_multipart(file_part(b'name="file"; filename="a.txt"', b""))) + 2
    body = raw_multipart(file_part(b'name="file"; filename="a.txt"', b"x" * filler))
    assert len(body) == 64 * 1024 + 2
    answer = client.post(
        "/api/v1/imports",
        data=body,
        headers=person.headers,
        content_type="multipart/form-data; boundary=B",
    )
    assert answer.status_code == 202, answer.json
