"""Signing in on the pool's own page (code flow with PKCE), and how often it may fail."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask.testing import FlaskClient
from pydantic import ValidationError

from jobs.storage import Storage
from tests.builders import rows
from tests.web.conftest import CLIENT_ID, Issuer, make_settings
from tests.web.test_pages import hidden, pool_settings
from web.catalogue import request_entry
from web.factory import create_app
from web.hosted import HostedSignIn

PUBLIC = "https://torikomi.example"


@dataclass
class Domain:
    """A pool's domain: gives a token for a code when the verifier fits its challenge."""

    url: str
    issuer: Issuer
    challenge: str = ""
    token: str = ""
    status: int = 200
    forms: list[dict[str, list[str]]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def answer(self, body: bytes) -> tuple[int, bytes]:
        form = parse_qs(body.decode())
        self.forms.append(form)
        digest = hashlib.sha256(form["code_verifier"][0].encode()).digest()
        fits = base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == self.challenge
        if self.status != 200 or not fits or form["code"] != ["good"]:
            return self.status if self.status != 200 else 400, b'{"error": "invalid_grant"}'
        return 200, json.dumps({"access_token": self.token, "token_type": "Bearer"}).encode()


@pytest.fixture
def domain(issuer: Issuer) -> Iterator[Domain]:
    made: Domain

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            made.headers.append(dict(self.headers))
            status, body = made.answer(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Domain(f"http://127.0.0.1:{server.server_port}", issuer, token=issuer.token(sub="anna"))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def hosted(domain: Domain, issuer: Issuer, storage: Storage, database: str) -> FlaskClient:
    settings = make_settings(issuer, cognito_domain=domain.url, public_url=PUBLIC)
    return create_app(settings, storage).test_client()


def begin(client: FlaskClient, domain: Domain, target: str = "/batches") -> str:
    """Follow the link to the pool's page; return the state that it must bring back."""
    answer = client.get(f"/sign-in/hosted?next={target}")
    assert answer.status_code == 303
    place = urlsplit(answer.headers["Location"])
    query = {name: values[0] for name, values in parse_qs(place.query).items()}
    assert f"{place.scheme}://{place.netloc}{place.path}" == f"{domain.url}/oauth2/authorize"
    assert query["response_type"] == "code"
    assert query["client_id"] == CLIENT_ID
    assert query["redirect_uri"] == f"{PUBLIC}/sign-in/callback"
    assert query["code_challenge_method"] == "S256"
    domain.challenge = query["code_challenge"]
    return query["state"]


def test_a_person_signs_in_on_the_pools_own_page(hosted: FlaskClient, domain: Domain) -> None:
    page = hosted.get("/sign-in?next=/batches").get_data(as_text=True)
    assert "/sign-in/hosted?next=/batches" in page
    assert 'type="password"' not in page
    state = begin(hosted, domain)
    answer = hosted.get(f"/sign-in/callback?code=good&state={state}")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/batches")
    assert [row["subject"] for row in rows("SELECT subject FROM session")] == ["anna"]
    assert hosted.get("/batches").status_code == 200
    assert domain.forms[0]["grant_type"] == ["authorization_code"]
    assert hosted.get_cookie("torikomi_flow") is None


@pytest.mark.parametrize(
    "query",
    [
        "code=good&state=foreign",
        "code=good",
        "code=bad&state={state}",
        "error=access_denied&state={state}",
        "",
    ],
)
def test_what_comes_back_otherwise_opens_no_session(
    hosted: FlaskClient, domain: Domain, query: str
) -> None:
    state = begin(hosted, domain)
    answer = hosted.get(f"/sign-in/callback?{query.format(state=state)}")
    assert answer.status_code == 401
    assert rows("SELECT subject FROM session") == []
    # The flow is used up: a second try with the right values needs a new beginning.
    again = hosted.get(f"/sign-in/callback?code=good&state={state}")
    assert again.status_code == 401


def test_a_callback_that_nobody_began_or_a_forged_cookie_is_refused(
    hosted: FlaskClient, domain: Domain
) -> None:
    assert hosted.get("/sign-in/callback?code=good&state=x").status_code == 401
    state = begin(hosted, domain)
    cookie = hosted.get_cookie("torikomi_flow")
    assert cookie
    text, _, mark = cookie.value.rpartition(".")
    changed = json.loads(base64.urlsafe_b64decode(text)) | {"target": "//evil.example"}
    forged = base64.urlsafe_b64encode(json.dumps(changed).encode()).decode()
    hosted.set_cookie("torikomi_flow", f"{forged}.{mark}")
    assert hosted.get(f"/sign-in/callback?code=good&state={state}").status_code == 401


def test_an_outage_of_the_domain_is_503_and_a_foreign_token_no_session(
    hosted: FlaskClient, domain: Domain, issuer: Issuer
) -> None:
    domain.status = 500
    state = begin(hosted, domain)
    assert hosted.get(f"/sign-in/callback?code=good&state={state}").status_code == 503
    domain.status = 200
    domain.token = issuer.token(client_id="another")
    state = begin(hosted, domain)
    assert hosted.get(f"/sign-in/callback?code=good&state={state}").status_code == 401
    assert rows("SELECT subject FROM session") == []


def test_a_client_with_a_secret_shows_it_to_the_domain(
    domain: Domain, issuer: Issuer, aws: Any
) -> None:
    settings = make_settings(
        issuer, cognito_domain=domain.url, public_url=PUBLIC, cognito_client_secret="hush"
    )
    hosted = HostedSignIn(settings)
    address, cookie = hosted.begin("/")
    query = parse_qs(urlsplit(address).query)
    domain.challenge = query["code_challenge"][0]
    assert hosted.access_token(hosted.resume(cookie, query["state"][0]), "good") == domain.token
    pair = base64.b64encode(f"{CLIENT_ID}:hush".encode()).decode()
    assert domain.headers[0]["Authorization"] == f"Basic {pair}"


def test_without_a_domain_there_is_no_such_page(client: FlaskClient) -> None:
    for path in ("/sign-in/hosted", "/sign-in/callback?code=x&state=y"):
        assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "wrong",
    [
        {"cognito_domain": "https://pool.example"},
        {"cognito_domain": "http://pool.example", "public_url": PUBLIC},
        {"public_url": "ftp://torikomi.example"},
    ],
)
def test_a_domain_that_cannot_work_is_refused_at_the_start(
    issuer: Issuer, wrong: dict[str, str]
) -> None:
    with pytest.raises(ValidationError):
        make_settings(issuer, **wrong)


def attempt(client: FlaskClient, name: str, password: str, **headers: str) -> Any:
    fields = {
        "csrf_token": hidden(client.get("/sign-in"), "csrf_token"),
        "username": name,
        "password": password,
    }
    return client.post("/sign-in", data=fields, headers=headers)


def limited(aws: Any, issuer: Issuer, storage: Storage, **changes: int) -> FlaskClient:
    settings = pool_settings(aws, issuer).model_copy(update=changes)
    return create_app(settings, storage).test_client()


def test_a_name_may_fail_so_often_and_then_waits(
    aws: Any, issuer: Issuer, storage: Storage, database: str
) -> None:
    client = limited(aws, issuer, storage, sign_in_name_attempts=3)
    for _ in range(3):
        assert attempt(client, "demo", "wrong").status_code == 401
    refused = attempt(client, "DEMO", aws.provisioned.password)
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 300
    assert "torikomi_session" not in str(refused.headers)
    assert request_entry("sign_in_limited").en.title in refused.get_data(as_text=True)
    assert attempt(client, "another", "wrong").status_code == 401


def test_success_costs_no_attempt(
    aws: Any, issuer: Issuer, storage: Storage, database: str
) -> None:
    client = limited(aws, issuer, storage, sign_in_name_attempts=2)
    for _ in range(4):
        assert attempt(client, "demo", aws.provisioned.password).status_code == 303
        client.delete_cookie("torikomi_session")


def test_an_address_may_fail_so_often_whatever_the_names(
    aws: Any, issuer: Issuer, storage: Storage, database: str
) -> None:
    client = limited(aws, issuer, storage, sign_in_address_attempts=2)
    assert [attempt(client, f"name-{n}", "wrong").status_code for n in range(3)] == [401, 401, 429]
    # A header that anybody can write is believed only where a proxy is known to write it.
    assert attempt(client, "x", "wrong", **{"X-Forwarded-For": "192.0.2.9"}).status_code == 429
    behind = limited(aws, issuer, storage, sign_in_address_attempts=2, trusted_proxies=1)
    for n in range(4):
        seen = f"203.0.113.7, 192.0.2.{n}"
        assert attempt(behind, f"n{n}", "wrong", **{"X-Forwarded-For": seen}).status_code == 401
