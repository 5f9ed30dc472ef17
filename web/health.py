"""/livez: the process answers. /readyz: it can also do its work. Neither asks S3 or SQS.

An S3 outage must reach callers as the promised 503 with Retry-After, not as a removed instance.
"""

from __future__ import annotations

from flask import Blueprint
from werkzeug.wrappers import Response

from models import database
from web.answers import json_answer
from web.auth import public
from web.errors import WebError

blueprint = Blueprint("health", __name__)


@blueprint.get("/livez")
@public
def livez() -> Response:
    """Answer without any dependency."""
    return json_answer({"status": "ok"})


@blueprint.get("/readyz")
@public
def readyz() -> Response:
    """Answer when PostgreSQL does and its schema is that of this code."""
    database.ping()
    if not database.schema_is_current():
        raise WebError("schema_outdated")
    return json_answer({"status": "ok"})
