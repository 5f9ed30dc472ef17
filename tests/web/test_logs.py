"""The log of one upload: its id on every line from the first byte on, and no secret on any."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

from flask.testing import FlaskClient
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from tests.web.conftest import Person

TRACE = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"


def test_every_line_of_an_upload_carries_its_ids(client: FlaskClient, person: Person) -> None:
    with capture_logs([merge_contextvars]) as lines:
        body = client.post(
            "/api/v1/imports",
            data={"file": (BytesIO(b"hello"), "a.txt")},
            headers={**person.headers, "X-Request-Id": "request-1", "traceparent": TRACE},
        ).json
    by_event: dict[str, Any] = {line["event"]: line for line in lines}
    for event in ("source_stored", "import_accepted", "request_finished"):
        assert by_event[event]["import_id"] == body["import_id"]
        assert by_event[event]["request_id"] == "request-1"
        assert by_event[event]["trace_id"] == "a" * 32


def test_each_file_of_a_batch_has_its_own_line(client: FlaskClient, person: Person) -> None:
    files = [(BytesIO(b"x"), name) for name in ("a.txt", "b.txt")]
    with capture_logs([merge_contextvars]) as lines:
        body = client.post(
            "/api/v1/batches",
            data={"type": "page_import", "files": files},
            headers=person.headers,
        ).json
    ids = [item["import_id"] for item in body["items"]]
    for event in ("source_stored", "import_accepted"):
        assert [line["import_id"] for line in lines if line["event"] == event] == ids


def test_no_secret_reaches_the_log(client: FlaskClient, person: Person) -> None:
    with capture_logs([merge_contextvars]) as lines:
        client.set_cookie("torikomi_session", "a-secret-session")
        client.get("/batches")
        client.get("/api/v1/batches", headers=person.headers)
        client.post("/sign-in", data={"password": "a-secret-password"})
        client.post("/webhooks/page_import", headers={"webhook-signature": "v1,a-secret-mark"})
    text = json.dumps(lines, default=str)
    assert "a-secret" not in text
    assert person.headers["Authorization"].split()[1] not in text
