"""A sealed password leaves the message when the import ends, however it ends, and not before."""

from dataclasses import replace

import pytest

from models import cancellations, intake, redrives, verdicts
from models.ids import uuid7
from models.states import ImportType
from tests.builders import ALICE, item_of, new_import, report

PAGE = ImportType.PAGE_IMPORT


@pytest.fixture
def batch(database):
    """A batch of two imports: one with a password, one without."""
    news = [new_import(), new_import()]
    options = {"password": "sealed1.AAAA", "pages": "1"}
    news[0] = replace(news[0], message={**news[0].message, "options": options})
    batch_id = uuid7()
    intake.register(subject=ALICE, batch_id=batch_id, type=PAGE, name=None, imports=news)
    return batch_id, news[0].child_id


def options_of(child_id):
    return item_of(child_id)["message"]["options"]


def test_it_stays_while_the_import_lives(batch):
    _, child_id = batch
    report(child_id, "processing", run=None)
    report(child_id, "progress", done=1, total=2)
    assert options_of(child_id)["password"] == "sealed1.AAAA"


@pytest.mark.parametrize(
    "end",
    [
        lambda batch_id, child_id: report(child_id, "completed"),
        lambda batch_id, child_id: report(child_id, "failed"),
        lambda batch_id, child_id: cancellations.cancel_import(ALICE, PAGE, child_id),
        lambda batch_id, child_id: cancellations.cancel_batch(ALICE, batch_id),
        lambda batch_id, child_id: cancellations.delete_batch(ALICE, batch_id),
        lambda batch_id, child_id: verdicts.fail(
            PAGE, child_id, code="dead_lettered", message="lost"
        ),
    ],
    ids=["completed", "failed", "cancelled", "batch cancelled", "batch deleted", "given up"],
)
def test_it_goes_with_the_end_and_the_rest_stays(batch, end):
    batch_id, child_id = batch
    end(batch_id, child_id)
    assert options_of(child_id) == {"pages": "1"}


def test_a_retry_begins_without_it(batch):
    _, child_id = batch
    report(child_id, "failed")
    redrives.retry_import(ALICE, PAGE, child_id)
    assert options_of(child_id) == {"pages": "1"}
