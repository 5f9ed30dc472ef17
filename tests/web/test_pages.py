"""The HTML pages: sign-in, form, batch, results; sessions, CSRF, double submits."""

from __future__ import annotations

import base64
import json
import re
import threading
import zipfile
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from jobs.storage import Storage
from local.provision import access_token
from models import sessions, transitions
from models.ids import uuid7
from models.states import ImportType
from tests.builders import register, result
from tests.web.conftest import Issuer, make_settings
from tests.web.test_api_uploads import rows
from web.factory import create_app
from web.settings import WebSettings

SUBJECT = "subject-of-the-pages"


def sign_in(client: FlaskClient, subject: str = SUBJECT) -> str:
    token = sessions.create_session(subject, "花子", idle_seconds=60, absolute_seconds=60)
    client.set_cookie("torikomi_session", token)
    return token


@pytest.fixture
def signed_in(client: FlaskClient) -> FlaskClient:
    sign_in(client)
    return client


def hidden(page: Any, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page.get_data(as_text=True))
    assert found, name
    return found.group(1)


def form(client: FlaskClient, *names: str, **changes: Any) -> dict[str, Any]:
    """Return the fields of the upload form as a browser would send them, in order."""
    page = client.get("/")
    return {
        "csrf_token": hidden(page, "csrf_token"),
        "idempotency_token": hidden(page, "idempotency_token"),
        "type": "page_import",
        **changes,
        "files": [(BytesIO(name.encode()), name) for name in names],
    }


def test_a_person_without_session_is_sent_to_sign_in_and_back(client: FlaskClient) -> None:
    answer = client.get("/batches?cursor=x")
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/sign-in?next=/batches%3Fcursor%3Dx"
    assert client.get(answer.headers["Location"]).status_code == 200


def pool_settings(aws: Any, issuer: Issuer) -> WebSettings:
    """Return settings that trust the emulator's own user pool."""
    payload = access_token(aws.account, aws.provisioned).split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    return make_settings(
        issuer,
        cognito_issuer=claims["iss"],
        cognito_jwks_url=f"{aws.endpoint_url}/{aws.provisioned.pool_id}/.well-known/jwks.json",
        cognito_client_id=aws.provisioned.client_id,
    )


def test_signing_in_against_the_pool_opens_a_session(
    aws: Any, database: str, storage: Storage, issuer: Issuer
) -> None:
    """The real InitiateAuth; the pool's own keys and issuer check the token it gives."""
    client = create_app(pool_settings(aws, issuer), storage).test_client()
    fields = {
        "csrf_token": hidden(client.get("/sign-in"), "csrf_token"),
        "username": "demo",
        "password": "wrong",
        "next": "//evil.example/",
    }
    wrong = client.post("/sign-in", data=fields)
    assert wrong.status_code == 401
    assert "torikomi_session" not in str(wrong.headers)
    fields["password"] = aws.provisioned.password
    right = client.post("/sign-in", data=fields)
    assert (right.status_code, right.headers["Location"]) == (303, "/")
    cookie = next(c for c in right.headers.getlist("Set-Cookie") if "torikomi_session" in c)
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    (row,) = rows("SELECT subject FROM session")
    assert row["subject"] == aws.provisioned.sub
    assert client.get("/").status_code == 200


def test_signing_in_again_replaces_the_session(signed_in: FlaskClient) -> None:
    before = signed_in.get_cookie("torikomi_session")
    assert before
    page = signed_in.get("/")
    signed_in.post("/sign-out", data={"csrf_token": hidden(page, "csrf_token")})
    assert rows("SELECT subject FROM session") == []
    signed_in.set_cookie("torikomi_session", before.value)
    assert signed_in.get("/").status_code == 303


def test_secure_cookies_are_bound_to_the_host(
    issuer: Issuer, storage: Storage, database: str, aws: Any
) -> None:
    app = create_app(make_settings(issuer, secure_cookies=True), storage)
    answer = app.test_client().get("/sign-in")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("__Host-torikomi_visitor=")
    assert "Secure" in cookie
    assert "Path=/" in cookie
    assert "Domain" not in cookie
    assert answer.headers["Strict-Transport-Security"]


def test_the_form_takes_files_in_and_goes_to_their_batch(signed_in: FlaskClient) -> None:
    answer = signed_in.post("/", data=form(signed_in, "設計書.txt", "b.md"))
    assert answer.status_code == 303
    page = signed_in.get(answer.headers["Location"]).get_data(as_text=True)
    assert "設計書.txt" in page
    assert '<meta http-equiv="refresh"' in page
    assert len(rows("SELECT id FROM batch_item")) == 2
    assert rows("SELECT DISTINCT created_by FROM batch_item") == [{"created_by": SUBJECT}]


def test_sending_the_same_form_twice_makes_one_import(signed_in: FlaskClient) -> None:
    fields = form(signed_in, "a.txt")
    first = signed_in.post("/", data=fields)
    again = signed_in.post("/", data={**fields, "files": [(BytesIO(b"a.txt"), "a.txt")]})
    assert first.headers["Location"] == again.headers["Location"]
    assert len(rows("SELECT id FROM batch_item")) == 1


def test_a_double_click_makes_one_import(app: Flask) -> None:
    client = app.test_client()
    token = sign_in(client)
    fields = form(client, "a.txt")
    places: list[str] = []

    def click() -> None:
        browser = app.test_client()
        browser.set_cookie("torikomi_session", token)
        data = {**fields, "files": [(BytesIO(b"a.txt"), "a.txt")]}
        places.append(browser.post("/", data=data).headers["Location"])

    threads = [threading.Thread(target=click) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(places) == 2
    assert len(set(places)) == 1
    assert len(rows("SELECT id FROM batch_item")) == 1


@pytest.mark.parametrize("token", ["", "0" * 64, None])
def test_a_form_without_our_token_stores_no_byte(
    signed_in: FlaskClient, app: Flask, token: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = form(signed_in, "a.txt", csrf_token=token)
    if token is None:
        del fields["csrf_token"]

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a byte was stored")

    monkeypatch.setattr(Storage, "put_source", refuse)
    answer = signed_in.post("/", data=fields)
    assert answer.status_code == 400
    assert "csrf_failed" in answer.get_data(as_text=True)


def test_another_sessions_token_and_another_site_are_refused(app: Flask) -> None:
    mine, theirs = app.test_client(), app.test_client()
    sign_in(mine)
    sign_in(theirs, "somebody-else")
    foreign = form(theirs, "a.txt")
    assert mine.post("/", data=foreign).status_code == 400
    own = form(mine, "a.txt")
    cross = mine.post("/", data=own, headers={"Sec-Fetch-Site": "cross-site"})
    assert cross.status_code == 400
    small = mine.post("/sign-out", data={"csrf_token": foreign["csrf_token"]})
    assert small.status_code == 400


def test_the_token_must_come_before_the_files(signed_in: FlaskClient) -> None:
    token = form(signed_in)["csrf_token"]
    parts = ('name="files"; filename="a.txt"', "x"), ('name="csrf_token"', token)
    body = "".join(
        f"--B\r\nContent-Disposition: form-data; {about}\r\n\r\n{value}\r\n"
        for about, value in parts
    )
    answer = signed_in.post(
        "/", data=f"{body}--B--\r\n", content_type="multipart/form-data; boundary=B"
    )
    assert answer.status_code == 400
    assert rows("SELECT id FROM batch") == []


def test_result_pages_show_text_and_escape_what_files_say(signed_in: FlaskClient) -> None:
    _, (child_id,) = register(subject=SUBJECT)
    transitions.apply_report(
        type=ImportType.PAGE_IMPORT, child_id=child_id, event="completed", run=1, result=result()
    )
    page = signed_in.get(f"/imports/{child_id}").get_data(as_text=True)
    assert 'http-equiv="refresh"' not in page
    assert 'id="page-1"' in page
    _, (failed_id,) = register(subject=SUBJECT)
    transitions.apply_report(
        type=ImportType.PAGE_IMPORT,
        child_id=failed_id,
        event="failed",
        run=1,
        error_code="file_corrupt",
        error_message="<script>alert(1)</script>",
    )
    page = signed_in.get(f"/imports/{failed_id}?lang=ja").get_data(as_text=True)
    assert "ファイルが壊れています" in page
    assert "<script>alert" not in page


def test_a_range_of_pages_is_leafed_through_by_their_own_numbers(signed_in: FlaskClient) -> None:
    _, (child_id,) = register(subject=SUBJECT)
    made = result(pages=25)
    pages = [{**page, "number": page["number"] + 100} for page in made.pages or ()]
    transitions.apply_report(
        type=ImportType.PAGE_IMPORT,
        child_id=child_id,
        event="completed",
        run=1,
        result=replace(made, pages=pages),
    )

    def shown(query: str) -> list[str]:
        page = signed_in.get(f"/imports/{child_id}?{query}").get_data(as_text=True)
        return re.findall(r'<h2 id="page-(\d+)"', page)

    assert shown("") == [str(n) for n in range(101, 111)]
    assert shown("page=111") == shown("page=117") == [str(n) for n in range(111, 121)]
    assert shown("page=999") == [str(n) for n in range(121, 126)]
    second = signed_in.get(f"/imports/{child_id}?page=111").get_data(as_text=True)
    assert "101–110" in second
    assert "121–125" in second


def test_cancelling_from_the_page_ends_on_the_page(signed_in: FlaskClient) -> None:
    batch_id, (one, _) = register(2, subject=SUBJECT)
    token = hidden(signed_in.get(f"/imports/{one}"), "csrf_token")
    for _ in range(2):
        answer = signed_in.post(f"/imports/{one}/cancel", data={"csrf_token": token})
        assert answer.headers["Location"] == f"/imports/{one}"
    signed_in.post(f"/batches/{batch_id}/cancel", data={"csrf_token": token})
    assert len(rows("SELECT id FROM batch_item WHERE cancelled_at IS NOT NULL")) == 2


def test_what_failed_is_tried_again_from_the_pages(signed_in: FlaskClient) -> None:
    batch_id, ids = register(2, subject=SUBJECT)
    for child_id in ids:
        transitions.apply_report(
            type=ImportType.PAGE_IMPORT,
            child_id=child_id,
            event="failed",
            run=1,
            error_code="parse_timeout",
            error_message="x",
        )
    page = signed_in.get(f"/imports/{ids[0]}")
    assert f'action="/imports/{ids[0]}/retry"' in page.get_data(as_text=True)
    token = {"csrf_token": hidden(page, "csrf_token")}
    for _ in range(2):
        answer = signed_in.post(f"/imports/{ids[0]}/retry", data=token)
        assert answer.headers["Location"] == f"/imports/{ids[0]}"
    assert rows("SELECT id FROM page_import WHERE status = 'queued'") == [{"id": ids[0]}]
    signed_in.post(f"/batches/{batch_id}/retry", data=token)
    assert len(rows("SELECT id FROM page_import WHERE status = 'queued'")) == 2


def test_every_page_with_an_id_is_404_for_a_stranger(app: Flask) -> None:
    batch_id, (import_id,) = register(subject="somebody")
    _, (code_id,) = register(subject="somebody", type=ImportType.CODE2DES)
    client = app.test_client()
    sign_in(client, "a-stranger")
    token = hidden(client.get("/"), "csrf_token")
    checked = 0
    for rule in app.url_map.iter_rules():
        if rule.endpoint == "static" or not rule.arguments & {"child_id", "batch_id"}:
            continue
        if rule.rule.startswith("/api/"):
            continue
        own = code_id if "code2des" in rule.rule else import_id
        for child, batch in ((own, batch_id), (uuid7(), uuid7()), ("a%00b", "a%00b")):
            path = rule.rule.replace("<child_id>", child).replace("<batch_id>", batch)
            for method in rule.methods - {"HEAD", "OPTIONS"}:
                data = {"csrf_token": token} if method == "POST" else None
                answer = client.open(path, method=method, data=data)
                assert answer.status_code in (404, 400), (method, path)
                assert (answer.status_code == 404) or "%00" in path
                checked += 1
    assert checked >= 27
    assert rows("SELECT id FROM batch_item WHERE cancelled_at IS NOT NULL") == []


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda c: c.get("/sign-in", headers={"Accept-Language": "ja,en;q=0.5"}), "サインイン"),
        (lambda c: c.get("/sign-in", headers={"Accept-Language": "en"}), "User name"),
        (lambda c: c.get("/sign-in", headers={"Accept-Language": "fr"}), "User name"),
        (lambda c: c.get("/sign-in?lang=ja", headers={"Accept-Language": "en"}), "サインイン"),
        (lambda c: c.get("/nowhere", headers={"Accept-Language": "ja"}), "見つかりません"),
    ],
)
def test_the_language_follows_the_switch_then_the_browser(
    client: FlaskClient, make: Callable[[FlaskClient], Any], word: str
) -> None:
    assert word in make(client).get_data(as_text=True)


def test_the_language_switch_is_remembered(client: FlaskClient) -> None:
    client.get("/sign-in?lang=ja")
    assert 'lang="ja"' in client.get("/sign-in").get_data(as_text=True)


def test_all_results_of_a_batch_come_as_one_zip(signed_in: FlaskClient) -> None:
    batch_id, (child_id,) = register(subject=SUBJECT)
    address = f"/batches/{batch_id}/export"
    assert address not in signed_in.get(f"/batches/{batch_id}").get_data(as_text=True)
    transitions.apply_report(
        type=ImportType.PAGE_IMPORT,
        child_id=child_id,
        event="completed",
        run=1,
        result=result(pages=1),
    )
    assert address in signed_in.get(f"/batches/{batch_id}").get_data(as_text=True)
    answer = signed_in.get(address)
    assert answer.headers["Content-Disposition"].startswith("attachment")
    with zipfile.ZipFile(BytesIO(answer.data)) as archive:
        assert "manifest.json" in archive.namelist()
        assert len(archive.namelist()) == 3
    sign_in(signed_in, "somebody-else")
    assert signed_in.get(address).status_code == 404
