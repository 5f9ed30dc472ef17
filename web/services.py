"""The objects that `create_app` builds and the views use; one set per application."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from flask import current_app

from jobs.storage import Storage
from web.cognito import SignIn, TokenVerifier
from web.hosted import HostedSignIn
from web.settings import WebSettings

if TYPE_CHECKING:  # these use services() themselves, or what does
    from web.attempts import Attempts
    from web.health import Readiness
    from web.limits import RateLimit
    from web.waiting import Waiters

EXTENSION = "torikomi"


@dataclass(frozen=True, kw_only=True)
class Services:
    """What a view may reach besides the models."""

    settings: WebSettings
    storage: Storage
    verifier: TokenVerifier
    sign_in: SignIn
    hosted: HostedSignIn
    waiters: Waiters
    rate_limit: RateLimit
    sign_in_attempts: Attempts
    readiness: Readiness


def services() -> Services:
    """Return the services of the running application."""
    return cast(Services, current_app.extensions[EXTENSION])
