"""`imports explain` in each place an import can be, brought there by the real parts."""

import json

import boto3
import pytest

from jobs.settings import StorageSettings
from jobs.storage import Storage
from models import cancellations, outbox
from models.states import ImportType
from scheduler.deadletters import DeadLetters
from scheduler.sweeper import Sweeper
from tests.builders import ALICE, change, register, report


@pytest.fixture
def taken_again(queue):
    """Have SQS deliver the messages of the page imports until it gives up on them."""
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName="torikomi_page_import")["QueueUrl"]

    def take() -> None:
        while True:
            answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=0, MaxNumberOfMessages=10)
            if not answer.get("Messages"):
                return

    return take


@pytest.fixture
def places(dispatcher, queue, taken_again, scheduler_settings):
    """What brings an import to each place."""

    def breaker_open(_: str) -> None:
        queue.down = "AccessDenied"
        dispatcher.dispatch_due()

    def waiting_for_redelivery(child_id: str) -> None:
        dispatcher.dispatch_due()
        report(child_id, "processing", run=None)
        change("UPDATE page_import SET last_report_at = last_report_at - interval '5 minutes'")

    def dead_lettered(_: str) -> None:
        letters = DeadLetters(queue, Storage(StorageSettings()))
        for _run in range(4):
            dispatcher.dispatch_due()
            taken_again()
            letters.drain()

    def dead_letter(_: str) -> None:
        dispatcher.dispatch_due()
        taken_again()
        Sweeper(queue, scheduler_settings).sweep()

    def new_run(_: str) -> None:
        dispatcher.dispatch_due()
        taken_again()
        DeadLetters(queue, Storage(StorageSettings())).drain()

    return {
        "waiting_for_dispatch": lambda _: None,
        "leased": lambda _: outbox.claim(10),
        "breaker_open": breaker_open,
        "in_sqs": lambda _: dispatcher.dispatch_due(),
        "in_sqs, dead": dead_letter,
        "waiting_for_dispatch, again": new_run,
        "processing": lambda id_: report(id_, "processing", run=None),
        "waiting_for_redelivery": waiting_for_redelivery,
        "dead_lettered": dead_lettered,
        "failed": lambda id_: report(id_, "failed", error_message="the file is damaged"),
        "completed": lambda id_: report(id_, "completed"),
        "cancelled": lambda id_: cancellations.cancel_import(ALICE, ImportType.PAGE_IMPORT, id_),
    }


TOLD = {
    "waiting_for_dispatch": ("queued", "it waits for the next dispatch"),
    "leased": ("queued", "attempt 1 of its dispatch is under way"),
    "breaker_open": ("queued", "SQS does not answer (AccessDenied); dispatch goes on when it does"),
    "in_sqs": ("queued", "its message is in SQS and no worker has started it yet"),
    "in_sqs, dead": ("queued", "or it is among the 1 dead letters"),
    "waiting_for_dispatch, again": ("queued", "run 2 began (new_run: dead_lettered); it waits"),
    "processing": ("processing", "a worker has it; its last report came 0 s ago"),
    "waiting_for_redelivery": ("processing", "it waits for SQS to deliver its message again"),
    "dead_lettered": ("failed", "its message was dead-lettered again and again; redrive it"),
    "failed": ("failed", "it failed; redrive it when the cause is gone"),
    "completed": ("completed", "it is done"),
    "cancelled": ("cancelled", "a person cancelled it"),
}


@pytest.mark.parametrize("place", TOLD)
def test_explain_tells_where_an_import_is_in_words_and_as_json(operate, places, place):
    _, (child_id,) = register()
    places[place](child_id)
    status, why = TOLD[place]

    story = json.loads(operate("imports", "explain", child_id, "--json"))
    lines = operate("imports", "explain", child_id).splitlines()

    assert (story["import_id"], story["status"]) == (child_id, status)
    assert story["place"] == place.partition(",")[0]
    assert why in story["why"]
    assert lines[:5] == [
        f"import_id: {child_id}",
        "type: page_import",
        f"status: {status}",
        f"place: {story['place']}",
        next(line for line in lines if line.startswith("why: ")),
    ]
    assert why in lines[4]
    assert [line.strip() for line in lines[lines.index("history:") + 1 :]] == story["history"]
    assert "accepted, - -> queued, run 1" in story["history"][0]
