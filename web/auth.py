"""Caller → Subject. Every view says by a decorator whom it answers; none answers by accident."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec
from urllib.parse import quote

from flask import Response, g, redirect, request
from werkzeug.wrappers import Response as BaseResponse

from models import sessions
from web.errors import WebError
from web.services import services

P = ParamSpec("P")
View = Callable[P, BaseResponse]

#: Values of the `auth` attribute of a view.
KINDS = frozenset({"public", "bearer", "session", "signed"})


@dataclass(frozen=True)
class Subject:
    """Who calls: the Cognito `sub`, which is all that audit columns ever hold."""

    id: str


def _declare(kind: str, view: View[P]) -> View[P]:
    view.auth = kind  # type: ignore[attr-defined]  # the mark that factory.py looks for
    return view


def public(view: View[P]) -> View[P]:
    """Answer anybody."""
    return _declare("public", view)


def signed(view: View[P]) -> View[P]:
    """Answer holders of a webhook secret; the view itself verifies the signature."""
    return _declare("signed", view)


def bearer(view: View[P]) -> View[P]:
    """Answer holders of a Cognito access token; a cookie alone is nothing here."""

    @wraps(view)
    def checked(*args: P.args, **kwargs: P.kwargs) -> BaseResponse:
        g.subject = _subject_of_token()
        services().rate_limit.check(g.subject.id)
        return view(*args, **kwargs)

    return _declare("bearer", checked)


def session(view: View[P]) -> View[P]:
    """Answer signed-in people; others are sent to the sign-in page and back."""

    @wraps(view)
    def checked(*args: P.args, **kwargs: P.kwargs) -> BaseResponse:
        found = _read_session()
        if found is None:
            return _to_sign_in()
        g.session = found
        g.subject = Subject(found.subject)
        return view(*args, **kwargs)

    return _declare("session", checked)


def _read_session() -> sessions.Session | None:
    token = session_token()
    if not token:
        return None
    return sessions.read_session(token, idle_seconds=services().settings.session_idle_seconds)


def current_subject() -> Subject:
    """Return the caller that the view's decorator has checked."""
    subject: Subject = g.subject
    return subject


def _subject_of_token() -> Subject:
    values = request.headers.getlist("Authorization")
    if not values:
        raise WebError("token_missing")
    scheme, _, token = values[0].partition(" ")
    if len(values) != 1 or scheme.lower() != "bearer" or not token:
        raise WebError("token_invalid")
    return Subject(str(services().verifier.verify(token)["sub"]))


def cookie_name() -> str:
    """Return the session cookie's name; `__Host-` binds it to this host over https."""
    prefix = "__Host-" if services().settings.secure_cookies else ""
    return f"{prefix}torikomi_session"


def session_token() -> str | None:
    """Return the opaque session token of the request, or None."""
    return request.cookies.get(cookie_name())


def set_session(response: Response | BaseResponse, token: str) -> None:
    """Hand the session to the browser."""
    settings = services().settings
    response.set_cookie(
        cookie_name(),
        token,
        max_age=settings.session_absolute_seconds,
        secure=settings.secure_cookies,
        httponly=True,
        samesite="Lax",
        path="/",
    )


def clear_session(response: Response | BaseResponse) -> None:
    """Take the session back from the browser."""
    response.delete_cookie(
        cookie_name(),
        secure=services().settings.secure_cookies,
        httponly=True,
        samesite="Lax",
        path="/",
    )


def _to_sign_in() -> BaseResponse:
    target = request.full_path.rstrip("?") if request.method == "GET" else "/"
    return redirect(f"/sign-in?next={quote(target)}", code=303)


def safe_target(target: str) -> str:
    """Return `target` when it is a path of this site, else "/"."""
    plain = target.isprintable() and "\\" not in target
    return target if plain and target.startswith("/") and not target.startswith("//") else "/"
