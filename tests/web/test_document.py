"""/openapi.json and /docs are made of the route table and say the same as the code."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from models.endpoints import TEST_EVENT, EventType
from tests.web.conftest import Issuer, make_settings
from web.api import document
from web.auth import bearer
from web.catalogue import REQUEST_CODES
from web.factory import create_app


@pytest.fixture
def openapi(client: FlaskClient) -> dict[str, Any]:
    return client.get("/openapi.json").json


def operations(openapi: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, about)
        for path, methods in openapi["paths"].items()
        for method, about in methods.items()
    ]


def test_every_api_route_is_in_the_document(app: Flask, openapi: dict[str, Any]) -> None:
    routes = {
        (re.sub(r"<(\w+)>", r"{\1}", rule.rule), method.lower())
        for rule in app.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
        if rule.rule.startswith("/api/")
    }
    assert {(path, method) for path, method, _ in operations(openapi)} == routes
    names = [about["operationId"] for _, _, about in operations(openapi)]
    assert len(set(names)) == len(names) >= 23


def test_every_call_has_a_summary_in_both_languages(openapi: dict[str, Any]) -> None:
    for path, method, about in operations(openapi):
        assert about["summary"].endswith("."), (path, method)
        assert any(ord(c) > 0x3000 for c in about["x-summary-ja"]), (path, method)
        assert about["responses"].keys() & {"200", "201", "202", "204"}, (path, method)
        assert {"401", "500", "503"} <= about["responses"].keys()


def test_every_reference_leads_somewhere(openapi: dict[str, Any]) -> None:
    names = set(re.findall(r"#/components/schemas/(\w+)", str(openapi)))
    assert names == openapi["components"]["schemas"].keys()


def test_every_outgoing_event_is_a_webhook_of_the_document(openapi: dict[str, Any]) -> None:
    assert openapi["webhooks"].keys() == {*EventType, TEST_EVENT}
    for name, methods in openapi["webhooks"].items():
        content = methods["post"]["requestBody"]["content"]["application/json"]["schema"]
        shape = openapi["components"]["schemas"][content["$ref"].rpartition("/")[2]]
        told = shape["properties"]["type"]
        assert name in told.get("enum", [told.get("const")])


def test_the_document_says_which_words_of_an_error_are_translated(
    openapi: dict[str, Any],
) -> None:
    about = openapi["components"]["schemas"]["ItemError"]["description"]
    assert "`message` is in the caller's language" in about
    assert "in English whatever" in about


def test_uploads_document_their_bodies(openapi: dict[str, Any]) -> None:
    one = openapi["paths"]["/api/v1/imports"]["post"]["requestBody"]["content"]
    assert one["multipart/form-data"]["schema"]["properties"]["file"]["format"] == "binary"
    assert one["application/octet-stream"]["schema"]["format"] == "binary"
    many = openapi["paths"]["/api/v1/batches"]["post"]["requestBody"]["content"]
    assert many["multipart/form-data"]["schema"]["required"] == ["type", "files"]


def test_problems_name_their_codes_by_status(openapi: dict[str, Any]) -> None:
    for _, _, about in operations(openapi):
        for status, answer in about["responses"].items():
            for kind, content in answer.get("content", {}).items():
                if kind == "application/problem+json":
                    for code in content["schema"]["properties"]["code"]["enum"]:
                        assert REQUEST_CODES[code].status == int(status)


def test_a_view_that_does_not_describe_itself_is_refused(
    issuer: Issuer, storage: Any, aws: Any
) -> None:
    app = create_app(make_settings(issuer), storage)
    app.add_url_rule("/api/v1/silent", view_func=bearer(lambda: ""), endpoint="silent")
    with pytest.raises(ValueError, match="silent"):
        document.build(app)


@pytest.mark.parametrize(
    ("language", "title"), [("ja", "API リファレンス"), ("en", "API reference")]
)
def test_the_reference_shows_every_call(
    client: FlaskClient, openapi: dict[str, Any], language: str, title: str
) -> None:
    page = client.get(f"/docs?lang={language}").get_data(as_text=True)
    assert f"<h1>{title}</h1>" in page
    for path, method, about in operations(openapi):
        assert f"<code>{method.upper()} {path}</code>" in page
        assert f'id="{about["operationId"]}"' in page
    for name in openapi["components"]["schemas"]:
        assert f'id="{name}"' in page
    assert not re.search(r'(src|href)="(https?:)?//', page), "nothing comes from elsewhere"
