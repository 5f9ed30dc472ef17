"""What holds for every route: declared auth, problems, headers, a complete catalogue, catalogues
of translations."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po
from flask import Flask
from flask.testing import FlaskClient

import jobs.errors
import models.errors
from tests.web.conftest import Issuer, Person, make_settings
from web import errors
from web.auth import KINDS, public
from web.catalogue import ITEM_CODES, REQUEST_CODES
from web.errors import answer_for
from web.factory import create_app

WEB = Path(__file__).resolve().parents[2] / "web"


def test_every_route_declares_whom_it_answers(app: Flask) -> None:
    kinds = {
        rule.endpoint: getattr(app.view_functions[rule.endpoint], "auth", None)
        for rule in app.url_map.iter_rules()
        if rule.endpoint != "static"
    }
    assert set(kinds.values()) <= KINDS
    for rule in app.url_map.iter_rules():
        if rule.rule.startswith("/api/"):
            assert kinds[rule.endpoint] == "bearer"
        if rule.rule.startswith("/webhooks/"):
            assert kinds[rule.endpoint] == "signed"
    open_to_all = {name for name, kind in kinds.items() if kind == "public"}
    assert open_to_all == {
        "docs.error_codes",
        "docs.openapi",
        "docs.reference",
        "health.livez",
        "health.readyz",
        "sign_in.come_back",
        "sign_in.go_to_hosted",
        "sign_in.show",
        "sign_in.submit",
    }


def test_every_protected_route_is_closed_without_credentials(client: FlaskClient) -> None:
    for rule in client.application.url_map.iter_rules():
        kind = getattr(client.application.view_functions[rule.endpoint], "auth", "public")
        path = rule.rule.replace("<child_id>", "x").replace("<batch_id>", "x")
        for method in rule.methods - {"HEAD", "OPTIONS"}:
            status = client.open(path, method=method).status_code
            expected = {"bearer": {401}, "session": {303}, "signed": {401}}
            assert status in expected.get(kind, {status}), (method, path)


def codes_raised() -> Iterator[str]:
    """Find the literal code of each WebError in the room."""
    for path in WEB.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "WebError":
                for constant in ast.walk(node.args[0]):
                    if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                        yield constant.value


def test_every_code_is_in_the_catalogue_in_both_languages() -> None:
    raised = set(codes_raised())
    assert len(raised) > 25
    assert raised - {"segment count"} <= set(REQUEST_CODES)
    assert set(errors._STATUS_CODES.values()) <= set(REQUEST_CODES)
    for entry in (*REQUEST_CODES.values(), *ITEM_CODES.values()):
        for text in (*entry.ja, *entry.en):
            assert text.strip()
        assert all(text[-1] == "。" for text in entry.ja[1:]), entry.code
        assert all(text[-1] == "." for text in entry.en[1:]), entry.code
        assert any(ord(character) > 0x3000 for character in entry.ja.title), entry.code


def test_the_page_of_codes_has_a_place_for_each(client: FlaskClient) -> None:
    page = client.get("/docs/errors?lang=ja").get_data(as_text=True)
    problem = client.get("/api/v1/nothing").json
    place = problem["type"].removeprefix("/docs/errors#")
    assert f'id="{place}"' in page
    for code in REQUEST_CODES:
        assert f'id="{code}"' in page
    for code, entry in ITEM_CODES.items():
        assert f'id="item-{code}"' in page
        assert entry.ja.title in page


def error_classes() -> list[type[Exception]]:
    """List every error class of the rooms below that is not only a root."""
    found = []
    for module in (models.errors, jobs.errors):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Exception):
                found.append(value)
    return found


#: Never met by a request: roots, and what only scheduler and worker raise.
INTERNAL = {
    "ModelsError",
    "JobsError",
    "TransientError",
    "PermanentError",
    "QueueUnavailable",
    "WebUnavailable",
    "MessageInvalid",
    "SealInvalid",
    "SignatureInvalid",
    "ObjectMissing",
}


@pytest.mark.parametrize("kind", error_classes(), ids=lambda kind: kind.__name__)
def test_every_error_class_has_an_answer(kind: type[Exception]) -> None:
    answer = answer_for(kind("cursor_invalid"))
    if kind.__name__ in INTERNAL:
        assert answer.entry.code == "internal_error"
    else:
        assert answer.entry.code != "internal_error"


def test_framework_errors_are_problems_in_the_callers_language(
    client: FlaskClient, person: Person
) -> None:
    answer = client.get("/api/v1/nothing", headers={"Accept-Language": "ja"})
    assert answer.status_code == 404
    body = answer.json
    fields = {"type", "title", "status", "detail", "code", "retryable", "request_id", "errors"}
    assert set(body) == fields
    assert body["title"] == "見つかりません"
    assert answer.headers["Content-Language"] == "ja"
    assert body["request_id"] == answer.headers["X-Request-Id"]
    wrong = client.delete("/api/v1/imports", headers=person.headers)
    assert (wrong.status_code, wrong.json["code"]) == (405, "method_not_allowed")
    assert "POST" in wrong.headers["Allow"]
    assert client.get("/nothing", headers={"Accept": "application/json"}).json["status"] == 404


def test_a_crash_is_a_500_problem_without_its_reason(
    issuer: Issuer, storage: Any, aws: Any
) -> None:
    app = create_app(make_settings(issuer), storage)

    @app.get("/api/v1/crash")
    @public
    def crash() -> Any:
        raise RuntimeError("secret-reason")

    answer = app.test_client().get("/api/v1/crash")
    assert (answer.status_code, answer.json["code"]) == (500, "internal_error")
    assert "secret-reason" not in answer.get_data(as_text=True)


def test_an_undeclared_view_stops_the_start(
    issuer: Issuer, storage: Any, aws: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from web import health

    monkeypatch.delattr(health.livez, "auth")
    with pytest.raises(ValueError, match=r"health\.livez"):
        create_app(make_settings(issuer), storage)


@pytest.mark.parametrize("path", ["/sign-in", "/livez", "/api/v1/batches", "/nothing", "/batches"])
def test_every_answer_carries_the_security_headers(client: FlaskClient, path: str) -> None:
    answer = client.get(path, headers={"X-Request-Id": "my-request-1"})
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in answer.headers["Cache-Control"]
    assert "Cookie" in answer.headers["Vary"]
    assert answer.headers["X-Request-Id"] == "my-request-1"
    hostile = client.get(path, headers={"X-Request-Id": "a b<script>"})
    assert hostile.headers["X-Request-Id"] != "a b<script>"


def test_no_template_has_inline_script_or_style() -> None:
    for path in (WEB / "templates").glob("*.html"):
        text = path.read_text()
        assert not re.search(r"<script(?! type=\"module\" src=)[ >]", text)
        assert "style=" not in text
        # The one file that people take away carries its looks, and no browser gets it as a page.
        assert "<style" not in text or path.name == "design_document.html"
        assert "|safe" not in text


@pytest.mark.parametrize("language", ["ja", "en"])
def test_the_translations_are_complete_and_compiled(language: str) -> None:
    used = {
        message
        for _, _, message, _, _ in extract_from_dir(
            WEB, [("**.py", "python"), ("**/templates/**.html", "jinja2")]
        )
    }
    directory = WEB / "translations" / language / "LC_MESSAGES"
    with (directory / "messages.po").open("rb") as file:
        catalogue = read_po(file, locale=language)
    written = {message.id: message for message in catalogue if message.id}
    assert set(written) == used
    assert all(message.string and not message.fuzzy for message in written.values())
    assert not list(catalogue.check())
    with (directory / "messages.mo").open("rb") as file:
        compiled = {plain(message.id): message.string for message in read_mo(file) if message.id}
    assert {identity: plain(string) for identity, string in compiled.items()} == {
        identity: plain(message.string) for identity, message in written.items()
    }


def plain(value: Any) -> Any:
    """Return plural forms in one shape: the readers give lists and tuples."""
    return value if isinstance(value, str) else tuple(value)
