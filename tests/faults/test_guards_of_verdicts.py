"""Guards of verdicts: whose runs and whose letters they are about, and who is told of."""

import time

import pytest

from models import cancellations, outbox, redrives, transitions, verdicts
from models.errors import NotFound
from models.ids import uuid7
from models.states import ImportType
from tests.builders import ALICE, change, child, item_of, register, report, start_new_run

PAGE = ImportType.PAGE_IMPORT
LONG_AGO, MUCH_LATER = 1.0, 1e11


def dispatched(count=1):
    """Imports whose message is in SQS."""
    _, ids = register(count)
    outbox.mark_dispatched([claim.fence for claim in outbox.claim(10)])
    return ids


def run_of(child_id):
    return child(child_id)["run"]


def use_up_the_runs(child_id):
    for _ in range(3):
        assert start_new_run(child_id) == "new_run"


def test_what_a_webhook_is_told_of_an_import(database):
    _, (live, done) = register(2)
    report(done, "completed")
    assert not transitions.current(PAGE, live).terminal
    assert transitions.current(PAGE, done).terminal
    with pytest.raises(NotFound):
        transitions.current(PAGE, uuid7())


def test_an_item_that_is_gone_or_has_no_child_is_not_exhausted(database):
    with pytest.raises(NotFound):
        verdicts.exhaust(uuid7())
    _, (child_id,) = register()
    change("UPDATE batch_item SET dispatch_attempts = 3, lease_until = now() - interval '1 s'")
    (item_id,) = outbox.exhausted_ids(1)
    change("UPDATE batch_item SET job_id = NULL")
    with pytest.raises(NotFound):
        verdicts.exhaust(item_id)
    assert child(child_id)["status"] == "queued"


@pytest.mark.parametrize("actor", [None, "an operator"])
def test_the_item_names_who_gave_it_up(database, actor):
    _, (child_id,) = register()
    assert verdicts.fail(PAGE, child_id, code="failed_by_operator", message="no", actor=actor)
    assert item_of(child_id)["updated_by"] == (actor or "scheduler")


def test_runs_of_another_import_do_not_count(database):
    _, (often, once) = register(2)
    use_up_the_runs(often)
    assert start_new_run(once) == "new_run"


def test_a_retry_of_another_import_gives_no_new_runs(database):
    _, (often, other) = register(2)
    use_up_the_runs(often)
    report(other, "failed")
    redrives.retry_import(ALICE, PAGE, other)
    assert start_new_run(often) == "failed"


def test_a_letter_of_an_import_that_has_ended_starts_nothing(database):
    (child_id,) = dispatched()
    cancellations.cancel_import(ALICE, PAGE, child_id)
    assert verdicts.settle_dead_letter(PAGE, child_id) == "settled"
    assert run_of(child_id) == 1


def test_a_letter_of_an_import_that_waits_for_its_dispatch_starts_nothing(database):
    _, (child_id,) = register()
    assert verdicts.settle_dead_letter(PAGE, child_id) == "settled"
    assert run_of(child_id) == 1


def test_a_letter_without_a_time_is_of_the_current_run(database):
    (child_id,) = dispatched()
    assert start_new_run(child_id) == "new_run"
    outbox.mark_dispatched([claim.fence for claim in outbox.claim(10)])
    assert verdicts.settle_dead_letter(PAGE, child_id) == "new_run"
    assert run_of(child_id) == 3


@pytest.mark.parametrize("sent_at", [LONG_AGO, MUCH_LATER])
def test_a_letter_of_the_first_run_counts_whenever_it_was_sent(database, sent_at):
    (child_id,) = dispatched()
    assert verdicts.settle_dead_letter(PAGE, child_id, sent_at=sent_at) == "new_run"


def test_a_letter_from_before_the_current_run_decides_nothing(database):
    (child_id,) = dispatched()
    assert start_new_run(child_id) == "new_run"
    outbox.mark_dispatched([claim.fence for claim in outbox.claim(10)])
    assert verdicts.settle_dead_letter(PAGE, child_id, sent_at=LONG_AGO) == "settled"
    assert verdicts.settle_dead_letter(PAGE, child_id, sent_at=MUCH_LATER) == "new_run"


def test_a_new_run_of_another_import_does_not_make_a_letter_old(database):
    mine, other = dispatched(2)
    assert start_new_run(other) == "new_run"
    assert verdicts.settle_dead_letter(PAGE, mine, sent_at=time.time() - 3600) == "new_run"
