"""One subject's requests are counted, told on every answer, and refused beyond the quota."""

from __future__ import annotations

import re
import threading
from typing import Any

from flask.testing import FlaskClient

from tests.web.conftest import Issuer, Person, make_settings
from web.factory import create_app
from web.limits import RateLimit


def test_every_answer_tells_what_is_left(client: FlaskClient, person: Person) -> None:
    left = []
    for path in ("/api/v1/batches", "/api/v1/batches?limit=0", "/api/v1/imports/x"):
        answer = client.get(path, headers=person.headers)
        assert answer.headers["RateLimit-Policy"] == '"requests";q=6000;w=60'
        found = re.fullmatch(r'"requests";r=(\d+);t=1', answer.headers["RateLimit"])
        assert found, answer.headers["RateLimit"]
        left.append(int(found[1]))
    assert left[0] == 5999
    assert "RateLimit" not in client.get("/api/v1/batches").headers


def test_beyond_the_quota_one_subject_is_refused_and_no_other(
    issuer: Issuer, storage: Any, aws: Any, database: str, person: Person, stranger: Person
) -> None:
    settings = make_settings(issuer, rate_limit_requests=3, rate_limit_seconds=3600)
    client = create_app(settings, storage).test_client()
    statuses = [client.get("/api/v1/batches", headers=person.headers).status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    refused = client.post("/api/v1/imports?filename=a.txt", data=b"x", headers=person.headers)
    assert (refused.status_code, refused.json["code"]) == (429, "rate_limited")
    assert refused.json["retryable"] is True
    assert 1000 < int(refused.headers["Retry-After"]) <= 1200
    assert '"requests";r=0;' in refused.headers["RateLimit"]
    assert client.get("/api/v1/batches", headers=stranger.headers).status_code == 200


def test_a_bucket_fills_up_again() -> None:
    limit = RateLimit(2, 1)
    assert [limit.take("x").allowed for _ in range(3)] == [True, True, False]
    threading.Event().wait(0.6)
    assert limit.take("x").allowed


def test_threads_share_one_bucket() -> None:
    limit = RateLimit(50, 3600)
    allowed: list[bool] = []
    threads = [
        threading.Thread(target=lambda: allowed.extend(limit.take("x").allowed for _ in range(20)))
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(allowed) == 50
