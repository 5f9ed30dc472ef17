"""The sign-in and sign-out pages: user name and password, or Cognito's own page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog
from flask import Blueprint, make_response, redirect, render_template, request
from werkzeug.wrappers import Response

from models import sessions
from web import auth, csrf, operators
from web.auth import public, session
from web.catalogue import request_entry
from web.errors import WebError
from web.hosted import CALLBACK, FLOW_SECONDS
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
        with services().sign_in_attempts.counted(username):
            claims = _claims(username, fields.get("password", "")[:_MAX_PASSWORD_CHARS])
    except WebError as error:
        log.info("sign_in_refused", code=error.code)
        response = _form(next_target=target, username=username, code=error.code)
        response.headers.update(error.headers)
        return response
    return _begin_session(claims, username, target)


@blueprint.get("/sign-in/hosted")
@public
def go_to_hosted() -> Response:
    """Send the browser to the pool's own sign-in page."""
    hosted = services().hosted
    if not hosted.configured:
        raise WebError("not_found")
    address, cookie = hosted.begin(auth.safe_target(request.args.get("next", "/")))
    response = redirect(address, code=303)
    response.set_cookie(
        _flow_cookie(),
        cookie,
        max_age=FLOW_SECONDS,
        secure=services().settings.secure_cookies,
        httponly=True,
        samesite="Lax",
        path="/",
    )
    return response


@blueprint.get(CALLBACK)
@public
def come_back() -> Response:
    """Take a person in whom the pool's own page sends back."""
    hosted, target = services().hosted, "/"
    if not hosted.configured:
        raise WebError("not_found")
    try:
        flow = hosted.resume(request.cookies.get(_flow_cookie(), ""), request.args.get("state", ""))
        target = auth.safe_target(flow.target)
        if not request.args.get("code"):
            raise WebError("sign_in_failed")
        claims = services().verifier.verify(hosted.access_token(flow, request.args["code"]))
    except WebError as error:
        log.info("sign_in_refused", code=error.code)
        response = _form(next_target=target, code=error.code)
    else:
        username = str(claims.get("username", claims["sub"]))[:_MAX_NAME_CHARS]
        response = _begin_session(claims, username, target)
    response.delete_cookie(
        _flow_cookie(), secure=services().settings.secure_cookies, httponly=True, samesite="Lax"
    )
    return response


def _flow_cookie() -> str:
    prefix = "__Host-" if services().settings.secure_cookies else ""
    return f"{prefix}torikomi_flow"


def _begin_session(claims: Mapping[str, Any], username: str, target: str) -> Response:
    """Begin a session in place of the old one, and go where the person wanted to."""
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
        hosted=services().hosted.configured,
    )
    return make_response(page, entry.status if entry else 200)
