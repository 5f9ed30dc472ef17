"""create_app(): blueprints, error table, request id, headers on every answer. No network here."""

from __future__ import annotations

import re
import secrets
import time
from functools import partial

import structlog
from flask import Flask, Response, g, request
from flask_babel import Babel
from structlog.contextvars import bind_contextvars, clear_contextvars
from werkzeug.exceptions import BadRequest

from jobs.storage import Storage
from web import (
    csrf,
    docs,
    errors,
    health,
    hooks,
    languages,
    metrics,
    operators,
    pages,
    result_pages,
    sign_in,
    sources,
)
from web.api import batches as api_batches
from web.api import children as api_children
from web.api import document
from web.api import endpoints as api_endpoints
from web.api import results as api_results
from web.api import uploads as api_uploads
from web.attempts import Attempts
from web.auth import KINDS
from web.cognito import KeySet, SignIn, TokenVerifier, fetch_jwks
from web.hosted import HostedSignIn
from web.limits import RateLimit
from web.services import EXTENSION, Services, services
from web.settings import WebSettings
from web.views import template_names
from web.waiting import Waiters
from web.wire import WIRE, Wire

log = structlog.get_logger(__name__)

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "X-Frame-Options": "DENY",
}
_STRICT_TRANSPORT = "max-age=31536000; includeSubDomains"


def create_app(settings: WebSettings, storage: Storage) -> Flask:
    """Build the WSGI application. Opens no connection; raises ValueError for an undeclared view."""
    app = Flask(__name__)
    app.config["BABEL_DEFAULT_LOCALE"] = "en"
    Babel(
        app, locale_selector=languages.language, timezone_selector=lambda: settings.display_timezone
    )
    keys = KeySet(partial(fetch_jwks, settings.cognito_jwks_url))
    app.extensions[EXTENSION] = Services(
        settings=settings,
        storage=storage,
        verifier=TokenVerifier(settings, keys),
        sign_in=SignIn(settings),
        hosted=HostedSignIn(settings),
        waiters=Waiters(settings.max_waiters),
        rate_limit=RateLimit(settings.rate_limit_requests, settings.rate_limit_seconds),
        sign_in_attempts=Attempts(settings),
        readiness=health.Readiness(),
    )
    for module in (api_children, api_results, api_batches, api_uploads, api_endpoints):
        app.register_blueprint(module.blueprint)
    for module in (hooks, health, docs, sign_in, pages, result_pages, sources, operators):
        app.register_blueprint(module.blueprint)
    errors.register(app)
    app.extensions[WIRE] = Wire(app)
    app.extensions[metrics.LISTENER] = metrics.listener(settings)
    app.before_request(_begin)
    app.after_request(_finish)
    app.context_processor(template_names)
    _require_declared_auth(app)
    docs.publish(app, document.build(app))
    return app


def _require_declared_auth(app: Flask) -> None:
    for endpoint, view in app.view_functions.items():
        if endpoint != "static" and getattr(view, "auth", None) not in KINDS:
            raise ValueError(f"{endpoint} does not declare whom it answers")


def _begin() -> None:
    clear_contextvars()
    offered = request.headers.get("X-Request-Id", "")
    g.request_id = offered if _REQUEST_ID.fullmatch(offered) else secrets.token_hex(16)
    g.started = time.monotonic()
    bind_contextvars(request_id=g.request_id)
    # PostgreSQL text takes no NUL, so no path or query with one can name anything.
    if "\x00" in request.path or any("\x00" in v for v in request.args.values()):
        raise BadRequest


def _finish(response: Response) -> Response:
    settings = services().settings
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    if settings.secure_cookies:
        response.headers["Strict-Transport-Security"] = _STRICT_TRANSPORT
    response.headers["X-Request-Id"] = g.get("request_id", "")
    if request.endpoint != "static" and not response.cache_control.immutable:
        response.headers["Cache-Control"] = "private, no-store"
        response.vary.update(("Cookie", "Authorization"))
    languages.remember(response, secure=settings.secure_cookies)
    csrf.remember_visitor(response)
    seconds = time.monotonic() - g.get("started", time.monotonic())
    metrics.note_request(request.endpoint, request.path, response.status_code, seconds)
    quiet = request.endpoint == "static" or request.path in ("/livez", "/readyz")
    (log.debug if quiet else log.info)(
        "request_finished",
        method=request.method,
        route=str(request.url_rule) if request.url_rule else None,
        status=response.status_code,
        duration_s=round(seconds, 4),
    )
    return response
