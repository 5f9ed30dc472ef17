"""The original file back to its owner: the same bytes, the same name, never shown inline."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from models.database import connection, execute
from tests.web.conftest import Person
from tests.web.test_pages import SUBJECT, form, sign_in


@pytest.mark.parametrize("name", ["設計書.txt", 'it\'s "q" 100%.txt', "a;b=c.html"])
def test_a_source_comes_back_under_its_own_name(
    client: FlaskClient, person: Person, name: str
) -> None:
    data = b"<script>alert(1)</script>" * 1000
    made = client.post(
        f"/api/v1/imports?filename={quote(name)}", data=data, headers=person.headers
    ).json
    answer = client.get(made["links"]["source"], headers=person.headers)
    assert answer.data == data
    assert answer.content_length == len(data)
    assert answer.mimetype == "application/octet-stream"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    disposition = answer.headers["Content-Disposition"]
    assert disposition.startswith("attachment; filename=")
    assert disposition.endswith(f"filename*=UTF-8''{quote(name, safe='')}")
    with connection():
        execute("UPDATE page_import SET source_expired_at = now()")
    gone = client.get(made["links"]["source"], headers=person.headers)
    assert (gone.status_code, gone.json["code"]) == (410, "source_expired")


def test_the_page_offers_the_source(client: FlaskClient) -> None:
    sign_in(client, SUBJECT)
    place = client.post("/", data=form(client, "設計書.txt")).headers["Location"]
    page = client.get(place).get_data(as_text=True)
    child = page.split('href="/imports/')[1].split('"')[0]
    assert f"/imports/{child}/source" in client.get(f"/imports/{child}").get_data(as_text=True)
    assert client.get(f"/imports/{child}/source").data == "設計書.txt".encode()
