"""From upload to a verified signature at somebody else's server: all processes are real."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from local.stack import Stack
from tests.scheduler.receivers import Received, Receiver, receiver

API = "/api/v1/endpoints"


@pytest.fixture
def server(api: httpx.Client) -> Iterator[Receiver]:
    """A receiver for a user without other endpoints, who has none afterwards either."""
    delete_endpoints(api)
    with receiver() as made:
        yield made
        delete_endpoints(api)


def delete_endpoints(api: httpx.Client) -> None:
    """Delete every endpoint of the user."""
    for each in api.get(API, params={"limit": 100}).json()["endpoints"]:
        assert api.delete(each["links"]["self"]).status_code == 204


def register(api: httpx.Client, server: Receiver, **more: Any) -> dict[str, Any]:
    answer = api.post(API, json={"url": server.url, **more})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def wait_for(what: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def by_type(server: Receiver) -> dict[str, Received]:
    return {json.loads(request.body)["type"]: request for request in server.received}


def test_an_upload_ends_with_a_signed_event_that_says_what_its_get_says(
    api: httpx.Client, server: Receiver, upload, ended
) -> None:
    endpoint = register(api, server)
    accepted = upload("議事録\n一行目".encode(), "議事録.txt")
    own = ended(accepted["import_id"])
    wait_for(lambda: len(by_type(server)) == 2)
    request = by_type(server)["import.completed"]
    assert request.verified_by(endpoint["secret"]) == request.event_id
    body = json.loads(request.body)
    assert body["data"] == own
    assert body["data"]["file_name"] == "議事録.txt"
    assert body["event_id"] == request.event_id
    batch = json.loads(by_type(server)["batch.completed"].body)["data"]
    assert batch == api.get(f"/api/v1/batches/{accepted['batch_id']}").json()

    def log() -> dict[str, Any]:
        return dict(api.get(f"{endpoint['links']['deliveries']}/{request.event_id}").json())

    wait_for(lambda: log()["state"] == "delivered")
    assert log()["body"] == body
    (attempt,) = log()["tries"]
    assert (attempt["status"], attempt["answer"]) == (200, "thanks")


def test_a_scheduler_killed_between_send_and_mark_sends_again_under_the_same_id(
    stack: Stack, api: httpx.Client, server: Receiver, sql
) -> None:
    def kill_once(request: Received) -> None:
        if len(server.received) == 1:
            stack.kill("scheduler")

    server.before = kill_once
    endpoint = register(api, server)
    sent = api.post(endpoint["links"]["test"]).json()
    wait_for(lambda: len(server.received) == 1)
    sql(
        "UPDATE delivery SET due_at = now(), lease_until = now() - interval '1 second'"
        " WHERE event_id = %s",
        (sent["event_id"],),
    )
    wait_for(lambda: len(server.received) == 2)
    assert server.ids == [sent["event_id"]] * 2
    wait_for(lambda: api.get(sent["links"]["self"]).json()["state"] == "delivered")


def test_what_failed_is_tried_again_and_a_replay_brings_it_under_the_same_id(
    api: httpx.Client, server: Receiver
) -> None:
    server.status = 503
    endpoint = register(api, server, events=["import.failed"])
    sent = api.post(endpoint["links"]["test"]).json()
    wait_for(lambda: len(server.received) == 1)
    server.status = 200
    wait_for(lambda: api.get(sent["links"]["self"]).json()["state"] == "delivered")
    again = api.post(sent["links"]["replay"])
    assert again.status_code == 202
    wait_for(lambda: len(server.received) == 3)
    assert server.ids == [sent["event_id"]] * 3
    assert [request.verified_by(endpoint["secret"]) for request in server.received]
