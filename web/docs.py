"""Pages about the API, open to all: the catalogue of codes that every problem's `type` names."""

from __future__ import annotations

from flask import Blueprint, make_response, render_template
from werkzeug.wrappers import Response

from web.auth import public
from web.catalogue import ITEM_CODES, REQUEST_CODES
from web.languages import language

blueprint = Blueprint("docs", __name__)


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
