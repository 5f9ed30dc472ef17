"""The web's part of `doctor`: do the settings of the user pool fit each other and the pool."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import ValidationError

from jobs.findings import Finding, ok, problem, warning
from web.cognito import SignIn, fetch_jwks
from web.errors import WebError
from web.settings import WebSettings

_ISSUER = re.compile(r"https://cognito-idp\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?/[\w-]+")


def check_sign_in() -> Iterator[Finding]:
    """Look at the issuer, its keys and its client. Nobody is signed in."""
    try:
        settings = WebSettings()
    except ValidationError:
        return  # said with the settings
    if not _ISSUER.fullmatch(settings.cognito_issuer):
        step = "set COGNITO_ISSUER to https://cognito-idp.REGION.amazonaws.com/POOL_ID exactly"
        yield problem("sign-in issuer", "it is none of Cognito's: no token will be taken", step)
    elif not settings.cognito_issuer.endswith(settings.cognito_user_pool_id):
        step = "name the same pool in COGNITO_ISSUER and COGNITO_USER_POOL_ID"
        yield problem("sign-in issuer", "it is another pool's", step)
    yield _keys(settings)
    yield _client(settings)
    if not settings.secure_cookies:
        step = "set SECURE_COOKIES=1 wherever people come by https"
        yield warning("cookies", "they travel without https", step)


def _keys(settings: WebSettings) -> Finding:
    try:
        keys = fetch_jwks(settings.cognito_jwks_url)
    except (OSError, ValueError, KeyError, TypeError) as error:
        step = "check COGNITO_JWKS_URL and the way to it"
        return problem("sign-in keys", f"no key set there ({type(error).__name__})", step)
    return ok("sign-in keys", f"{len(keys)} keys")


def _client(settings: WebSettings) -> Finding:
    """Try a user that nobody is: the pool's refusal tells that the client may ask."""
    try:
        SignIn(settings).access_token("torikomi-doctor", "no-such-password-0")
    except WebError as error:
        # This is what Cognito says of a flow that the client does not allow.
        refused = getattr(error.__cause__, "response", {}).get("Error", {}).get("Code")
        if error.code == "sign_in_failed" and refused != "InvalidParameterException":
            return ok("sign-in client", "the pool answers it")
        step = (
            "check COGNITO_CLIENT_ID and AWS_REGION, and that the client allows "
            "USER_PASSWORD_AUTH and has no secret"
        )
        return problem("sign-in client", f"the pool does not serve it ({error.code})", step)
    return warning("sign-in client", "anybody may sign in", "remove the user torikomi-doctor")
