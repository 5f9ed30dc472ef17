"""Cognito: the pool's public keys, the check of its access tokens, the password sign-in.

https://docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-tokens-verifying-a-jwt.html
"""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

import boto3
import jwt
import structlog
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from web.errors import WebError
from web.metrics import JWKS_REFRESHES
from web.settings import WebSettings

log = structlog.get_logger(__name__)

MAX_TOKEN_BYTES = 8 * 1024
LEEWAY_SECONDS = 60
MAX_SUBJECT_CHARS = 50
_MAX_JWKS_BYTES = 256 * 1024
#: Headers that would let a token choose its own key or rules.
_FORBIDDEN_HEADERS = frozenset({"crit", "jku", "jwk", "x5u", "x5c"})


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nobody anywhere."""

    def redirect_request(self, *_: Any) -> None:  # the signature is urllib's
        return None


def fetch_jwks(url: str) -> Mapping[str, jwt.PyJWK]:
    """Download the key set; no redirects, 3 s. Raises OSError or ValueError."""
    opener = urllib.request.build_opener(NoRedirect)
    with opener.open(url, timeout=3) as answer:
        document = json.loads(answer.read(_MAX_JWKS_BYTES))
    keys = {}
    for entry in document["keys"]:
        if entry.get("kty") == "RSA" and entry.get("use", "sig") == "sig" and entry.get("kid"):
            keys[str(entry["kid"])] = jwt.PyJWK(entry, algorithm="RS256")
    if not keys:
        raise ValueError("the key set has no RSA signing key")
    return keys


class KeySet:
    """The pool's keys by kid, for all threads.

    Keys are fetched again after `lifetime_seconds`, or for an unknown kid, but never more often
    than every `cooldown_seconds`; while the source is down the last good keys stay in use.
    Threads that miss at the same time share one fetch.
    """

    def __init__(
        self,
        fetch: Callable[[], Mapping[str, jwt.PyJWK]],
        *,
        lifetime_seconds: float = 600,
        cooldown_seconds: float = 30,
    ) -> None:
        self._fetch = fetch
        self._lifetime_seconds, self._cooldown_seconds = lifetime_seconds, cooldown_seconds
        self._lock = threading.Lock()
        self._keys: Mapping[str, jwt.PyJWK] = {}
        self._tried_at = self._fetched_at = float("-inf")

    def find(self, kid: str) -> jwt.PyJWK | None:
        """Return the key, or None when the pool has no such key.

        Raises WebError("identity_unavailable") while no key set has ever been had.
        """
        key = self._keys.get(kid)
        stale = time.monotonic() - self._fetched_at > self._lifetime_seconds
        if key is None:
            with self._lock:
                self._refresh()
        elif stale and self._lock.acquire(blocking=False):
            try:
                self._refresh()
            finally:
                self._lock.release()
        if not self._keys:
            raise WebError("identity_unavailable")
        return self._keys.get(kid)

    def _refresh(self) -> None:
        now = time.monotonic()
        # Without any key an outage must not outlast itself by a whole cooldown.
        cooldown_seconds = self._cooldown_seconds if self._keys else 1.0
        if now - self._tried_at < cooldown_seconds:
            return
        try:
            self._keys = self._fetch()
            self._fetched_at = time.monotonic()
            JWKS_REFRESHES.labels("ok").inc()
        except (OSError, ValueError, KeyError, TypeError, jwt.PyJWTError) as error:
            JWKS_REFRESHES.labels("failed").inc()
            log.warning("jwks_not_fetched", error_class=type(error).__name__)
        finally:
            self._tried_at = time.monotonic()


class TokenVerifier:
    """Checks Cognito access tokens: RS256, our issuer, our client, for access, in its time."""

    def __init__(self, settings: WebSettings, keys: KeySet) -> None:
        self._issuer, self._client_id = settings.cognito_issuer, settings.cognito_client_id
        self._keys = keys

    def verify(self, token: str) -> dict[str, Any]:
        """Return the claims. Raises WebError, 401 for any token that is not perfect."""
        try:
            return self._claims(token)
        except jwt.ExpiredSignatureError as error:
            raise WebError("token_expired") from error
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError, OverflowError) as error:
            raise WebError("token_invalid") from error

    def _claims(self, token: str) -> dict[str, Any]:
        if len(token) > MAX_TOKEN_BYTES or not token.isascii():
            raise jwt.DecodeError("token is too large or not ASCII")
        header = jwt.get_unverified_header(token)
        kid = header.get("kid")
        if header.get("alg") != "RS256" or _FORBIDDEN_HEADERS & set(header):
            raise jwt.InvalidAlgorithmError("header is not one of Cognito's")
        if not isinstance(kid, str) or not 0 < len(kid) <= 256:
            raise jwt.DecodeError("kid is missing")
        key = self._keys.find(kid)
        if key is None:
            raise jwt.InvalidKeyError("kid is unknown")
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=["RS256"],
            issuer=self._issuer,
            leeway=LEEWAY_SECONDS,
            options={
                "require": ["exp", "iat", "iss", "sub", "token_use", "client_id"],
                "verify_aud": False,
            },
        )
        self._check_purpose(claims)
        return claims

    def _check_purpose(self, claims: Mapping[str, Any]) -> None:
        subject = claims["sub"]
        if claims["iss"] != self._issuer or claims["token_use"] != "access":  # noqa: S105 - a purpose, not a password
            raise jwt.InvalidTokenError("not an access token of our pool")
        if claims["client_id"] != self._client_id:
            raise jwt.InvalidTokenError("issued for another client")
        if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT_CHARS:
            raise jwt.InvalidTokenError("sub does not fit")
        if not subject.isprintable() or not subject.strip():
            raise jwt.InvalidTokenError("sub does not fit")


class SignIn:
    """Signs a person in by user name and password (InitiateAuth, USER_PASSWORD_AUTH)."""

    def __init__(self, settings: WebSettings) -> None:
        self._client_id = settings.cognito_client_id
        self._client = boto3.client(
            "cognito-idp",
            endpoint_url=settings.cognito_endpoint_url or settings.aws_endpoint_url,
            region_name=_region(settings),
            config=Config(
                signature_version=UNSIGNED,
                connect_timeout=3,
                read_timeout=10,
                retries={"total_max_attempts": 2},
            ),
        )

    def access_token(self, username: str, password: str) -> str:
        """Return a fresh access token. Raises WebError: wrong password, challenge, outage."""
        try:
            answer = self._client.initiate_auth(
                ClientId=self._client_id,
                AuthFlow="USER_PASSWORD_AUTH",
                AuthParameters={"USERNAME": username, "PASSWORD": password},
            )
        except ClientError as error:
            raise _sign_in_error(error) from error
        except BotoCoreError as error:
            raise WebError("identity_unavailable") from error
        result = answer.get("AuthenticationResult")
        if not result:
            raise WebError("sign_in_challenge")
        return str(result["AccessToken"])


def _region(settings: WebSettings) -> str:
    """Return the configured region, else the one that the issuer names."""
    if settings.aws_region:
        return settings.aws_region
    return settings.cognito_issuer.removeprefix("https://cognito-idp.").partition(".")[0]


def _sign_in_error(error: ClientError) -> WebError:
    code = error.response.get("Error", {}).get("Code", "")
    if code in ("NotAuthorizedException", "UserNotFoundException", "InvalidParameterException"):
        return WebError("sign_in_failed")
    if code in ("PasswordResetRequiredException", "UserNotConfirmedException"):
        return WebError("sign_in_challenge")
    if code in ("TooManyRequestsException", "LimitExceededException"):
        return WebError("rate_limited")
    log.error("sign_in_unavailable", error_code=code)
    return WebError("identity_unavailable")
