"""Bearer tokens: good ones name a subject, every other one is 401 and never 500."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from flask import Flask
from flask.testing import FlaskClient

from tests.web.conftest import ISSUER, Issuer, jwk_of, make_settings
from web.cognito import KeySet, TokenVerifier, fetch_jwks
from web.errors import WebError

OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def b64(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def unsigned(header: Any, claims: Any, signature: bytes = b"x") -> str:
    return f"{b64(header)}.{b64(claims)}.{b64(signature)}"


def hs256_with_public_key(i: Issuer) -> str:
    """The classic confusion: our public key used as an HMAC secret."""
    public = i.key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    import hashlib
    import hmac

    signed = f"{b64({'alg': 'HS256', 'kid': i.kid})}.{b64(i.claims())}"
    return f"{signed}.{b64(hmac.new(public, signed.encode(), hashlib.sha256).digest())}"


def tampered(i: Issuer) -> str:
    head, _, signature = i.token().split(".")
    return f"{head}.{b64(i.claims(sub='somebody-else'))}.{signature}"


def signed_as_is(i: Issuer, claims: Any) -> str:
    """Sign claims that the library would refuse to encode."""
    raw = json.dumps(claims).encode()
    return jwt.api_jws.encode(raw, i.key, "RS256", headers={"kid": i.kid})


def now() -> int:
    return int(time.time())


BAD_TOKENS: dict[str, Callable[[Issuer], str]] = {
    "empty": lambda i: " ",
    "one word": lambda i: "token",
    "two parts": lambda i: "a.b",
    "four parts": lambda i: i.token() + ".x",
    "not base64": lambda i: "%%%.###.!!!",
    "not JSON": lambda i: f"{b64(b'{')}.{b64(b'{')}.{b64(b'x')}",
    "deep JSON": lambda i: unsigned(b"[" * 3000, {}),
    "header is a list": lambda i: unsigned([], i.claims()),
    "header is a number": lambda i: unsigned(1, i.claims()),
    "alg none": lambda i: unsigned({"alg": "none", "kid": i.kid}, i.claims(), b""),
    "alg None": lambda i: unsigned({"alg": None, "kid": i.kid}, i.claims()),
    "alg is a list": lambda i: unsigned({"alg": ["RS256"], "kid": i.kid}, i.claims()),
    "no alg": lambda i: unsigned({"kid": i.kid}, i.claims()),
    "HS256 with the public key": hs256_with_public_key,
    "RS512": lambda i: jwt.encode(i.claims(), i.key, "RS512", headers={"kid": i.kid}),
    "PS256": lambda i: jwt.encode(i.claims(), i.key, "PS256", headers={"kid": i.kid}),
    "ES256": lambda i: jwt.encode(i.claims(), EC_KEY, "ES256", headers={"kid": i.kid}),
    "another key, our kid": lambda i: jwt.encode(
        i.claims(), OTHER_KEY, "RS256", headers={"kid": i.kid}
    ),
    "unknown kid": lambda i: jwt.encode(i.claims(), OTHER_KEY, "RS256", headers={"kid": "k2"}),
    "no kid": lambda i: jwt.encode(i.claims(), i.key, "RS256"),
    "kid is a number": lambda i: unsigned({"alg": "RS256", "kid": 1}, i.claims()),
    "kid is long": lambda i: i.token(headers={"kid": "k" * 300}),
    "crit": lambda i: i.token(headers={"crit": ["exp"]}),
    "jku": lambda i: i.token(headers={"jku": i.url}),
    "x5u": lambda i: i.token(headers={"x5u": i.url}),
    "jwk": lambda i: i.token(headers={"jwk": jwk_of(OTHER_KEY, "k")}),
    "tampered": tampered,
    "no signature": lambda i: i.token().rpartition(".")[0] + ".",
    "expired": lambda i: i.token(exp=now() - 120),
    "exp is text": lambda i: i.token(exp="tomorrow"),
    "exp is infinite": lambda i: i.token(exp=float("inf")),
    "no exp": lambda i: i.token(exp=None),
    "not yet valid": lambda i: i.token(nbf=now() + 300),
    "nbf is text": lambda i: i.token(nbf="now"),
    "issued in the future": lambda i: i.token(iat=now() + 300),
    "no iat": lambda i: i.token(iat=None),
    "another pool": lambda i: i.token(iss=ISSUER + "2"),
    "a part of the issuer": lambda i: i.token(iss=ISSUER[:-1]),
    "issuers in a list": lambda i: signed_as_is(i, {**i.claims(), "iss": [ISSUER]}),
    "no issuer": lambda i: i.token(iss=None),
    "an ID token": lambda i: i.token(token_use="id"),
    "no use": lambda i: i.token(token_use=None),
    "another client": lambda i: i.token(client_id="other"),
    "no client": lambda i: i.token(client_id=None),
    "clients in a list": lambda i: i.token(client_id=["client-of-the-tests"]),
    "no subject": lambda i: i.token(sub=None),
    "an empty subject": lambda i: i.token(sub=""),
    "a blank subject": lambda i: i.token(sub="  "),
    "a subject with NUL": lambda i: i.token(sub="a\x00b"),
    "a long subject": lambda i: i.token(sub="s" * 51),
    "a number as subject": lambda i: signed_as_is(i, {**i.claims(), "sub": 7}),
    "claims are a list": lambda i: signed_as_is(i, []),
    "more than 8 kB": lambda i: i.token(filler="x" * 9000),
    "not ASCII": lambda i: i.token() + "é",
}


@pytest.mark.parametrize("make", BAD_TOKENS.values(), ids=BAD_TOKENS.keys())
def test_a_bad_token_is_401(client: FlaskClient, issuer: Issuer, make: Any) -> None:
    answer = client.get("/api/v1/batches", headers={"Authorization": f"Bearer {make(issuer)}"})
    assert answer.status_code == 401
    assert answer.content_type == "application/problem+json"
    assert answer.json["code"] in ("token_invalid", "token_expired")
    assert "invalid_token" in answer.headers["WWW-Authenticate"]


def test_a_good_token_is_let_in_with_a_minute_of_leeway(
    client: FlaskClient, issuer: Issuer
) -> None:
    for changes in ({}, {"exp": now() - 30}, {"iat": now() + 30}, {"sub": "s" * 50}):
        headers = {"Authorization": f"Bearer {issuer.token(**changes)}"}
        assert client.get("/api/v1/batches", headers=headers).status_code == 200


def test_a_missing_header_or_another_scheme_is_401(client: FlaskClient, issuer: Issuer) -> None:
    missing = client.get("/api/v1/batches")
    assert (missing.status_code, missing.json["code"]) == (401, "token_missing")
    assert missing.headers["WWW-Authenticate"] == "Bearer"
    basic = client.get("/api/v1/batches", headers={"Authorization": "Basic Zm9vOmJhcg=="})
    assert basic.status_code == 401
    bare = client.get("/api/v1/batches", headers={"Authorization": issuer.token()})
    assert bare.status_code == 401


def test_a_flood_of_unknown_keys_costs_two_fetches_at_most(app: Flask, issuer: Issuer) -> None:
    client = app.test_client()
    for number in range(100):
        token = jwt.encode(issuer.claims(), OTHER_KEY, "RS256", headers={"kid": f"k{number}"})
        answer = client.get("/api/v1/batches", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 401
    assert len(issuer.requests) <= 2
    good = {"Authorization": f"Bearer {issuer.token()}"}
    assert client.get("/api/v1/batches", headers=good).status_code == 200


def test_known_keys_outlive_an_outage_of_their_source(issuer: Issuer) -> None:
    keys = KeySet(lambda: fetch_jwks(issuer.url), lifetime_seconds=0, cooldown_seconds=0)
    verifier = TokenVerifier(make_settings(issuer), keys)
    assert verifier.verify(issuer.token())
    issuer.broken = True
    assert verifier.verify(issuer.token())
    with pytest.raises(WebError, match="token_invalid"):
        verifier.verify(jwt.encode(issuer.claims(), OTHER_KEY, "RS256", headers={"kid": "new"}))


def test_without_any_key_the_answer_is_503_and_heals(client: FlaskClient, issuer: Issuer) -> None:
    issuer.broken = True
    headers = {"Authorization": f"Bearer {issuer.token()}"}
    answer = client.get("/api/v1/batches", headers=headers)
    assert (answer.status_code, answer.json["code"]) == (503, "identity_unavailable")
    assert answer.json["retryable"] is True
    assert int(answer.headers["Retry-After"]) > 0
    issuer.broken = False
    deadline = time.monotonic() + 5
    while client.get("/api/v1/batches", headers=headers).status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_rotated_key_is_found_after_the_cooldown(issuer: Issuer) -> None:
    keys = KeySet(lambda: fetch_jwks(issuer.url), cooldown_seconds=0.2)
    verifier = TokenVerifier(make_settings(issuer), keys)
    verifier.verify(issuer.token())
    issuer.published["keys"].append(jwk_of(OTHER_KEY, "next"))
    token = jwt.encode(issuer.claims(), OTHER_KEY, "RS256", headers={"kid": "next"})
    time.sleep(0.25)
    assert verifier.verify(token)["client_id"]
    assert verifier.verify(issuer.token())


def test_threads_that_miss_together_share_one_fetch(issuer: Issuer) -> None:
    def slow_fetch() -> Any:
        time.sleep(0.2)
        return fetch_jwks(issuer.url)

    keys = KeySet(slow_fetch)
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(keys.find(issuer.kid))) for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12
    assert all(found)
    assert len(issuer.requests) == 1
