"""The ratios of section 10 that hold on any machine, however busy: guarded here, measured by
`python -m benchmarks all`.

Speeds are compared only where the margin is wide and both sides wait for the same thing. What the
database reads is counted in buffers, which no neighbour can change.
"""

from threading import Event

from pydantic import SecretStr

from benchmarks import dispatch
from benchmarks.database import buffers, sweep
from benchmarks.installation import stand_in
from benchmarks.rows import BIG_BATCH, BIG_SUBJECT, add_big_batch, fill
from jobs.queue import QueueClient
from jobs.settings import QueueSettings
from models import batches, outbox
from models.cursors import encode_cursor
from scheduler.breaker import Breaker
from scheduler.dispatcher import Dispatcher
from scheduler.settings import SchedulerSettings
from tests.builders import register


def test_dispatch_is_ten_times_as_fast_as_sending_one_by_one(database: str) -> None:
    with stand_in(15) as endpoint:
        queue = QueueClient(QueueSettings(aws_endpoint_url=endpoint, aws_region="ap-northeast-1"))
        settings = SchedulerSettings(database_url=SecretStr(database))
        dispatcher = Dispatcher(queue, Breaker(), settings, Event())
        dispatch.ours(dispatcher, 100)
        ratios = sorted(
            dispatch.ours(dispatcher, 1000) / dispatch.one_by_one(endpoint, 20) for _ in range(3)
        )
        dispatcher.close()

    assert ratios[1] >= 10


def test_a_claim_reads_no_more_for_ten_times_the_history(database: str) -> None:
    fill(database, 2_000)
    register(100)
    few = buffers(lambda: outbox.claim(100), again=lambda: register(100))
    fill(database, 18_000, first=2_001)
    register(100)
    many = buffers(lambda: outbox.claim(100), again=lambda: register(100))

    assert many <= 1.5 * few


def test_a_page_of_items_reads_no_more_in_the_middle_of_a_large_batch(database: str) -> None:
    fill(database, 2_000)
    add_big_batch(database, 20_000)
    first = buffers(lambda: batches.list_items(BIG_SUBJECT, BIG_BATCH, limit=100))
    middle = buffers(
        lambda: batches.list_items(BIG_SUBJECT, BIG_BATCH, cursor=encode_cursor(10_000), limit=100)
    )

    assert 0 < middle <= 1.5 * first


def test_a_sweep_reads_no_more_for_ten_times_the_history(database: str) -> None:
    fill(database, 4_000)
    few = buffers(sweep)
    fill(database, 36_000, first=4_001)
    many = buffers(sweep)

    assert many <= 1.5 * few
