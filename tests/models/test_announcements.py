"""Outgoing events are written by the transitions that they tell of, and by nothing else."""

import threading

import pytest

from models import cancellations, endpoints, redrives, transitions, verdicts
from models.database import transaction
from models.endpoints import EventType
from models.states import ImportType
from tests.builders import ALICE, BOB, register, report, result, rows


def endpoint(subject=ALICE, events=tuple(EventType), **more):
    """Register an endpoint; return its ID."""
    view, _ = endpoints.create_endpoint(
        subject,
        url="https://hooks.example.com/",
        event_types=[str(event) for event in events],
        description=None,
        language="ja",
        **more,
    )
    return view.id


def told(endpoint_id=None):
    """The types of the events that an endpoint will be told of, in order."""
    found = rows(
        """SELECT v.type FROM delivery d JOIN outgoing_event v ON v.id = d.event_id
           WHERE %(id)s::text IS NULL OR d.endpoint_id = %(id)s ORDER BY v.occurred_at""",
        {"id": endpoint_id},
    )
    return [row["type"] for row in found]


def snapshots(event_type):
    found = rows("SELECT snapshot FROM outgoing_event WHERE type = %s", (event_type,))
    return [row["snapshot"] for row in found]


def test_a_subject_without_an_endpoint_has_no_events(database):
    _, (child_id,) = register()
    report(child_id, "completed")
    assert rows("SELECT id FROM outgoing_event") == []


def test_the_end_of_an_import_and_of_its_batch_are_announced_once(database):
    endpoint()
    batch_id, (one, two) = register(2)
    report(one, "processing", run=None)
    report(one, "completed")
    assert told() == ["import.completed"]
    report(one, "completed")
    report(two, "failed")
    assert told() == ["import.completed", "import.failed", "batch.completed"]
    completed, failed = snapshots("import.completed")[0], snapshots("import.failed")[0]
    assert (completed["id"], completed["status"]) == (one, "completed")
    assert completed["page_count"] == 2
    assert "document" not in completed
    assert (failed["id"], failed["error_code"]) == (two, "file_corrupt")
    (batch,) = snapshots("batch.completed")
    assert (batch["id"], batch["status"], batch["counts"]["failed"]) == (batch_id, "2", 1)


def test_each_endpoint_of_the_owner_is_told_what_it_asked_for_and_a_strangers_nothing(database):
    all_of_it = endpoint()
    failures = endpoint(events=[EventType.IMPORT_FAILED])
    disabled = endpoint(enabled=False)
    foreign = endpoint(BOB)
    gone = endpoint()
    endpoints.delete_endpoint(ALICE, gone)
    _, (one, two) = register(2)
    report(one, "completed")
    report(two, "failed")
    assert len(told(all_of_it)) == 3
    assert told(failures) == ["import.failed"]
    assert told(disabled) == told(foreign) == told(gone) == []


def test_cancelling_and_deleting_tell_of_each_item_and_of_the_batch(database):
    endpoint()
    batch_id, (one, _, _) = register(3)
    report(one, "completed")
    cancellations.cancel_batch(ALICE, batch_id)
    assert sorted(told()) == [
        "batch.completed",
        "import.cancelled",
        "import.cancelled",
        "import.completed",
    ]
    assert {row["status"] for row in snapshots("import.cancelled")} == {"cancelled"}
    other, _ = register(1)
    cancellations.delete_batch(ALICE, other)
    assert told()[-2:] == ["import.cancelled", "batch.completed"]
    finished, (child_id,) = register(1)
    report(child_id, "completed")
    before = len(told())
    cancellations.delete_batch(ALICE, finished)
    assert len(told()) == before


def test_verdicts_of_machines_and_another_round_after_a_retry_are_told_too(database):
    endpoint()
    batch_id, (child_id,) = register(1)
    verdicts.fail(ImportType.PAGE_IMPORT, child_id, code="stalled", message="x")
    assert told() == ["import.failed", "batch.completed"]
    redrives.retry_batch(ALICE, batch_id)
    report(child_id, "completed", run=2)
    assert told()[2:] == ["import.completed", "batch.completed"]
    assert snapshots("batch.completed")[1]["status"] == "1"


def test_what_is_rolled_back_was_never_announced(database):
    endpoint()
    _, (child_id,) = register()

    def broken():
        yield {"number": 1, "text": "x", "markdown": "x", "tables": [], "warnings": []}
        raise RuntimeError("the transaction ends here")

    with pytest.raises(RuntimeError):
        report(
            child_id,
            "completed",
            result=result().__class__(
                sha256="e" * 64, detected_type="t", page_count=1, document={}, pages=broken()
            ),
        )
    assert told() == []
    assert rows("SELECT id FROM outgoing_event") == []


def test_of_items_that_end_at_once_exactly_one_tells_the_end_of_the_batch(database):
    endpoint(events=[EventType.BATCH_COMPLETED])
    for _ in range(5):
        _, children = register(4)
        start = threading.Barrier(4)

        def end(child_id, start=start):
            start.wait()
            report(child_id, "completed")

        threads = [threading.Thread(target=end, args=(child_id,)) for child_id in children]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert told() == ["batch.completed"] * 5


def test_a_transaction_waits_for_the_one_that_ends_the_same_batch(database):
    """Without the lock both would see the other's item running, and nobody would tell."""
    endpoint(events=[EventType.BATCH_COMPLETED])
    _, (one, two) = register(2)
    with transaction():
        transitions._fail(transitions.lock(ImportType.PAGE_IMPORT, one), "file_corrupt", "x")
        assert rows_of_batch_events() == 0
        ended = threading.Thread(target=report, args=(two, "completed"))
        ended.start()
        ended.join(0.5)
        assert ended.is_alive()
    ended.join()
    assert told() == ["batch.completed"]


def rows_of_batch_events():
    from models.database import fetch

    return fetch("SELECT count(*) AS n FROM outgoing_event")[0]["n"]


def test_cancelling_a_large_batch_announces_every_item_in_bulk(database, monkeypatch):
    monkeypatch.setattr("models.announcements._CHUNK", 50)
    endpoint()
    batch_id, children = register(120)
    cancellations.cancel_batch(ALICE, batch_id)
    found = rows("SELECT type, count(*) AS n FROM outgoing_event GROUP BY type")
    assert {row["type"]: row["n"] for row in found} == {
        "batch.completed": 1,
        "import.cancelled": 120,
    }
    told_of = rows(
        """SELECT DISTINCT v.snapshot->>'id' AS id FROM outgoing_event v
           JOIN delivery d ON d.event_id = v.id WHERE v.type = 'import.cancelled'"""
    )
    assert {row["id"] for row in told_of} == set(children)
