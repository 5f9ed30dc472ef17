"""The log of one endpoint is that endpoint's alone, and so are its replays."""

import threading

import pytest

from models import announcements, deliveries, delivery_log, endpoints
from models.database import fetch, transaction
from models.deliveries import Attempt
from models.endpoints import EventType
from models.errors import Conflict, NotFound
from tests.builders import ALICE, BOB, change, rows

OK = Attempt(status=200, error=None, duration_ms=5, answer="thanks")
BROKEN = Attempt(status=500, error=None, duration_ms=5, answer="oh")


def endpoint(subject=ALICE):
    view, _ = endpoints.create_endpoint(
        subject,
        url="https://hooks.example.com/",
        event_types=[str(event) for event in EventType],
        description=None,
        language="en",
    )
    return view.id


@pytest.fixture
def pair(database):
    """Two endpoints that have been told of the same two events, one well and one badly."""
    good, bad = endpoint(), endpoint()
    with transaction():
        for _ in range(2):
            announcements.record(EventType.BATCH_COMPLETED, {}, owner=ALICE, component="web")
    for claimed in deliveries.claim(10, max_attempts=9):
        attempt = OK if claimed.endpoint_id == good else BROKEN
        deliveries.settle(claimed, attempt, retry_seconds=None, failing_days=3)
    return good, bad


def states(endpoint_id):
    found = rows("SELECT state FROM delivery WHERE endpoint_id = %s", (endpoint_id,))
    return [row["state"] for row in found]


def event_ids():
    return sorted(row["id"] for row in rows("SELECT id FROM outgoing_event"))


def test_a_list_has_the_deliveries_of_its_endpoint_with_their_last_status(pair):
    for endpoint_id, status in zip(pair, (200, 500), strict=True):
        found, cursor = delivery_log.list_deliveries(ALICE, endpoint_id)
        assert [view.event_id for view in found] == event_ids()[::-1]
        assert {(view.endpoint_id, view.last_status) for view in found} == {(endpoint_id, status)}
        assert cursor is None


def test_a_list_goes_on_after_its_cursor_and_keeps_to_a_state(pair):
    good, bad = pair
    first, cursor = delivery_log.list_deliveries(ALICE, good, limit=1)
    second, end = delivery_log.list_deliveries(ALICE, good, limit=1, cursor=cursor)
    assert [first[0].event_id, second[0].event_id] == event_ids()[::-1]
    assert end is None
    assert delivery_log.list_deliveries(ALICE, good, state="failed") == ([], None)
    assert len(delivery_log.list_deliveries(ALICE, bad, state="failed")[0]) == 2
    with pytest.raises(Conflict, match="cursor_invalid"):
        delivery_log.list_deliveries(ALICE, good, cursor="x")


def test_a_story_is_that_of_one_event_at_one_endpoint(pair):
    for endpoint_id, answer in zip(pair, ("thanks", "oh"), strict=True):
        for event_id in event_ids():
            story = delivery_log.get_delivery(ALICE, endpoint_id, event_id)
            assert (story.delivery.endpoint_id, story.delivery.event_id) == (endpoint_id, event_id)
            assert [attempt.answer for attempt in story.attempts] == [answer]


def test_nobody_else_sees_or_replays_anything(pair):
    good, _ = pair
    foreign = endpoint(BOB)
    for endpoint_id, event_id in ((good, event_ids()[0]), (foreign, event_ids()[0])):
        for touch in (delivery_log.get_delivery, delivery_log.replay):
            with pytest.raises(NotFound):
                touch(BOB, endpoint_id, event_id)
    for touch in (delivery_log.list_deliveries, delivery_log.send_test):
        with pytest.raises(NotFound):
            touch(BOB, good)
    with pytest.raises(NotFound):
        delivery_log.replay_failed(BOB, good, rows("SELECT now() AS at")[0]["at"])


def test_a_replay_is_that_of_one_event_at_one_endpoint(pair):
    good, bad = pair
    delivery_log.replay(ALICE, good, event_ids()[0])
    assert sorted(states(good)) == ["delivered", "pending"]
    assert states(bad) == ["failed", "failed"]


def test_a_replay_of_what_failed_takes_nothing_else_along(pair):
    good, bad = pair
    begun = rows("SELECT min(occurred_at) AS at FROM outgoing_event")[0]["at"]
    assert delivery_log.replay_failed(ALICE, good, begun) == 0
    late = rows("SELECT max(occurred_at) AS at FROM outgoing_event")[0]["at"]
    assert delivery_log.replay_failed(ALICE, bad, late) == 1
    assert sorted(states(bad)) == ["failed", "pending"]
    assert states(good) == ["delivered", "delivered"]


def test_a_disabled_endpoint_is_told_nothing_again(pair):
    _, bad = pair
    endpoints.change_endpoint(ALICE, bad, {"enabled": False})
    begun = rows("SELECT min(occurred_at) AS at FROM outgoing_event")[0]["at"]
    for touch in (
        lambda: delivery_log.send_test(ALICE, bad),
        lambda: delivery_log.replay(ALICE, bad, event_ids()[0]),
        lambda: delivery_log.replay_failed(ALICE, bad, begun),
    ):
        with pytest.raises(Conflict, match="endpoint_disabled"):
            touch()
    assert states(bad) == ["failed", "failed"]


def test_only_what_waits_at_a_disabled_endpoint_is_stranded(pair):
    good, bad = pair
    for endpoint_id in pair:
        delivery_log.send_test(ALICE, endpoint_id)
    change("UPDATE endpoint SET enabled = false WHERE id = %s", (bad,))
    assert delivery_log.fail_stranded() == 1
    assert sorted(states(good)) == ["delivered", "delivered", "pending"]
    errors = rows("SELECT error FROM delivery WHERE endpoint_id = %s", (bad,))
    assert sorted(row["error"] for row in errors) == ["endpoint_disabled", "status", "status"]


def test_two_janitors_forget_side_by_side(pair):
    change("UPDATE outgoing_event SET created_at = now() - interval '40 days'")
    with transaction():
        fetch("SELECT id FROM outgoing_event ORDER BY created_at LIMIT 1 FOR UPDATE")
        counts = []

        def forget():
            counts.append(delivery_log.forget_events(keep_days=30, limit=10))

        thread = threading.Thread(target=forget)
        thread.start()
        thread.join(4)
        assert not thread.is_alive(), "it waited for the lock"
    assert counts == [1]


def test_the_last_status_is_that_of_the_event_itself(pair):
    _, bad = pair
    first, second = event_ids()
    delivery_log.replay(ALICE, bad, first)
    (claimed,) = deliveries.claim(10, max_attempts=9)
    deliveries.settle(claimed, OK, retry_seconds=None, failing_days=3)
    found, _ = delivery_log.list_deliveries(ALICE, bad)
    assert {view.event_id: view.last_status for view in found} == {first: 200, second: 500}
