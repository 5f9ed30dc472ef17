"""The derived status, checked against the plain reading of the source table."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models import batches
from models.errors import Conflict, NotFound
from models.ids import is_id, uuid7, uuid7_time
from models.states import ItemState, batch_summaries, batch_summary, item_state
from tests.builders import ALICE, BOB, change, register, rows

ITEMS = st.lists(
    st.tuples(
        st.sampled_from(["queued", "processing", "completed", "failed"]),
        st.booleans(),  # cancelled
        st.booleans(),  # dispatch error
    ),
    min_size=1,
    max_size=6,
)


def expected_state(status: str, cancelled: bool, error: bool) -> str:
    if cancelled:
        return "cancelled"
    return "failed" if error else status


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(items=ITEMS)
def test_status_and_counts_are_a_function_of_the_items(database, items):
    batch_id, ids = register(len(items))
    for child_id, (status, cancelled, error) in zip(ids, items, strict=True):
        change("UPDATE page_import SET status = %s WHERE id = %s", (status, child_id))
        change(
            """UPDATE batch_item SET cancelled_at = CASE WHEN %s THEN now() END,
               error_message = CASE WHEN %s THEN 'x' END WHERE job_id = %s""",
            (cancelled, error, child_id),
        )
    states = [expected_state(*item) for item in items]
    view = batches.get_batch(ALICE, batch_id)
    counts = view.counts
    assert (
        counts.total
        == len(items)
        == sum((counts.queued, counts.running, counts.completed, counts.failed, counts.cancelled))
    )
    assert counts.running == states.count("processing")
    if {"queued", "processing"} & set(states):
        assert view.status == "0"
    elif "failed" in states:
        assert view.status == "2"
    else:
        assert view.status == ("3" if "cancelled" in states else "1")
    assert view.partial == (view.status in "23" and "completed" in states)
    listed, _ = batches.list_items(ALICE, batch_id)
    assert [view.status for view in listed] == states
    for state in ItemState:
        filtered, _ = batches.list_items(ALICE, batch_id, state=state)
        assert [v.id for v in filtered] == sorted(v.id for v in listed if v.status == state)
    every = f"""SELECT i.batch_id, ({item_state()}) AS state
                FROM batch_item i JOIN page_import c ON c.id = i.job_id"""
    plain = {row.pop("batch_id"): row for row in rows(batch_summary(every))}[batch_id]
    quick = rows(batch_summaries("page_import"), ([batch_id],))[0]
    assert quick == {"batch_id": batch_id, **plain}


def test_batches_are_paged_newest_first_without_gaps(database):
    made = [register()[0] for _ in range(5)]
    register(subject=BOB)
    seen, cursor = [], None
    while True:
        views, cursor = batches.list_batches(ALICE, cursor=cursor, limit=2)
        seen += [view.id for view in views]
        if cursor is None:
            break
    assert seen == made[::-1]


def test_items_can_be_filtered_by_state_and_paged(database):
    batch_id, ids = register(5)
    change("UPDATE page_import SET status = 'failed' WHERE id = ANY(%s)", (ids[1:4],))
    first, cursor = batches.list_items(ALICE, batch_id, state="failed", limit=2)
    rest, end = batches.list_items(ALICE, batch_id, state="failed", cursor=cursor, limit=2)
    assert [view.id for view in first + rest] == sorted(ids[1:4])
    assert end is None


def test_a_page_of_a_state_looks_at_so_many_items_and_no_more(database):
    batch_id, ids = register(2500)
    last = max(ids)
    change("UPDATE batch_item SET cancelled_at = now() WHERE job_id <> %s", (last,))
    seen, cursor, pages = [], None, 0
    while True:
        views, cursor = batches.list_items(ALICE, batch_id, state="queued", cursor=cursor, limit=10)
        seen += [view.id for view in views]
        pages += 1
        if cursor is None:
            break
    assert seen == [last]
    assert pages == 5


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "WyJ4Il0", "bnVsbA", "W10", "\x00", "é"])
def test_a_made_up_cursor_is_refused(database, cursor):
    register()
    with pytest.raises(Conflict, match="cursor_invalid"):
        batches.list_batches(ALICE, cursor=cursor)


def test_a_stranger_finds_no_batch(database):
    batch_id, _ = register()
    for look in (batches.get_batch, batches.list_items):
        with pytest.raises(NotFound):
            look(BOB, batch_id)


def test_ids_are_version_seven_sorted_and_unique():
    made = [uuid7() for _ in range(100_000)]
    assert len(set(made)) == len(made)
    assert all(map(is_id, made[:1000]))
    assert made[0][:13] <= made[-1][:13]
    assert abs((uuid7_time(made[0]) - uuid7_time(made[-1])).total_seconds()) < 60
