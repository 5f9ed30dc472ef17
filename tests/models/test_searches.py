"""What the screens look for: only one's own, whatever stands in the text, in few queries."""

import pytest

from models import intake, searches
from models.errors import Conflict, NotFound
from models.ids import uuid7
from models.states import BatchStatus, ImportType
from tests.builders import ALICE, BOB, new_import, register, report


def take_in(*names: str, subject: str = ALICE, type: ImportType = ImportType.PAGE_IMPORT) -> str:
    batch_id = uuid7()
    imports = [new_import(type, name) for name in names]
    intake.register(subject=subject, batch_id=batch_id, type=type, name=None, imports=imports)
    return batch_id


def found(text: str = "", subject: str = ALICE, **more) -> list[str]:
    return [view.id for view in searches.search_batches(subject, text=text, **more)[0]]


def test_a_batch_is_found_by_a_part_of_any_files_name_in_any_case(database):
    mine = take_in("請求書.pdf", "Invoice_7.PDF")
    take_in("請求書.pdf", subject=BOB)
    code = take_in("invoice.py", type=ImportType.CODE2DES)
    assert found("求書") == [mine]
    assert found("INVOICE") == [code, mine]
    assert found() == [code, mine]


@pytest.mark.parametrize("text", ["%", "_", "\\", "100%", "a_b", "'", '"; DROP TABLE batch'])
def test_signs_of_the_pattern_language_stand_for_themselves(database, text):
    take_in("plain.pdf", "aXb")
    assert found(text) == []
    odd = take_in(f"x{text}y.pdf")
    assert found(text) == [odd]


def test_batches_are_filtered_by_derived_status_and_paged(database):
    batches = [register() for _ in range(5)]
    for _, (child_id,) in batches[:3]:
        report(child_id, "completed")
    done = [batch_id for batch_id, _ in reversed(batches[:3])]
    first, cursor = searches.search_batches(ALICE, status=BatchStatus.COMPLETED, limit=2)
    second, end = searches.search_batches(
        ALICE, status=BatchStatus.COMPLETED, limit=2, cursor=cursor
    )
    assert [view.id for view in (*first, *second)] == done
    assert end is None
    assert first[0].counts.completed == 1
    assert len(found(status=BatchStatus.PROCESSING)) == 2
    with pytest.raises(Conflict):
        searches.search_batches(ALICE, cursor="nonsense")


def test_the_newest_files_come_first_and_only_ones_own(database):
    take_in("old-1.pdf", "old-2.pdf")
    take_in("strange.pdf", subject=BOB)
    take_in("new.py", type=ImportType.CODE2DES)
    names = [view.file_name for view in searches.recent_children(ALICE, limit=10)]
    assert names == ["new.py", "old-1.pdf", "old-2.pdf"]
    assert [view.file_name for view in searches.recent_children(ALICE, limit=1)] == ["new.py"]


def test_words_are_found_on_their_pages_with_what_stands_around(database):
    _, (child_id,) = register()
    report(child_id, "completed")
    (hit,) = searches.find_pages(ALICE, child_id, "頁2")
    assert (hit.number, hit.before, hit.found, hit.after) == (2, "", "頁2", "")
    assert searches.find_pages(ALICE, child_id, "%") == []
    with pytest.raises(NotFound):
        searches.find_pages(BOB, child_id, "頁")


def test_the_first_names_of_batches_come_together(database):
    one, two = take_in("a.pdf", "b.pdf"), take_in("c.py", type=ImportType.CODE2DES)
    assert searches.first_names([one, two]) == {one: "a.pdf", two: "c.py"}
