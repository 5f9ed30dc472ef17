"""Claims: leased on the database clock, fenced, fair, at most three."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from models import cancellations, outbox
from models import database as db
from models.states import ImportType
from tests.builders import ALICE, BOB, change, item_of, register, report, rows

EXPIRED = "UPDATE batch_item SET lease_until = clock_timestamp() - interval '1 second'"


def test_a_claim_leases_for_ninety_seconds_and_counts_the_attempt(database):
    _, (child_id,) = register()
    (claim,) = outbox.claim(10)
    now = rows("SELECT clock_timestamp() AS now")[0]["now"]
    left = claim.fence.lease_until - now
    assert timedelta(seconds=88) < left <= timedelta(seconds=90)
    assert claim.fence.dispatch_attempts == 1
    assert claim.child_id == child_id


def test_a_leased_item_is_not_claimed_again_until_its_lease_expires(database):
    register()
    assert len(outbox.claim(10)) == 1
    assert outbox.claim(10) == []
    change(EXPIRED)
    assert [claim.fence.dispatch_attempts for claim in outbox.claim(10)] == [2]


def test_an_item_is_claimed_at_most_three_times(database):
    register()
    for attempt in (1, 2, 3):
        assert [c.fence.dispatch_attempts for c in outbox.claim(10)] == [attempt]
        change(EXPIRED)
    assert outbox.claim(10) == []
    assert len(outbox.exhausted_ids(10)) == 1


def test_every_claim_carries_the_same_child_and_message(database):
    register()
    seen = []
    for _ in range(3):
        seen += [(c.child_id, c.message) for c in outbox.claim(10)]
        change(EXPIRED)
    assert len(seen) == 3
    assert all(claim == seen[0] for claim in seen)


def test_three_schedulers_at_once_never_claim_an_item_twice(database):
    register(900)

    def drain() -> list[str]:
        mine = []
        while claims := outbox.claim(50):
            mine += [claim.child_id for claim in claims]
        return mine

    with ThreadPoolExecutor(3) as pool:
        claimed = [id_ for part in pool.map(lambda _: drain(), range(3)) for id_ in part]
    assert len(claimed) == len(set(claimed)) == 900


def test_marking_needs_the_fence_of_the_claim(database):
    _, (child_id,) = register()
    (first,) = outbox.claim(10)
    change(EXPIRED)
    (second,) = outbox.claim(10)
    assert outbox.mark_dispatched([first.fence]) == 0
    assert item_of(child_id)["dispatched_at"] is None
    assert outbox.mark_dispatched([second.fence]) == 1
    assert item_of(child_id)["dispatched_at"] is not None


def test_a_refused_item_comes_due_after_fifteen_seconds_then_after_sixty(database):
    _, (child_id,) = register()
    for expected in (15, 60):
        (claim,) = outbox.claim(10)
        outbox.record_failure([claim.fence], first_seconds=15, later_seconds=60)
        now = rows("SELECT clock_timestamp() AS now")[0]["now"]
        left = (item_of(child_id)["lease_until"] - now).total_seconds()
        assert expected - 2 < left <= expected
        change(EXPIRED)


def test_cancelled_items_are_never_claimed(database):
    _, (child_id,) = register()
    cancellations.cancel_import(ALICE, ImportType.PAGE_IMPORT, child_id)
    assert outbox.claim(10) == []


def test_an_accepted_report_proves_the_dispatch(database):
    _, (child_id,) = register()
    outbox.claim(10)
    report(child_id, "processing", run=None)
    assert item_of(child_id)["dispatched_at"] is not None
    change(EXPIRED)
    assert outbox.claim(10) == []


def test_a_large_batch_delays_another_subjects_file_by_no_more_than_a_round(database):
    register(2000, subject=ALICE)
    _, (lonely,) = register(subject=BOB)
    assert lonely in {claim.child_id for claim in outbox.claim(100)}


def test_exhausted_rows_at_the_head_do_not_hide_fresh_ones(database):
    register(200)
    change("UPDATE batch_item SET dispatch_attempts = 3")
    change(EXPIRED)
    _, (fresh,) = register()
    assert [claim.child_id for claim in outbox.claim(10)] == [fresh]


def test_only_rows_within_the_asked_attempts_are_claimed(database):
    _, (tried,) = register()
    outbox.claim(10)
    change(EXPIRED)
    _, (untried,) = register()
    assert [c.child_id for c in outbox.claim(10, max_attempts=0)] == [untried]
    assert [c.child_id for c in outbox.claim(10, min_attempts=1, max_attempts=1)] == [tried]


def test_a_claim_walks_the_pending_index_even_when_statistics_know_of_no_pending_row(database):
    batch_id, _ = register()
    change(
        """INSERT INTO batch_item (id, batch_id, position, request, job_id, message, created_by,
                                   updated_by, dispatched_at)
           SELECT 'done-' || n, %s, n, '{}', 'done-' || n, '{}', 'someone', 'someone', now()
           FROM generate_series(1, 5000) AS n""",
        (batch_id,),
    )
    change("ANALYZE batch_item")
    register(2000)
    with db.transaction():
        db.execute(outbox.WALK_IN_ORDER)
        plan = db.fetch(
            f"EXPLAIN {outbox.CLAIM}", {"limit": 100, "min_attempts": 0, "max_attempts": 2}
        )
    text = "\n".join(row["QUERY PLAN"] for row in plan)
    assert text.count("using batch_item_pending_idx") >= 2
    assert "batch_item_dispatch_idx" not in text
