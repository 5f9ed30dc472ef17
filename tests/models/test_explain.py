"""explain says where an import is and why it waits, in each place it can be."""

import pytest

from models import cancellations, explain, outbox, redrives, verdicts
from models.errors import NotFound
from models.ids import uuid7
from models.states import ImportType
from scheduler.breaker import Breaker
from tests.builders import ALICE, change, register, report

PAGE = ImportType.PAGE_IMPORT


def dispatch(child_id: str) -> None:
    (claim,) = outbox.claim(10)
    assert outbox.mark_dispatched([claim.fence]) == 1


def age_report(child_id: str) -> None:
    report(child_id, "processing", run=None)
    change("UPDATE page_import SET last_report_at = last_report_at - interval '5 minutes'")


def exhaust(child_id: str) -> None:
    change(
        """UPDATE batch_item SET dispatch_attempts = 3,
           lease_until = clock_timestamp() - interval '1 second'"""
    )
    verdicts.exhaust(outbox.exhausted_ids(1)[0])


PLACES = {
    "waiting for dispatch": (lambda _: None, "waits for the next dispatch"),
    "leased": (lambda _: outbox.claim(10), "attempt 1 of its dispatch"),
    "breaker open": (
        lambda _: Breaker().trip("AccessDenied"),
        "SQS does not answer (AccessDenied)",
    ),
    "in SQS": (dispatch, "in SQS and no worker has started it"),
    "processing": (lambda id_: report(id_, "processing", run=None), "a worker has it"),
    "waiting for redelivery": (age_report, "deliver its message again"),
    "dead-lettered": (
        lambda id_: (dispatch(id_), verdicts.settle_dead_letter(PAGE, id_)),
        "run 2 began (new_run: dead_lettered)",
    ),
    "exhausted": (exhaust, "redrive it"),
    "failed": (lambda id_: report(id_, "failed"), "redrive it"),
    "completed": (lambda id_: report(id_, "completed"), "it is done"),
    "cancelled": (lambda id_: cancellations.cancel_import(ALICE, PAGE, id_), "cancelled it"),
}


@pytest.mark.parametrize("place", PLACES)
def test_every_place_has_its_reason(database, place):
    _, (child_id,) = register()
    act, reason = PLACES[place]
    act(child_id)
    assert reason in explain.tell(child_id)["why"]


def test_the_history_is_told_in_order_with_who_and_which_run(database):
    _, (child_id,) = register()
    report(child_id, "processing", run=None)
    report(child_id, "failed", error_code="file_corrupt", error_message="broken")
    redrives.retry_import(ALICE, PAGE, child_id)
    told = explain.tell(child_id)
    assert told["error"] is None
    steps = [line.split(" ", 1)[1] for line in told["history"]]
    assert steps == [
        f"{ALICE}: accepted, - -> queued, run 1",
        "worker: started, queued -> processing, run 1",
        "worker: failed, processing -> failed, run 1 (file_corrupt)",
        f"{ALICE}: retried, failed -> queued, run 2 (by a person)",
    ]


def test_an_unknown_import_is_not_found(database):
    with pytest.raises(NotFound):
        explain.tell(uuid7())
