"""Outgoing events on their way to real receivers, good and bad ones."""

import json
import threading
import time
from contextlib import ExitStack
from threading import Event

import pytest
from pydantic import SecretStr

from models import deliveries, delivery_log, endpoints
from models.database import connection
from models.endpoints import EventType
from scheduler.janitor import Janitor
from scheduler.notifier import Notifier
from scheduler.posting import Poster
from scheduler.settings import SchedulerSettings
from tests.builders import ALICE, BOB, change, register, report, rows
from tests.scheduler.receivers import hold, raw_server, receiver
from web import outgoing


def make_settings(database, **more):
    given = {"endpoint_allow_local": True, "delivery_timeout_seconds": 5, **more}
    return SchedulerSettings(database_url=SecretStr(database), **given)


@pytest.fixture
def notifier(database):
    """Build notifiers: a function of their settings."""
    stops = []

    def make(**more):
        settings = make_settings(database, **more)
        stops.append(Event())
        poster = Poster(settings, timeout_seconds=settings.delivery_timeout_seconds)
        return Notifier(poster, outgoing.event, settings, stops[-1])

    yield make
    for stop in stops:
        stop.set()


def endpoint(url, subject=ALICE, events=tuple(EventType)):
    """Register an endpoint; return its ID and its secret."""
    view, secret = endpoints.create_endpoint(
        subject,
        url=url,
        event_types=[str(event) for event in events],
        description=None,
        language="ja",
    )
    return view.id, secret


def states():
    found = rows("SELECT state, count(*) AS n FROM delivery GROUP BY state")
    return {row["state"]: row["n"] for row in found}


def due_now():
    change("UPDATE delivery SET due_at = now(), lease_until = NULL WHERE state = 'pending'")


def test_the_end_of_an_import_reaches_its_endpoint_signed(notifier):
    with receiver() as server:
        _, secret = endpoint(server.url)
        batch_id, (child_id,) = register()
        report(child_id, "failed")
        assert notifier().deliver_due() == 2
    for request in server.received:
        assert request.verified_by(secret) == request.event_id
        assert request.headers["content-type"] == "application/json"
    bodies = {body["type"]: body for body in (json.loads(r.body) for r in server.received)}
    failed = bodies["import.failed"]
    assert failed["data"]["import_id"] == child_id
    assert failed["data"]["error"]["code"] == "file_corrupt"
    assert failed["data"]["error"]["message"] == "ファイルが壊れています"
    assert bodies["batch.completed"]["data"]["batch_id"] == batch_id
    assert {body["event_id"] for body in bodies.values()} == set(server.ids)
    assert states() == {"delivered": 2}


def test_a_retry_has_the_same_id_and_the_same_body(notifier):
    with receiver() as server:
        endpoint_id, secret = endpoint(server.url)
        delivery_log.send_test(ALICE, endpoint_id)
        server.status, sender = 503, notifier()
        sender.deliver_due()
        assert states() == {"pending": 1}
        assert sender.deliver_due() == 0, "it waits for its pause"
        due_now()
        server.status = 200
        sender.deliver_due()
    first, second = server.received
    assert first.event_id == second.event_id
    assert first.body == second.body
    assert second.verified_by(secret)
    assert states() == {"delivered": 1}


def test_after_a_crash_between_send_and_mark_it_is_sent_again_under_the_same_id(notifier):
    """The scheduler dies with the answer in hand; what it has leased comes due again."""
    with receiver() as server:
        endpoint_id, _ = endpoint(server.url)
        delivery_log.send_test(ALICE, endpoint_id)
        crashed = notifier()
        crashed._start_due()
        deadline = time.monotonic() + 20
        while not server.received:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        other = notifier()
        assert other.deliver_due() == 0, "the lease is held"
        change(
            "UPDATE delivery SET due_at = due_at - interval '91 seconds',"
            " lease_until = lease_until - interval '91 seconds'"
        )
        assert other.deliver_due() == 1
        crashed.close()  # its mark comes too late and changes nothing
    assert len(server.ids) == 2
    assert len(set(server.ids)) == 1
    assert states() == {"delivered": 1}
    assert len(rows("SELECT number FROM delivery_attempt")) == 1


def test_two_schedulers_send_each_event_once(notifier):
    with receiver() as server:
        server.before = lambda request: time.sleep(0.02)
        endpoint_id, _ = endpoint(server.url)
        for _ in range(30):
            delivery_log.send_test(ALICE, endpoint_id)
        threads = [threading.Thread(target=n.deliver_due) for n in (notifier(), notifier())]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(server.ids) == len(set(server.ids)) == 30
    assert states() == {"delivered": 30}


def test_a_hanging_endpoint_delays_neither_others_nor_the_import(notifier):
    with raw_server(hold) as hanging, receiver() as server:
        slow, _ = endpoint(hanging)
        endpoint(server.url, BOB)
        for _ in range(20):
            delivery_log.send_test(ALICE, slow)
        sender = notifier(delivery_timeout_seconds=3)
        tick = threading.Thread(target=sender.deliver_due)
        begun = time.monotonic()
        tick.start()
        _, (child_id,) = register(subject=BOB)
        assert report(child_id, "completed").applied
        while len(server.received) < 2:
            assert time.monotonic() - begun < 20
            time.sleep(0.01)
        under_way = rows(
            "SELECT count(*) AS n FROM delivery WHERE endpoint_id = %s AND lease_until > now()",
            (slow,),
        )
        assert under_way[0]["n"] <= deliveries.PER_ENDPOINT
        sender._stop.set()
        tick.join()
        sender.close()
    assert states()["delivered"] == 2


def test_a_tick_ends_in_time_and_the_next_one_settles_what_it_left(notifier, monkeypatch):
    monkeypatch.setattr("scheduler.notifier.TICK_SECONDS", 0.3)
    release = threading.Event()
    with receiver() as server:
        server.before = lambda request: release.wait(20)
        endpoint_id, _ = endpoint(server.url)
        delivery_log.send_test(ALICE, endpoint_id)
        sender = notifier()
        assert sender.deliver_due() == 0
        release.set()
        sender.close()
    assert states() == {"delivered": 1}


def test_nothing_is_tried_for_ever(notifier):
    with receiver() as server:
        server.status = 500
        endpoint_id, _ = endpoint(server.url)
        delivery_log.send_test(ALICE, endpoint_id)
        sender = notifier(delivery_backoff_seconds="5,60")
        pauses = []
        for _ in range(3):
            sender.deliver_due()
            (row,) = rows("SELECT due_at - updated_at AS pause, state FROM delivery")
            pauses.append(row["pause"].total_seconds())
            due_now()
        assert sender.deliver_due() == 0
    assert len(server.received) == 3
    assert 4 <= pauses[0] <= 6
    assert 48 <= pauses[1] <= 72
    assert states() == {"failed": 1}


def test_the_schedule_of_the_settings_spans_about_a_day(database):
    hours = sum(make_settings(database).delivery_backoffs()) / 3600
    assert 20 < hours < 28


def test_an_endpoint_may_ask_for_patience(notifier):
    with receiver() as server:
        server.status, server.headers = 429, {"Retry-After": "1800"}
        endpoint_id, _ = endpoint(server.url)
        delivery_log.send_test(ALICE, endpoint_id)
        notifier().deliver_due()
    (row,) = rows("SELECT due_at - updated_at AS pause FROM delivery")
    assert row["pause"].total_seconds() == pytest.approx(1800, abs=5)


def test_410_ends_it_and_a_replay_after_enabling_brings_everything(notifier):
    with receiver() as server:
        endpoint_id, _ = endpoint(server.url)
        sent = [delivery_log.send_test(ALICE, endpoint_id) for _ in range(6)]
        server.status, sender = 410, notifier()
        sender.deliver_due()
        seen = len(server.received)
        assert 1 <= seen <= deliveries.PER_ENDPOINT
        assert states() == {"failed": 6}
        endpoints.change_endpoint(ALICE, endpoint_id, {"enabled": True})
        server.status = 200
        begun = rows("SELECT min(occurred_at) AS at FROM outgoing_event")[0]["at"]
        assert delivery_log.replay_failed(ALICE, endpoint_id, begun) == 6
        sender.deliver_due()
        assert sorted(server.ids[seen:]) == sorted(sent)
    assert states() == {"delivered": 6}


def test_during_a_rotation_both_secrets_verify(notifier):
    with receiver() as server:
        endpoint_id, old = endpoint(server.url)
        _, new = endpoints.rotate_secret(ALICE, endpoint_id)
        delivery_log.send_test(ALICE, endpoint_id)
        notifier().deliver_due()
        (request,) = server.received
        assert request.verified_by(old) == request.verified_by(new) == request.event_id
    assert len(request.headers["webhook-signature"].split(" ")) == 2


def test_a_name_that_leads_inside_is_in_the_log_and_not_connected_to(database):
    settings = make_settings(database, endpoint_allow_local=False)
    poster = Poster(settings, timeout_seconds=5, resolve=lambda host, port: ["10.0.0.7"])
    endpoint_id, _ = endpoint("https://hooks.example.com/")
    event_id = delivery_log.send_test(ALICE, endpoint_id)
    Notifier(poster, outgoing.event, settings, Event()).deliver_due()
    (attempt,) = delivery_log.get_delivery(ALICE, endpoint_id, event_id).attempts
    assert (attempt.status, attempt.error) == (None, "address_refused")


def test_many_endpoints_and_many_events_all_arrive(notifier):
    with ExitStack() as stack:
        servers = [stack.enter_context(receiver()) for _ in range(3)]
        owners = [f"subject-{n}" for n in range(3)]
        for owner, server in zip(owners, servers, strict=True):
            endpoint(server.url, owner, [EventType.IMPORT_COMPLETED])
            _, children = register(15, subject=owner)
            for child_id in children:
                report(child_id, "completed")
        assert notifier(notify_threads=6).deliver_due() == 45
        assert [len(set(server.ids)) for server in servers] == [15, 15, 15]


def test_a_failure_to_make_a_body_fails_that_delivery_and_no_other(database):
    settings = make_settings(database)

    def render(event_id, *rest):
        if event_id == broken:
            raise ValueError("a bug")
        return outgoing.event(event_id, *rest)

    with receiver() as server:
        endpoint_id, _ = endpoint(server.url)
        broken = delivery_log.send_test(ALICE, endpoint_id)
        good = delivery_log.send_test(ALICE, endpoint_id)
        Notifier(Poster(settings, timeout_seconds=5), render, settings, Event()).deliver_due()
        assert server.ids == [good]
    (row,) = rows("SELECT state, error FROM delivery WHERE event_id = %s", (broken,))
    assert (row["state"], row["error"]) == ("pending", "internal_error")


def test_the_janitor_forgets_old_events_and_what_is_stranded(database):
    endpoint_id, _ = endpoint("https://hooks.example.com/")
    old, stranded = (delivery_log.send_test(ALICE, endpoint_id) for _ in range(2))
    change(
        "UPDATE outgoing_event SET created_at = now() - interval '31 days' WHERE id = %s", (old,)
    )
    change("UPDATE endpoint SET enabled = false")
    with connection():
        assert Janitor(None, make_settings(database)).forget_deliveries() == 1
    (row,) = rows("SELECT event_id, state FROM delivery")
    assert (row["event_id"], row["state"]) == (stranded, "failed")
