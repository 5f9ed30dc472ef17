"""An SQS outage burns no attempts, and nothing waits for ever after it."""

import pytest

from models import status
from scheduler.breaker import Breaker
from tests.builders import change, child, item_of, register, rows

EXPIRED = "UPDATE batch_item SET lease_until = clock_timestamp() - interval '1 second'"
PAUSE_OVER = "UPDATE process_status SET seen_at = seen_at - interval '2 minutes'"
TEN_MINUTES_AGO = """UPDATE process_status SET data =
    jsonb_set(data, '{opened_at}', to_jsonb((data->>'opened_at')::float - 601))"""


def test_a_whole_request_error_opens_the_breaker_and_nothing_more_is_claimed(dispatcher, queue):
    register(300)
    queue.down = "EndpointConnectionError"
    dispatcher.dispatch_due()
    assert not Breaker().is_closed()
    claimed = rows("SELECT count(*) AS n FROM batch_item WHERE dispatch_attempts > 0")[0]["n"]
    assert claimed == 100
    dispatcher.dispatch_due()
    tried = rows("SELECT sum(dispatch_attempts) AS n FROM batch_item")[0]["n"]
    assert tried == 100


def test_a_probe_is_one_batch_of_at_most_ten_untried_items(dispatcher, queue):
    register(300)
    queue.down = "EndpointConnectionError"
    dispatcher.dispatch_due()
    change(EXPIRED)
    change(PAUSE_OVER)
    dispatcher.dispatch_due()
    tried = rows("SELECT dispatch_attempts, count(*) AS n FROM batch_item GROUP BY 1 ORDER BY 1")
    assert [tuple(row.values()) for row in tried] == [(0, 190), (1, 110)]


def test_ten_minutes_without_sqs_fail_nothing_and_afterwards_all_is_sent(
    dispatcher, queue, received
):
    _, ids = register(120)
    queue.down = "EndpointConnectionError"
    for _ in range(12):  # the pauses between probes grow to a minute
        dispatcher.dispatch_due()
        change(EXPIRED)
        change(PAUSE_OVER)
    assert rows("SELECT 1 AS one FROM page_import WHERE status <> 'queued'") == []
    assert rows("SELECT 1 AS one FROM batch_item WHERE dispatch_attempts > 2") == []
    queue.down = None
    change(PAUSE_OVER)
    dispatcher.dispatch_due()
    assert Breaker().is_closed()
    assert len(received()) == len(ids)


def test_a_single_item_on_its_last_claim_is_spared_until_sqs_answers(dispatcher, queue, received):
    _, (child_id,) = register()
    queue.down = "AccessDenied"
    for _ in range(30):
        dispatcher.dispatch_due()
        change(EXPIRED)
        change(PAUSE_OVER)
    assert item_of(child_id)["dispatch_attempts"] == 2
    change(TEN_MINUTES_AGO)
    dispatcher.dispatch_due()
    assert item_of(child_id)["dispatch_attempts"] == 2
    queue.down = None
    change(PAUSE_OVER)
    dispatcher.dispatch_due()
    assert len(received()) == 1
    assert child(child_id)["status"] == "queued"


def test_an_idle_breaker_closes_when_sqs_answers_again(dispatcher, queue):
    register(10)
    queue.down = "EndpointConnectionError"
    dispatcher.dispatch_due()
    change("UPDATE batch_item SET cancelled_at = now()")
    queue.down = None
    change(PAUSE_OVER)
    dispatcher.dispatch_due()
    assert Breaker().is_closed()


@pytest.mark.usefixtures("database")
def test_only_one_of_many_schedulers_may_probe():
    Breaker().trip("EndpointConnectionError")
    change(PAUSE_OVER)
    assert [Breaker().try_half_open() is not None for _ in range(3)] == [True, False, False]


@pytest.mark.usefixtures("database")
def test_a_probe_that_died_is_taken_over():
    Breaker().trip("EndpointConnectionError")
    change(PAUSE_OVER)
    assert Breaker().try_half_open() is not None
    change(PAUSE_OVER)
    assert Breaker().try_half_open() is not None


@pytest.mark.usefixtures("database")
def test_the_pause_between_probes_grows_to_a_minute():
    pauses = []
    Breaker().trip("x")
    for _ in range(6):
        pauses.append(Breaker().read()[0].pause_seconds())
        change(PAUSE_OVER)
        Breaker().try_half_open()
        Breaker().trip("x")
    assert pauses == [5, 10, 20, 40, 60, 60]
    row = status.get("dispatch_breaker")
    assert row is not None
    assert row.data["reason"] == "x"
