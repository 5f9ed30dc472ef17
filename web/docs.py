"""Pages about the API, open to all: its reference, its OpenAPI document, its catalogue of codes."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Flask, current_app, make_response, render_template
from werkzeug.wrappers import Response

from web.answers import json_answer
from web.auth import public
from web.catalogue import ITEM_CODES, REQUEST_CODES
from web.languages import language
from web.reference import WORDS, operations, schemas

blueprint = Blueprint("docs", __name__)

_EXTENSION = "torikomi_openapi"


def publish(app: Flask, document: dict[str, Any]) -> None:
    """Give the application the OpenAPI document that it serves."""
    app.extensions[_EXTENSION] = document


@blueprint.get("/openapi.json")
@public
def openapi() -> Response:
    """Return the OpenAPI 3.1 document."""
    return json_answer(current_app.extensions[_EXTENSION])


@blueprint.get("/docs")
@public
def reference() -> Response:
    """Show the API: what each call takes and answers."""
    document = current_app.extensions[_EXTENSION]
    page = render_template(
        "reference.html",
        operations=operations(document, language()),
        schemas=schemas(document),
        words=WORDS[language()],
    )
    return make_response(page)


@blueprint.get("/docs/errors")
@public
def error_codes() -> Response:
    """List every code: what it means, why it comes, what to do."""
    page = render_template(
        "error_codes.html",
        request_codes=list(REQUEST_CODES.values()),
        item_codes=list(ITEM_CODES.values()),
        code_language=language(),
    )
    return make_response(page)
