"""What the screens find and how they call it: batches by name, words in a document."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from io import BytesIO
from typing import Any, Literal
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from models import transitions
from models.states import ImportType
from models.transitions import ReportedResult
from tests.builders import register, result
from tests.web.conftest import Person
from tests.web.test_pages import SUBJECT, sign_in, signed_in

__all__ = ["signed_in"]


def post(client: FlaskClient, person: Person, *names: str, **fields: str) -> Any:
    files = [(BytesIO(b"x"), name) for name in names]
    data = {"type": "page_import", **fields, "files": files}
    answer = client.post("/api/v1/batches", data=data, headers=person.headers)
    assert answer.status_code == 202, answer.json
    return answer.json


def words_of(client: FlaskClient, path: str, language: str = "ja") -> str:
    """Return the text of a page without its tags."""
    page = client.get(path, headers={"Accept-Language": language}).get_data(as_text=True)
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_batch_is_found_by_a_name_in_either_form_of_unicode(
    client: FlaskClient, person: Person, form: Literal["NFC", "NFD"]
) -> None:
    named = unicodedata.normalize("NFD", "ガイド一覧")
    post(client, person, unicodedata.normalize("NFD", "プログラム.txt"), name=named)
    sign_in(client, person.sub)
    for text in ("プログ", "ガイド"):
        asked = quote(unicodedata.normalize(form, text))
        assert "ガイド一覧" in words_of(client, f"/batches?q={asked}"), text
    assert "ガイド一覧" not in words_of(client, "/batches?q=フロク")


def test_a_batch_of_its_own_name_is_called_that_and_counts_its_files(
    client: FlaskClient, person: Person
) -> None:
    named = post(client, person, "a.txt", "b.txt", "c.txt", name="混在")["batch_id"]
    unnamed = post(client, person, "d.txt", "e.txt", "f.txt")["batch_id"]
    sign_in(client, person.sub)
    for path in (f"/batches/{named}", "/batches?q=混在"):
        assert "混在 3 件" in words_of(client, path)
        assert "混在 3 files" in words_of(client, path, "en")
        assert "ほか" not in words_of(client, path)
    for path in (f"/batches/{unnamed}", "/batches?q=d.txt"):
        assert "d.txt ほか 2 件" in words_of(client, path)


def completed(done: ReportedResult) -> str:
    _, (child_id,) = register(subject=SUBJECT)
    transitions.apply_report(
        type=ImportType.PAGE_IMPORT, child_id=child_id, event="completed", run=1, result=done
    )
    return child_id


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_words_are_found_in_either_form_of_unicode(
    signed_in: FlaskClient, form: Literal["NFC", "NFD"]
) -> None:
    page = {
        "number": 1,
        "text": unicodedata.normalize(form, "ガイド"),
        "markdown": "",
        "tables": [],
    }
    child_id = completed(replace(result(pages=1), pages=[{**page, "warnings": []}]))
    for asked in ("ガイ", unicodedata.normalize("NFD", "ガイ")):
        found = words_of(signed_in, f"/imports/{child_id}?q={quote(asked)}")
        assert "1 ページで見つかりました" in found


def test_a_search_says_on_how_many_pages_it_found_and_when_on_none(signed_in: FlaskClient) -> None:
    child_id = completed(result(pages=2))
    nothing = words_of(signed_in, f"/imports/{child_id}?q=nowhere")
    assert "見つかりませんでした" in nothing
    assert "0 ページ" not in nothing
    assert "It stands on no page." in words_of(signed_in, f"/imports/{child_id}?q=nowhere", "en")
    assert "2 ページで見つかりました" in words_of(signed_in, f"/imports/{child_id}?q=頁")
