"""The operator page: what waits, what is stuck, what was given up; and beginning it anew.

Operators are the user pool's members of one group. Membership is read from the token at sign-in
and kept in a second cookie that only this server can make: an HMAC over the session's token, so
it is worth nothing with any other session and dies with its own.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec

from flask import Blueprint, redirect, render_template, request
from werkzeug.wrappers import Response

from models import outbox, overview, redrives, samples, status
from models.database import connection
from models.errors import Conflict
from web import csrf
from web.answers import checked_id
from web.auth import current_subject, session, session_token
from web.errors import WebError
from web.pages import ignore_ended
from web.parts import live_page
from web.services import services

P = ParamSpec("P")

blueprint = Blueprint("operators", __name__)

_ROWS = 50
_SILENT_SECONDS = 600


def _cookie() -> str:
    prefix = "__Host-" if services().settings.secure_cookies else ""
    return f"{prefix}torikomi_operator"


def _pass(token: str) -> str:
    secret = services().settings.session_secret.get_secret_value().encode()
    return hmac.new(secret, f"operator:{token}".encode(), hashlib.sha256).hexdigest()


def grant(response: Response, claims: Mapping[str, Any], token: str) -> None:
    """Give a new session the operator's pass when the token names the group, else take it back."""
    settings = services().settings
    groups = claims.get("cognito:groups")
    member = isinstance(groups, list) and settings.operator_group in groups
    response.set_cookie(
        _cookie(),
        _pass(token) if member else "",
        max_age=settings.session_absolute_seconds if member else 0,
        secure=settings.secure_cookies,
        httponly=True,
        samesite="Lax",
        path="/",
    )


def is_operator() -> bool:
    """Tell whether the session of this request carries the operator's pass."""
    token, shown = session_token(), request.cookies.get(_cookie(), "")
    return bool(token) and hmac.compare_digest(shown.encode(), _pass(str(token)).encode())


def operators_only(view: Callable[P, Response]) -> Callable[P, Response]:
    """Answer 404 to everybody else: the page does not exist for them."""

    @wraps(view)
    def checked(*args: P.args, **kwargs: P.kwargs) -> Response:
        if not is_operator():
            raise WebError("not_found")
        return view(*args, **kwargs)

    return checked


@blueprint.get("/operator")
@session
@operators_only
def show() -> Response:
    """Show the outbox, the breaker, the queues, and every import that needs a look."""
    with connection():
        breaker = status.get("dispatch_breaker")
        page = render_template(
            "operator.html",
            outbox=outbox.pending_summary(),
            breaker=breaker.data["state"] if breaker else "closed",
            queues=status.list_kind("queue"),
            dead_ages=samples.dead_letter_ages(),
            schedulers=status.list_kind("scheduler"),
            silent=overview.silent(longer_than_seconds=_SILENT_SECONDS, limit=_ROWS),
            given_up=overview.given_up(limit=_ROWS),
        )
    return live_page(page)


@blueprint.post("/operator/redrive/<child_id>")
@session
@operators_only
def redrive(child_id: str) -> Response:
    """Begin one failed import of anybody anew, under the same id."""
    csrf.small_form()
    try:
        redrives.redrive(checked_id(child_id), actor=current_subject().id)
    except Conflict as error:
        ignore_ended(error)
    return redirect("/operator", code=303)
