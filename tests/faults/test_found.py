"""Faults that the campaign and the state machine found, each once."""

import threading

import pytest

from jobs.errors import QueueUnavailable
from jobs.messages import JobMessage, encode_message
from models import cancellations, outbox, verdicts
from models.database import fetch, transaction
from models.locks import lock
from models.states import ImportType
from scheduler.deadletters import DeadLetters
from tests.builders import change, child, event_names, item_of, register, report
from tests.faults.fakes import FakeQueue, FakeStorage, Message

PAGE = ImportType.PAGE_IMPORT


def test_a_failed_item_is_never_claimed(database):
    _, (child_id,) = register()
    verdicts.fail(PAGE, child_id, code="failed_by_operator", message="no")
    assert outbox.claim(10) == []
    assert item_of(child_id)["error_message"] == "no"


class StubbornQueue(FakeQueue):
    """A queue whose first deletion of a dead letter is lost."""

    lost = 1

    def delete_dead(self, queue: str, receipt: str) -> None:
        if self.lost:
            self.lost -= 1
            raise QueueUnavailable("ReadTimeoutError")
        super().delete_dead(queue, receipt)


@pytest.mark.parametrize("sent_again", [False, True])
def test_a_dead_letter_whose_deletion_failed_once_starts_one_new_run(database, sent_again):
    _, (child_id,) = register()
    report(child_id, "processing", run=None)
    queue = StubbornQueue()
    body = encode_message(JobMessage.from_json(item_of(child_id)["message"]))
    queue.dead.append(Message("page_import", body))
    drain = DeadLetters(queue, FakeStorage())
    drain.drain()
    if sent_again:
        (claim,) = outbox.claim(10)
        outbox.mark_dispatched([claim.fence])
        change("UPDATE job_event SET created_at = clock_timestamp() + interval '1 hour'")
        verdicts.settle_dead_letter(PAGE, child_id, sent_at=1.0)
    else:
        drain.drain()
    assert child(child_id)["run"] == 2


def test_the_history_is_told_in_the_order_it_happened(database):
    _, (child_id,) = register()
    begun, go = threading.Event(), threading.Event()

    def cancel_late() -> None:
        with transaction():
            fetch("SELECT 1 AS one")
            begun.set()
            go.wait(5)
            cancellations._cancel([lock(PAGE, child_id)], "someone")

    thread = threading.Thread(target=cancel_late)
    thread.start()
    begun.wait(5)
    report(child_id, "processing", run=None)
    go.set()
    thread.join()
    assert event_names(child_id) == ["accepted", "started", "cancelled"]


def test_a_deletion_is_recorded_after_the_cancel_it_brings(database):
    batch_id, (child_id,) = register()
    cancellations.delete_batch(item_of(child_id)["created_by"], batch_id)
    assert event_names(child_id) == ["accepted", "cancelled", "deleted"]
