"""The sign-in and sign-out pages: user name and password against the Cognito pool."""

from __future__ import annotations

import structlog
from flask import Blueprint, make_response, redirect, render_template, request
from werkzeug.wrappers import Response

from models import sessions
from web import auth, csrf, operators
from web.auth import public, session
from web.catalogue import request_entry
from web.errors import WebError
from web.languages import language
from web.services import services

log = structlog.get_logger(__name__)
blueprint = Blueprint("sign_in", __name__)

_MAX_NAME_CHARS = 128
_MAX_PASSWORD_CHARS = 256


@blueprint.get("/sign-in")
@public
def show() -> Response:
    """Show the sign-in form."""
    return _form(next_target=request.args.get("next", "/"))


@blueprint.post("/sign-in")
@public
def submit() -> Response:
    """Sign in; a new session replaces the old one, so an id from before is worth nothing."""
    fields = csrf.small_form()
    target = auth.safe_target(fields.get("next", "/"))
    username = fields.get("username", "")[:_MAX_NAME_CHARS].strip()
    try:
        claims = _claims(username, fields.get("password", "")[:_MAX_PASSWORD_CHARS])
    except WebError as error:
        log.info("sign_in_refused", code=error.code)
        return _form(next_target=target, username=username, code=error.code)
    settings = services().settings
    if old := auth.session_token():
        sessions.delete_session(old)
    token = sessions.create_session(
        str(claims["sub"]),
        username,
        idle_seconds=settings.session_idle_seconds,
        absolute_seconds=settings.session_absolute_seconds,
    )
    log.info("signed_in")
    response = redirect(target, code=303)
    auth.set_session(response, token)
    operators.grant(response, claims, token)
    return response


@blueprint.post("/sign-out")
@session
def sign_out() -> Response:
    """End the session on the server and in the browser."""
    csrf.small_form()
    if token := auth.session_token():
        sessions.delete_session(token)
    response = redirect("/sign-in", code=303)
    auth.clear_session(response)
    return response


def _claims(username: str, password: str) -> dict[str, object]:
    if not username or not password or "\x00" in username:
        raise WebError("sign_in_failed")
    return services().verifier.verify(services().sign_in.access_token(username, password))


def _form(*, next_target: str, username: str = "", code: str | None = None) -> Response:
    entry = request_entry(code) if code else None
    page = render_template(
        "sign_in.html",
        next_target=auth.safe_target(next_target),
        entered=username,
        words=entry.text(language()) if entry else None,
        hint=services().settings.local_login_hint,
    )
    return make_response(page, entry.status if entry else 200)
