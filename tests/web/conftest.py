"""The HTTP edge on real parts: PostgreSQL, the emulator, a signing key of our own with a real
JWKS server. Faults come in through storages that stand behind the same interface."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from flask import Flask, Response, request
from flask.testing import FlaskClient

from jobs.sealing import new_pair
from jobs.settings import StorageSettings
from jobs.storage import Storage
from web.factory import create_app
from web.settings import WebSettings

ISSUER = "https://cognito-idp.ap-northeast-1.amazonaws.com/ap-northeast-1_Tests"
CLIENT_ID = "client-of-the-tests"
SEALING_PAIR = new_pair()
WEBHOOK_SECRETS = "whsec_" + "QUFB" * 8 + ",whsec_" + "QkJC" * 8


@dataclass
class Issuer:
    """A user pool's key: signs tokens and publishes its JWKS on a real port."""

    url: str
    key: rsa.RSAPrivateKey
    kid: str = "key-1"
    requests: list[str] = field(default_factory=list)
    published: dict[str, Any] = field(default_factory=dict)
    broken: bool = False

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Return the claims of a good access token, with `changes`; None removes one."""
        now = int(time.time())
        claims = {
            "sub": str(uuid.uuid4()),
            "iss": ISSUER,
            "client_id": CLIENT_ID,
            "token_use": "access",
            "iat": now,
            "exp": now + 3600,
            "username": "tester",
            **changes,
        }
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, *, headers: dict[str, Any] | None = None, **changes: Any) -> str:
        """Return a signed token."""
        claims = self.claims(**changes)
        return jwt.encode(
            claims, self.key, algorithm="RS256", headers={"kid": self.kid, **(headers or {})}
        )


@pytest.fixture(scope="session")
def signing_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def jwk_of(key: rsa.RSAPrivateKey, kid: str) -> dict[str, Any]:
    """Return the public JWK of a key as Cognito publishes it."""
    jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    return {**jwk, "kid": kid, "use": "sig", "alg": "RS256"}


@pytest.fixture
def issuer(signing_key: rsa.RSAPrivateKey) -> Iterator[Issuer]:
    """A JWKS server on loopback with one key."""
    made: Issuer

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.requests.append(self.path)
            body = b"gone" if made.broken else json.dumps(made.published).encode()
            self.send_response(500 if made.broken else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Issuer(url=f"http://127.0.0.1:{server.server_port}/jwks.json", key=signing_key)
    made.published = {"keys": [jwk_of(signing_key, made.kid)]}
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def settings(issuer: Issuer, aws: Any) -> WebSettings:
    return make_settings(issuer)


def make_settings(issuer: Issuer, **changes: Any) -> WebSettings:
    """Return settings that trust the test's issuer."""
    values: dict[str, Any] = {
        "cognito_issuer": ISSUER,
        "cognito_jwks_url": issuer.url,
        "cognito_client_id": CLIENT_ID,
        "session_secret": "s" * 48,
        "webhook_secrets": WEBHOOK_SECRETS,
        "sealing_public_key": SEALING_PAIR[0],
        "secure_cookies": False,
        "max_upload_bytes": 1 << 20,
        "max_batch_files": 5,
        "body_idle_seconds": 2,
        **changes,
    }
    return WebSettings(**values)


@pytest.fixture
def storage(aws: Any) -> Storage:
    return Storage(StorageSettings())


@pytest.fixture
def app(settings: WebSettings, storage: Storage, database: str) -> Iterator[Flask]:
    """The application; whatever it answers in a test must be in its own OpenAPI document."""
    made = create_app(settings, storage)
    lies: list[str] = []
    made.after_request(lambda response: note_lies(made, response, lies))
    yield made
    assert not lies


def note_lies(app: Flask, response: Response, lies: list[str]) -> Response:
    """Note an API answer whose status, media type or code the document does not have."""
    rule = request.url_rule
    if rule is None or not rule.rule.startswith("/api/v1/") or response.status_code == 405:
        return response
    path = rule.rule.replace("<", "{").replace(">", "}")
    operation = app.extensions["torikomi_openapi"]["paths"].get(path, {})
    answers = operation.get(request.method.lower(), {}).get("responses", {})
    answer = answers.get(str(response.status_code))
    told = f"{request.method} {path} {response.status_code} {response.mimetype}"
    if answer is None or response.mimetype not in answer.get("content", {response.mimetype: None}):
        lies.append(told)
    elif response.mimetype == "application/problem+json":
        codes = answer["content"][response.mimetype]["schema"]["properties"]["code"]["enum"]
        if response.json["code"] not in codes:
            lies.append(f"{told} {response.json['code']}")
    return response


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@dataclass
class Person:
    """One subject with its token."""

    sub: str
    headers: dict[str, str]


@pytest.fixture
def new_person(issuer: Issuer) -> Callable[[], Person]:
    """Make subjects with good tokens."""

    def make() -> Person:
        sub = str(uuid.uuid4())
        return Person(sub, {"Authorization": f"Bearer {issuer.token(sub=sub)}"})

    return make


@pytest.fixture
def person(new_person: Callable[[], Person]) -> Person:
    return new_person()


@pytest.fixture
def stranger(new_person: Callable[[], Person]) -> Person:
    return new_person()
