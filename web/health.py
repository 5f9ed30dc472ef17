"""/livez: the process answers. /readyz: it can also do its work. Neither asks S3 or SQS.

An S3 outage must reach callers as the promised 503 with Retry-After, not as a removed instance.
"""

from __future__ import annotations

import threading
import time

from flask import Blueprint
from werkzeug.wrappers import Response

from models import probe
from models.errors import DatabaseUnavailable
from web.answers import json_answer
from web.auth import public
from web.errors import WebError
from web.services import services

blueprint = Blueprint("health", __name__)

#: A platform's probe gives up after a second or two; ours says no before that.
ANSWER_SECONDS = 0.9


@blueprint.get("/livez")
@public
def livez() -> Response:
    """Answer without any dependency."""
    return json_answer({"status": "ok"})


@blueprint.get("/readyz")
@public
def readyz() -> Response:
    """Answer within a second whether PostgreSQL does and its schema is that of this code."""
    if not services().readiness.schema_is_current():
        raise WebError("schema_outdated")
    return json_answer({"status": "ok"})


class Readiness:
    """One question to the database at a time; those who come meanwhile share its answer."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._answered_at = float("-inf")
        self._current = False
        self._trouble: str | None = None

    def schema_is_current(self) -> bool:
        """Tell it within ANSWER_SECONDS. Raises DatabaseUnavailable."""
        came_at = time.monotonic()
        if not self._asking.acquire(timeout=ANSWER_SECONDS):
            raise DatabaseUnavailable("no answer in time")
        try:
            if self._answered_at < came_at:
                self._ask(came_at + ANSWER_SECONDS - time.monotonic())
            if self._trouble is not None:
                raise DatabaseUnavailable(self._trouble)
            return self._current
        finally:
            self._asking.release()

    def _ask(self, timeout_seconds: float) -> None:
        try:
            self._current, self._trouble = probe.schema_is_current(timeout_seconds), None
        except DatabaseUnavailable as error:
            self._trouble = str(error)
        self._answered_at = time.monotonic()
