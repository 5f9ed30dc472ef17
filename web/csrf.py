"""Form tokens: HMAC over the session's seed, so nothing is stored and no form can be foreign.

Before sign-in the seed is a random cookie of its own. Browsers that send Sec-Fetch-Site are
believed as well.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from urllib.parse import parse_qs

from flask import g, request
from werkzeug.wrappers import Response

from web.body import request_body
from web.errors import WebError
from web.services import services

FIELD = "csrf_token"
MAX_FORM_BYTES = 16 * 1024


def _visitor_cookie() -> str:
    prefix = "__Host-" if services().settings.secure_cookies else ""
    return f"{prefix}torikomi_visitor"


def _seed() -> str:
    """Return what the token is bound to: the session, or a visitor's own random cookie."""
    if "session" in g:
        return f"session:{g.session.csrf_seed}"
    if "visitor" not in g:
        g.visitor = request.cookies.get(_visitor_cookie()) or secrets.token_urlsafe(24)
    return f"visitor:{g.visitor}"


def token() -> str:
    """Return the token for the forms of the current page."""
    secret = services().settings.session_secret.get_secret_value().encode()
    return hmac.new(secret, f"csrf:{_seed()}".encode(), hashlib.sha256).hexdigest()


def check(value: str) -> None:
    """Raise WebError unless `value` is the current page's token and the form is our own."""
    own_site = request.headers.get("Sec-Fetch-Site", "same-origin") in ("same-origin", "none")
    if not own_site or not hmac.compare_digest(value.encode(), token().encode()):
        raise WebError("csrf_failed")


def remember_visitor(response: Response) -> None:
    """Give a visitor without a session the cookie that the page's token is bound to."""
    if "visitor" in g and request.cookies.get(_visitor_cookie()) != g.visitor:
        response.set_cookie(
            _visitor_cookie(),
            g.visitor,
            secure=services().settings.secure_cookies,
            httponly=True,
            samesite="Lax",
            path="/",
        )


def small_form() -> dict[str, str]:
    """Read a urlencoded form of at most 16 KiB and check its token. Raises WebError."""
    if request.mimetype != "application/x-www-form-urlencoded":
        raise WebError("content_type_unsupported")
    with request_body(limit_bytes=MAX_FORM_BYTES) as body:
        raw = body.read_all()
    try:
        parsed = parse_qs(raw.decode("utf-8"), keep_blank_values=True, max_num_fields=32)
    except ValueError as error:
        raise WebError("bad_request") from error
    fields = {name: values[0] for name, values in parsed.items() if len(values) == 1}
    check(fields.get(FIELD, ""))
    return fields
