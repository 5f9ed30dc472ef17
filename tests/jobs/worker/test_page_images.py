"""Real documents through the real worker: their pictures lie in the bucket before the result."""

import hashlib
import io

import pytest
from PIL import Image

from jobs.messages import ReportEvent
from jobs.results import read_result
from jobs.worker.pictures import webp_size
from tests.jobs.conftest import Account, Room, eventually, make_account, make_web, make_workers
from tests.jobs.parsing.conftest import FILES
from tests.jobs.worker.test_recognition import paper


@pytest.fixture(scope="module")
def reading(aws, storage, sqs, tmp_path_factory):
    """One worker with the product's own parsers."""
    account = make_account(aws, storage, sqs)
    directory = tmp_path_factory.mktemp("reading")
    with make_web() as web, make_workers(account, web, directory) as made:
        worker = made.start(parsers="jobs.parsing", PARSE_CPU_SECONDS="60")
        yield Room(account, web, worker)


def pages_of(account: Account, import_id: str, result, path) -> list[dict]:
    account.storage.fetch_result(
        import_id, result.parser_version, result.sha256, result.size_bytes, path
    )
    return [value for kind, value in read_result(path, 1 << 24) if kind == "page"]


def stored(account: Account, import_id: str) -> dict[str, bytes]:
    prefix = f"imports/{import_id}/pages/"
    found = {}
    for key in account.storage.list_keys(prefix):
        number, digest = key.removeprefix(prefix).split("-")
        found[key.removeprefix(prefix)] = b"".join(
            account.storage.open_picture(import_id, int(number), digest)
        )
    return found


def test_each_page_of_a_pdf_has_its_picture_in_the_bucket(reading, tmp_path):
    account, web = reading.account, reading.web
    import_id = account.send(account.store((FILES / "pdf" / "jsverb.pdf").read_bytes()))

    result = eventually(lambda: web.ended.get(import_id), seconds=60).result

    pages = pages_of(account, import_id, result, tmp_path / "result")
    pictures = stored(account, import_id)
    assert [page["number"] for page in pages] == [1, 2, 3, 4]
    assert len(pictures) == 4
    for page in pages:
        image = page["image"]
        data = pictures[f"{page['number']}-{image['sha256']}"]
        assert hashlib.sha256(data).hexdigest() == image["sha256"]
        assert (image["width"], image["height"]) == webp_size(data) == (1131, 1600)
        assert image["size_bytes"] == len(data)
        assert "text" in page


def test_a_second_delivery_makes_the_same_pictures_and_no_doubles(reading, tmp_path):
    account, web = reading.account, reading.web
    message = account.store((FILES / "pdf" / "word365_structure.pdf").read_bytes())
    import_id = account.send(message)
    first = eventually(lambda: web.ended.get(import_id), seconds=60).result
    before = stored(account, import_id)
    account.storage.delete_tree(f"imports/{import_id}/results/")
    del web.ended[import_id]

    account.send(message)
    second = eventually(lambda: web.ended.get(import_id), seconds=60).result

    assert second == first
    assert stored(account, import_id) == before
    versions = account.storage.delete_tree(f"imports/{import_id}/pages/")
    assert versions == len(before) == 1


def test_pictures_are_left_out_when_they_are_not_wanted(reading, tmp_path):
    account, web = reading.account, reading.web
    message = account.store((FILES / "pdf" / "word365_structure.pdf").read_bytes())
    plain = type(message)(**{**vars(message), "options": {"images": False}})
    import_id = account.send(plain)

    result = eventually(lambda: web.ended.get(import_id), seconds=60).result

    (page,) = pages_of(account, import_id, result, tmp_path / "result")
    assert "image" not in page
    assert stored(account, import_id) == {}


def test_a_broken_photograph_is_taken_in_with_a_warning(reading, tmp_path):
    account, web = reading.account, reading.web
    buffer = io.BytesIO()
    Image.effect_noise((600, 400), 80).save(buffer, "JPEG")
    import_id = account.send(account.store(buffer.getvalue()[:9000]))

    result = eventually(lambda: web.ended.get(import_id), seconds=60).result

    (page,) = pages_of(account, import_id, result, tmp_path / "result")
    assert "image" not in page
    assert any(warning.startswith("image_failed") for warning in page["warnings"])
    assert stored(account, import_id) == {}


def test_a_scan_is_read_by_the_worker_with_picture_and_text(reading, tmp_path):
    account, web = reading.account, reading.web
    buffer = io.BytesIO()
    paper().save(buffer, "TIFF")
    import_id = account.send(account.store(buffer.getvalue()))

    result = eventually(lambda: web.ended.get(import_id), seconds=90).result

    (page,) = pages_of(account, import_id, result, tmp_path / "result")
    assert "画像だけ" in page["text"].replace(" ", "")
    assert (page["source"], page["warnings"]) == ("ocr", [])
    assert page["image"]["width"] == 1000
    events = [entry for entry in reading.worker.log() if entry["event"] == "text_recognition_ready"]
    assert {"jpn", "jpn_vert", "eng"} <= set(events[0]["languages"])
    assert "japanese_font_found" in reading.worker.events()


def test_a_worker_without_a_japanese_font_says_what_to_install(room):
    told = [entry for entry in room.worker.log() if entry["event"] == "japanese_font_missing"]

    assert told[0]["level"] == "warning"
    assert told[0]["install"] == "apt-get install fonts-ipafont-mincho"


def test_an_import_that_is_cancelled_while_it_is_drawn_is_let_go(room):
    account, web, worker = room.account, room.web, room.worker
    import_id = account.submit("pictures 5 loop 3")
    web.fault = lambda report: (
        409 if (report.import_id, report.event) == (import_id, ReportEvent.PROGRESS) else None
    )

    eventually(lambda: "work_not_wanted" in worker.events(import_id), seconds=30)

    web.fault = lambda report: None
    eventually(lambda: account.count() == 0)
    assert "parser_ended" in worker.events(import_id)
    assert import_id not in web.ended
    assert stored(account, import_id) == {}
