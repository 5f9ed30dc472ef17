"""…/pages/{n}/image: the owner sees it, once and for good; nobody else, nothing else."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient

from jobs.errors import ReportInvalid
from jobs.page_facts import check_page
from jobs.settings import StorageSettings
from jobs.storage import Storage
from tests.builders import change, register, report, result
from tests.jobs.hostile import webp
from tests.web.conftest import Person

PICTURE = webp(12, 20, b"a picture of the first page")
DIGEST = hashlib.sha256(PICTURE).hexdigest()
IMAGE = {
    "sha256": DIGEST,
    "media_type": "image/webp",
    "width": 12,
    "height": 20,
    "size_bytes": len(PICTURE),
}


@pytest.fixture
def drawn(person: Person) -> str:
    """A completed import whose first page has a picture and whose second was read from one."""
    _, (child_id,) = register(subject=person.sub)
    first, second = result().pages
    pages = [{**first, "image": IMAGE}, {**second, "source": "ocr", "confidence": 0.75}]
    report(child_id, "completed", result=replace(result(), pages=pages))
    Storage(StorageSettings()).put_picture(child_id, 1, PICTURE, DIGEST, "image/webp")
    return child_id


def get(client: FlaskClient, person: Person, path: str, **headers: str) -> Any:
    return client.get(f"/api/v1/imports/{path}", headers={**person.headers, **headers})


def test_a_page_names_its_picture_and_where_its_text_comes_from(
    client: FlaskClient, person: Person, drawn: str
) -> None:
    first, second = get(client, person, f"{drawn}/pages").json["pages"]

    url = f"/api/v1/imports/{drawn}/pages/1/image"
    shown = {name: IMAGE[name] for name in ("media_type", "width", "height", "size_bytes")}
    assert first["image"] == {"url": url, **shown}
    assert (first["source"], first["confidence"]) == ("text", None)
    assert (second["image"], second["source"], second["confidence"]) == (None, "ocr", 0.75)
    assert get(client, person, f"{drawn}/result").json["pages"][0]["image"]["url"] == url


def test_the_picture_comes_whole_and_is_kept_for_good(
    client: FlaskClient, person: Person, drawn: str
) -> None:
    answer = get(client, person, f"{drawn}/pages/1/image")

    assert (answer.status_code, answer.data, answer.mimetype) == (200, PICTURE, "image/webp")
    assert answer.content_length == len(PICTURE)
    kept = answer.headers["Cache-Control"].replace(" ", "").split(",")
    assert sorted(kept) == ["immutable", "max-age=31536000", "private"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    tag = answer.headers["ETag"]
    again = get(client, person, f"{drawn}/pages/1/image", **{"If-None-Match": tag})
    assert (again.status_code, again.data) == (304, b"")
    assert again.headers["ETag"] == tag


@pytest.mark.parametrize("number", ["0", "2", "3", "99999999999", "1.0", "-1", "one", "%00", "１"])
def test_a_page_without_a_picture_is_not_found(
    client: FlaskClient, person: Person, drawn: str, number: str
) -> None:
    answer = get(client, person, f"{drawn}/pages/{number}/image")

    assert answer.status_code in (400, 404)
    assert answer.mimetype == "application/problem+json"
    assert answer.headers["Cache-Control"] == "private, no-store"


def test_a_stranger_finds_no_picture(client: FlaskClient, stranger: Person, drawn: str) -> None:
    assert get(client, stranger, f"{drawn}/pages/1/image").status_code == 404
    assert client.get(f"/api/v1/imports/{drawn}/pages/1/image").status_code == 401


def test_a_picture_past_its_time_is_gone(client: FlaskClient, person: Person, drawn: str) -> None:
    change("UPDATE page_import SET result_expired_at = now() WHERE id = %s", (drawn,))

    answer = get(client, person, f"{drawn}/pages/1/image")

    assert (answer.status_code, answer.json["code"]) == (410, "result_expired")


def test_a_picture_that_the_store_has_lost_is_not_found(
    client: FlaskClient, person: Person, drawn: str
) -> None:
    Storage(StorageSettings()).delete_tree(f"imports/{drawn}/pages/")

    assert get(client, person, f"{drawn}/pages/1/image").status_code == 404


@pytest.mark.parametrize(
    "page",
    [
        7,
        {"image": "https://example.org/x.png"},
        {"image": {**IMAGE, "sha256": "../../../source"}},
        {"image": {**IMAGE, "media_type": "text/html"}},
        {"image": {**IMAGE, "width": -1}},
        {"image": {**IMAGE, "width": True}},
        {"image": {**IMAGE, "onload": "alert(1)"}},
        {"source": "oracle"},
        {"confidence": 2},
        {"confidence": "high"},
    ],
)
def test_a_result_with_impossible_pictures_is_refused(page: Any) -> None:
    with pytest.raises(ReportInvalid):
        check_page(page)


def test_a_result_of_an_older_worker_is_taken() -> None:
    assert check_page({"number": 1, "text": "t"}) is None
