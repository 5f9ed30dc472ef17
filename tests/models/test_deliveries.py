"""The outbox of outgoing events: leased, settled under the lease, retried, given up."""

import threading
from dataclasses import replace

import pytest

from models import announcements, deliveries, delivery_log, endpoints
from models.database import fetch, transaction
from models.deliveries import Attempt
from models.endpoints import EventType
from tests.builders import ALICE, BOB, change, rows

OK = Attempt(status=200, error=None, duration_ms=5, answer="thanks")
BROKEN = Attempt(status=500, error=None, duration_ms=5, answer="oh")
SILENT = Attempt(status=None, error="timed_out", duration_ms=15_000)
GONE = Attempt(status=410, error=None, duration_ms=5)


def endpoint(subject=ALICE, events=tuple(EventType)):
    view, _ = endpoints.create_endpoint(
        subject,
        url="https://hooks.example.com/",
        event_types=[str(event) for event in events],
        description=None,
        language="en",
    )
    return view.id


def queued(count=1, endpoint_id=None, subject=ALICE):
    """Have tests sent to an endpoint; return its ID."""
    endpoint_id = endpoint_id or endpoint(subject)
    for _ in range(count):
        delivery_log.send_test(subject, endpoint_id)
    return endpoint_id


def claim(limit=100, **more):
    return deliveries.claim(limit, **{"max_attempts": 9, **more})


def settle(claimed, attempt, retry_seconds=60.0, failing_days=3.0):
    return deliveries.settle(
        claimed, attempt, retry_seconds=retry_seconds, failing_days=failing_days
    )


def delivery(claimed):
    return rows("SELECT * FROM delivery WHERE event_id = %s", (claimed.event_id,))[0]


def stored(endpoint_id):
    return rows("SELECT * FROM endpoint WHERE id = %s", (endpoint_id,))[0]


def expire_leases():
    change(
        "UPDATE delivery SET lease_until = lease_until - interval '2 minutes',"
        " due_at = due_at - interval '2 minutes' WHERE lease_until IS NOT NULL"
    )


def test_a_claim_brings_all_that_is_needed_to_send(database):
    endpoint_id = queued()
    (claimed,) = claim()
    assert (claimed.endpoint_id, claimed.type) == (endpoint_id, "endpoint.test")
    assert claimed.secrets == [stored(endpoint_id)["secret"]]
    assert (claimed.url, claimed.language) == ("https://hooks.example.com/", "en")
    assert claimed.snapshot["id"] == endpoint_id
    assert claimed.attempts == 1


def test_a_held_lease_is_not_claimed_again_and_an_expired_one_is(database):
    queued()
    (first,) = claim()
    assert claim() == []
    expire_leases()
    (second,) = claim()
    assert (second.event_id, second.attempts) == (first.event_id, 2)


def test_only_the_holder_of_the_lease_settles(database):
    queued()
    (first,) = claim()
    expire_leases()
    (second,) = claim()
    assert settle(first, BROKEN) is None
    assert settle(replace(second, attempts=9), BROKEN) is None
    assert rows("SELECT number FROM delivery_attempt") == []
    assert settle(second, OK) == "delivered"
    assert settle(second, OK) is None
    assert len(rows("SELECT number FROM delivery_attempt")) == 1


def test_what_failed_comes_due_again_after_its_pause(database):
    queued()
    (claimed,) = claim()
    assert settle(claimed, SILENT, retry_seconds=3600) == "pending"
    row = delivery(claimed)
    assert (row["error"], row["lease_until"], row["ended_at"]) == ("timed_out", None, None)
    assert (row["due_at"] - row["updated_at"]).total_seconds() == pytest.approx(3600, abs=5)
    assert claim() == []
    change("UPDATE delivery SET due_at = now()")
    (again,) = claim()
    assert again.event_id == claimed.event_id


def test_the_log_has_every_attempt(database):
    endpoint_id = queued()
    for attempt in (SILENT, BROKEN, OK):
        (claimed,) = claim()
        settle(claimed, attempt, retry_seconds=0)
    story = delivery_log.get_delivery(ALICE, endpoint_id, claimed.event_id)
    assert [(a.number, a.status, a.error, a.answer) for a in story.attempts] == [
        (1, None, "timed_out", None),
        (2, 500, None, "oh"),
        (3, 200, None, "thanks"),
    ]
    view = story.delivery
    assert (view.state, view.attempts, view.last_status, view.due_at) == ("delivered", 3, 200, None)


def test_after_the_last_attempt_it_has_failed(database):
    queued()
    (claimed,) = claim()
    assert settle(claimed, BROKEN, retry_seconds=None) == "failed"
    row = delivery(claimed)
    assert (row["state"], row["error"]) == ("failed", "status")
    assert row["ended_at"] is not None
    assert claim() == []


def test_a_last_attempt_that_was_never_settled_has_failed_too(database):
    queued()
    (claimed,) = claim(max_attempts=1)
    assert deliveries.fail_exhausted(1) == 0, "it is still under way"
    expire_leases()
    assert claim(max_attempts=1) == []
    assert deliveries.fail_exhausted(1) == 1
    assert (delivery(claimed)["state"], delivery(claimed)["error"]) == ("failed", "unknown")


def test_410_disables_the_endpoint_and_tells_the_others(database):
    endpoint_id, other = queued(3), endpoint()
    first, *_ = claim()
    assert settle(first, GONE) == "failed"
    row = stored(endpoint_id)
    assert (row["enabled"], row["disabled_reason"]) == (False, "gone")
    assert row["disabled_at"] is not None
    states = rows("SELECT state, error FROM delivery WHERE endpoint_id = %s", (endpoint_id,))
    assert [each["state"] for each in states] == ["failed"] * 3
    told = rows("SELECT * FROM delivery WHERE endpoint_id = %s", (other,))
    (event,) = rows("SELECT * FROM outgoing_event WHERE id = %s", (told[0]["event_id"],))
    assert (event["type"], event["snapshot"]["id"]) == ("endpoint.disabled", endpoint_id)
    assert "whsec_" not in str(event["snapshot"])


def test_an_endpoint_that_fails_for_days_is_disabled_and_one_success_saves_it(database):
    endpoint_id = queued(4)
    one, two, three, four = claim()
    settle(one, BROKEN)
    assert stored(endpoint_id)["failing_since"] is not None
    settle(two, OK)
    assert stored(endpoint_id)["failing_since"] is None
    settle(three, BROKEN)
    change("UPDATE endpoint SET failing_since = now() - interval '4 days'")
    settle(four, BROKEN)
    row = stored(endpoint_id)
    assert (row["enabled"], row["disabled_reason"]) == (False, "failing")


def test_endpoints_take_turns_and_none_has_more_than_its_places(database):
    many, few = queued(50), queued(2, subject=BOB)
    first = claim(8)
    assert len([c for c in first if c.endpoint_id == many]) == 4
    assert len([c for c in first if c.endpoint_id == few]) == 2
    assert claim(8) == []
    done = next(c for c in first if c.endpoint_id == many)
    settle(done, OK)
    assert len(claim(8)) == 1


def test_an_endpoint_that_fails_has_one_place(database):
    endpoint_id = queued(10)
    change("UPDATE endpoint SET failing_since = now() WHERE id = %s", (endpoint_id,))
    assert len(claim()) == 1
    assert claim() == []


def test_a_disabled_or_deleted_endpoint_is_not_claimed_for_and_nothing_waits_there(database):
    endpoint_id = queued(2)
    change("UPDATE endpoint SET enabled = false")  # as if disabled while being announced to
    assert claim() == []
    assert delivery_log.fail_stranded() == 2
    assert {row["error"] for row in rows("SELECT error FROM delivery")} == {"endpoint_disabled"}
    assert not stored(endpoint_id)["enabled"]


def test_a_rotated_secret_signs_beside_the_old_one_until_that_ends(database):
    endpoint_id = queued(2)
    old = stored(endpoint_id)["secret"]
    _, new = endpoints.rotate_secret(ALICE, endpoint_id)
    (one,) = claim(1)
    assert one.secrets == [new, old]
    change("UPDATE endpoint SET previous_until = now() - interval '1 second'")
    (two,) = claim(1)
    assert two.secrets == [new]


def test_a_replay_begins_again_and_spares_what_is_under_way(database):
    endpoint_id = queued(2)
    one, two = claim()
    settle(one, BROKEN, retry_seconds=None)
    delivery_log.replay(ALICE, endpoint_id, one.event_id)
    delivery_log.replay(ALICE, endpoint_id, two.event_id)
    change("UPDATE endpoint SET failing_since = NULL")  # or its one place would be taken
    (again,) = claim()
    assert (again.event_id, again.attempts) == (one.event_id, 1)
    assert settle(two, OK) == "delivered"
    assert settle(again, OK) == "delivered"
    story = delivery_log.get_delivery(ALICE, endpoint_id, one.event_id)
    assert [attempt.number for attempt in story.attempts] == [1, 2]


def test_old_events_are_forgotten_with_their_deliveries_and_attempts(database):
    queued(2)
    one, _ = claim()
    settle(one, OK)
    change(
        "UPDATE outgoing_event SET created_at = now() - interval '31 days' WHERE id = %s",
        (one.event_id,),
    )
    assert delivery_log.forget_events(keep_days=30, limit=100) == 1
    assert len(rows("SELECT event_id FROM delivery")) == 1
    assert rows("SELECT event_id FROM delivery_attempt") == []


def shared_event():
    """Have one event told to two endpoints of Alice; return their IDs."""
    one, two = endpoint(), endpoint()
    with transaction():
        announcements.record(EventType.BATCH_COMPLETED, {}, owner=ALICE, component="web")
    return one, two


def test_settling_an_event_at_one_endpoint_leaves_the_other_alone(database):
    shared_event()
    first, second = claim()
    assert first.event_id == second.event_id
    assert settle(first, OK) == "delivered"
    assert settle(second, SILENT, retry_seconds=None) == "failed"
    found = rows("SELECT state, error FROM delivery ORDER BY state")
    assert [(row["state"], row["error"]) for row in found] == [
        ("delivered", None),
        ("failed", "timed_out"),
    ]


def test_claiming_an_event_for_one_endpoint_leaves_the_other_alone(database):
    one, _ = shared_event()
    change("UPDATE delivery SET due_at = now() + interval '1 hour' WHERE endpoint_id <> %s", (one,))
    (claimed,) = claim()
    assert claimed.endpoint_id == one
    assert len(rows("SELECT 1 AS one FROM delivery WHERE attempts = 1")) == 1


def test_what_was_delivered_or_given_up_is_not_claimed_beside_what_waits(database):
    endpoint_id = queued(3)
    one, two, three = claim()
    settle(one, OK)
    settle(two, BROKEN, retry_seconds=None)
    settle(three, BROKEN, retry_seconds=0)
    assert rows("SELECT error FROM delivery WHERE state = 'pending'")[0]["error"] == "status"
    change("UPDATE endpoint SET failing_since = NULL WHERE id = %s", (endpoint_id,))
    assert [claimed.event_id for claimed in claim()] == [three.event_id]


def test_an_expired_lease_with_attempts_left_is_no_failure(database):
    queued()
    claim()
    expire_leases()
    assert deliveries.fail_exhausted(2) == 0
    assert len(claim()) == 1


def test_a_claim_passes_over_what_another_scheduler_is_claiming(database):
    queued(2)
    with transaction():
        held = fetch("SELECT event_id FROM delivery ORDER BY due_at LIMIT 1 FOR UPDATE")
        claimed = []
        thread = threading.Thread(target=lambda: claimed.extend(claim()))
        thread.start()
        thread.join(4)
        assert not thread.is_alive(), "it waited for the lock"
    assert [each.event_id != held[0]["event_id"] for each in claimed] == [True]


def test_schedulers_that_claim_at_once_never_share_a_delivery(database):
    for n in range(6):
        queued(4, subject=f"subject-{n}")
    start, found = threading.Barrier(3), []

    def race():
        start.wait()
        found.extend(claim(8))

    threads = [threading.Thread(target=race) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = [claimed.event_id for claimed in found]
    assert len(ids) == len(set(ids))
    assert len(ids) >= 8
