"""P8 and section 5: a deep backlog is never failed for silence, however long no worker runs."""

from pydantic import SecretStr

from jobs.queue import OutgoingMessage
from models import outbox
from scheduler.settings import SchedulerSettings
from scheduler.sweeper import Sweeper
from tests.builders import change, register, rows
from tests.faults.fakes import FakeQueue


def test_messages_that_wait_in_the_queue_for_hours_without_a_worker_are_no_loss(database):
    queue = FakeQueue()
    _, ids = register(3)
    claims = outbox.claim(10)
    queue.send_batch("page_import", [OutgoingMessage(i, "body", "subject") for i in ids])
    outbox.mark_dispatched([claim.fence for claim in claims])
    sweeper = Sweeper(queue, SchedulerSettings(database_url=SecretStr(database)))
    for _ in range(4):
        change("UPDATE batch_item SET dispatched_at = dispatched_at - interval '90 minutes'")
        sweeper.sweep()
    assert rows("SELECT DISTINCT status, run FROM page_import") == [{"status": "queued", "run": 1}]
