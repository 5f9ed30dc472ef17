"""Signing in on Cognito's own page: the authorization code flow with PKCE (RFC 7636).

What must come back unchanged (state, verifier, target) waits in a signed cookie of ten minutes.
https://docs.aws.amazon.com/cognito/latest/developerguide/authorization-endpoint.html
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from web.cognito import NoRedirect
from web.errors import WebError
from web.settings import WebSettings

FLOW_SECONDS = 600
CALLBACK = "/sign-in/callback"
_MAX_ANSWER_BYTES = 64 * 1024
_TIMEOUT_SECONDS = 10


@dataclass(frozen=True)
class Flow:
    """One sign-in under way."""

    state: str
    verifier: str
    target: str


class HostedSignIn:
    """The pool's domain as a place to sign in; `configured` says whether there is one."""

    def __init__(self, settings: WebSettings) -> None:
        self._domain = settings.cognito_domain.rstrip("/")
        self._client_id = settings.cognito_client_id
        self._client_secret = settings.cognito_client_secret.get_secret_value()
        self._redirect_uri = settings.public_url.rstrip("/") + CALLBACK
        self._key = settings.session_secret.get_secret_value().encode()

    @property
    def configured(self) -> bool:
        """Whether people sign in on the pool's own page."""
        return bool(self._domain)

    def begin(self, target: str) -> tuple[str, str]:
        """Return the address to go to and the cookie that the answer is checked against."""
        flow = Flow(secrets.token_urlsafe(24), secrets.token_urlsafe(48), target)
        digest = hashlib.sha256(flow.verifier.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": self._redirect_uri,
            "scope": "openid",
            "state": flow.state,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        return f"{self._domain}/oauth2/authorize?{urlencode(query)}", self._sealed(flow)

    def resume(self, cookie: str, state: str) -> Flow:
        """Return the flow of the cookie when it is ours, young, and `state` is its own.

        Raises WebError("sign_in_failed").
        """
        text, _, mark = cookie.rpartition(".")
        good = hmac.compare_digest(self._mark(text).encode(), mark.encode())
        fields = json.loads(base64.urlsafe_b64decode(text)) if good else {}
        if not good or fields["until"] < time.time():
            raise WebError("sign_in_failed")
        if not hmac.compare_digest(str(fields["state"]).encode(), state.encode()):
            raise WebError("sign_in_failed")
        return Flow(fields["state"], fields["verifier"], fields["target"])

    def access_token(self, flow: Flow, code: str) -> str:
        """Return the access token for a code. Raises WebError: a code that is none, an outage."""
        form = {
            "grant_type": "authorization_code",
            "client_id": self._client_id,
            "code": code,
            "redirect_uri": self._redirect_uri,
            "code_verifier": flow.verifier,
        }
        request = urllib.request.Request(  # noqa: S310 - https, or loopback, by the settings
            f"{self._domain}/oauth2/token",
            data=urlencode(form).encode(),
            headers={"Content-Type": "application/x-www-form-urlencoded", **self._basic()},
        )
        try:
            opener = urllib.request.build_opener(NoRedirect)
            with opener.open(request, timeout=_TIMEOUT_SECONDS) as answer:
                value: Any = json.loads(answer.read(_MAX_ANSWER_BYTES))
            return str(value["access_token"])
        except urllib.error.HTTPError as error:
            error.close()
            known = error.code in (400, 401)
            raise WebError("sign_in_failed" if known else "identity_unavailable") from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise WebError("identity_unavailable") from error

    def _basic(self) -> dict[str, str]:
        if not self._client_secret:
            return {}
        pair = f"{self._client_id}:{self._client_secret}".encode()
        return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}

    def _sealed(self, flow: Flow) -> str:
        fields = {**vars(flow), "until": int(time.time()) + FLOW_SECONDS}
        text = base64.urlsafe_b64encode(json.dumps(fields).encode()).decode()
        return f"{text}.{self._mark(text)}"

    def _mark(self, text: str) -> str:
        return hmac.new(self._key, f"hosted:{text}".encode(), hashlib.sha256).hexdigest()
