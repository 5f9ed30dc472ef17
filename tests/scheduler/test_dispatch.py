"""dispatch_due on real PostgreSQL and a real queue, with every answer SQS can give."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

from jobs.messages import decode_message
from jobs.queue import Rejection
from models import cancellations
from models.states import ImportType
from scheduler.breaker import Breaker
from scheduler.dispatcher import Dispatcher
from tests.builders import ALICE, change, child, item_of, register, report, rows

EXPIRED = "UPDATE batch_item SET lease_until = clock_timestamp() - interval '1 second'"
PAUSE_OVER = "UPDATE process_status SET seen_at = seen_at - interval '2 minutes'"


def bodies(messages):
    return [message["Body"] for message in messages]


def test_everything_due_is_sent_once_and_marked(dispatcher, received):
    _, ids = register(250)
    assert dispatcher.dispatch_due() == 250
    sent = [decode_message(body).import_id for body in bodies(received())]
    assert sorted(sent) == sorted(ids)
    assert rows("SELECT 1 AS one FROM batch_item WHERE dispatched_at IS NULL") == []
    assert dispatcher.dispatch_due() == 0


def test_both_types_go_to_their_own_queue(dispatcher, received):
    _, (page,) = register()
    _, (code,) = register(type=ImportType.CODE2DES)
    assert dispatcher.dispatch_due() == 2
    assert [decode_message(b).import_id for b in bodies(received("page_import"))] == [page]
    assert [decode_message(b).import_id for b in bodies(received("code2des"))] == [code]


def test_a_lost_reply_is_sent_again_after_the_lease_byte_for_byte(dispatcher, queue, received):
    _, (child_id,) = register()
    queue.reply_lost = True
    dispatcher.dispatch_due()
    assert item_of(child_id)["dispatched_at"] is None
    queue.reply_lost = False
    change(EXPIRED)
    change(PAUSE_OVER)
    dispatcher.dispatch_due()
    first, second = bodies(received())
    assert first == second
    assert item_of(child_id)["dispatched_at"] is not None
    assert item_of(child_id)["dispatch_attempts"] == 2


def test_only_the_acknowledged_entries_of_a_batch_are_marked(dispatcher, queue, received):
    _, ids = register(10)
    queue.refuse = {id_: Rejection("InternalError", permanent=False) for id_ in ids[:2]}
    queue.forget = {ids[2]}
    assert dispatcher.dispatch_due() == 7
    marked = {id_ for id_ in ids if item_of(id_)["dispatched_at"] is not None}
    assert marked == set(ids[3:])
    assert len(received()) == 7
    left = rows(
        """SELECT job_id, extract(epoch FROM lease_until - clock_timestamp())::float AS left
           FROM batch_item WHERE dispatched_at IS NULL"""
    )
    lease = {row["job_id"]: row["left"] for row in left}
    assert all(10 < lease[id_] <= 15 for id_ in ids[:2])
    assert lease[ids[2]] > 80


def test_a_permanent_refusal_fails_the_import_at_once(dispatcher, queue):
    _, (child_id,) = register()
    queue.refuse = {child_id: Rejection("InvalidMessageContents", permanent=True)}
    dispatcher.dispatch_due()
    assert child(child_id)["status"] == "failed"
    assert "InvalidMessageContents" in item_of(child_id)["error_message"]
    assert item_of(child_id)["dispatch_attempts"] == 1


def test_the_third_unconfirmed_claim_ends_in_failed(dispatcher, queue):
    _, (child_id,) = register()
    queue.forget = {child_id}
    for _ in range(3):
        dispatcher.dispatch_due()
        change(EXPIRED)
    dispatcher.dispatch_due()
    assert (child(child_id)["status"], child(child_id)["error_code"]) == ("failed", "exhausted")
    assert item_of(child_id)["dispatch_attempts"] == 3


def test_a_worker_that_starts_during_the_third_claim_saves_the_import(dispatcher, queue):
    _, (child_id,) = register()
    queue.forget = {child_id}
    for _ in range(3):
        dispatcher.dispatch_due()
        change(EXPIRED)
    report(child_id, "processing", run=None)
    dispatcher.dispatch_due()
    assert child(child_id)["status"] == "processing"


def test_a_message_that_cannot_be_encoded_fails_alone(dispatcher, received):
    _, (bad, good) = register(2)
    change("UPDATE batch_item SET message = '{\"schema\": 99}' WHERE job_id = %s", (bad,))
    assert dispatcher.dispatch_due() == 1
    assert child(bad)["status"] == "failed"
    assert [decode_message(b).import_id for b in bodies(received())] == [good]


def test_a_sender_that_outlived_its_lease_marks_nothing(dispatcher, queue):
    _, (child_id,) = register()

    def another_scheduler_takes_over() -> None:
        change(
            """UPDATE batch_item SET dispatch_attempts = 2,
               lease_until = clock_timestamp() + interval '90 seconds'"""
        )

    queue.before_send = another_scheduler_takes_over
    dispatcher.dispatch_due()
    item = item_of(child_id)
    assert (item["dispatched_at"], item["dispatch_attempts"]) == (None, 2)


def test_an_item_cancelled_between_claim_and_send_stays_cancelled(dispatcher, queue):
    batch_id, (child_id,) = register()
    queue.before_send = lambda: cancellations.cancel_batch(ALICE, batch_id)
    dispatcher.dispatch_due()
    answer = report(child_id, "processing", run=None)
    assert (answer.conflict, answer.status) == (True, "cancelled")


def test_three_schedulers_send_a_thousand_items_once(queue, scheduler_settings, received):
    register(1000)
    three = [Dispatcher(queue, Breaker(), scheduler_settings, Event()) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        sent = list(pool.map(lambda d: d.dispatch_due(), three))
    for each in three:
        each.close()
    assert sum(sent) == 1000
    assert len(received()) == 1000


def test_every_message_of_a_subject_carries_its_group_and_no_file(dispatcher, received):
    register(subject=ALICE)
    dispatcher.dispatch_due()
    (message,) = received()
    assert message["Attributes"]["MessageGroupId"] == ALICE
    assert len(message["Body"]) < 2000
