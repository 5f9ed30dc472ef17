"""Pictures cost no text: whatever a page does to its child, the others keep theirs."""

import hashlib
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobs.worker import pictures
from jobs.worker.drawing import Drawing
from jobs.worker.errors import Interrupted
from jobs.worker.merging import Additions, merge
from jobs.worker.patience import Patience
from jobs.worker.pictures import PageFlaw, PagePicture, read_records, webp_size
from jobs.worker.sandbox import ParseJob, Sandbox, Watch
from jobs.worker.walls import Limits
from tests.jobs.hostile import webp

LIMITS = Limits(cpu_seconds=20, memory_bytes=512 << 20, output_bytes=16 << 20)


class Shelf:
    """A storage of our own that remembers what it took."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, int], bytes] = {}

    def put_picture(
        self, child_id: str, number: int, data: bytes, sha256: str, media_type: str
    ) -> None:
        assert hashlib.sha256(data).hexdigest() == sha256
        assert media_type == "image/webp"
        self.kept[child_id, number] = data


class NoTrouble(Patience):
    """Patience that is never needed."""

    def __init__(self) -> None:
        """Hold nothing."""

    def storage(self, call: Callable[[], object]) -> object:
        return call()


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox(["page_import"], LIMITS, wall_seconds=30, parsers="tests.jobs.hostile")
    yield made
    made.close()


@pytest.fixture
def draw(sandbox: Sandbox, tmp_path: Path) -> Callable[..., tuple[Additions, Shelf]]:
    def run(command: str, *, seconds: float = 20, **options: object) -> tuple[Additions, Shelf]:
        source = tmp_path / "source"
        source.write_text(command)
        job = ParseJob(
            type="page_import",
            source=source,
            directory=tmp_path,
            file_name="n",
            options={"images": True, **options},
        )
        lines = sandbox.parse(job, on_progress=lambda *_: None, should_stop=lambda: False)
        assert isinstance(lines, Path)
        shelf = Shelf()
        drawing = Drawing(sandbox, shelf, NoTrouble(), seconds=seconds)  # type: ignore[arg-type]
        watch = Watch(on_progress=lambda *_: None, should_stop=lambda: False)
        return drawing.draw(job, lines, "id", watch), shelf

    return run


def drawn(additions: Additions) -> list[int]:
    return sorted(additions.keys)


def test_each_page_of_a_good_file_has_its_picture(draw):
    additions, shelf = draw("pictures 3")

    assert drawn(additions) == [1, 2, 3]
    assert additions.warnings == {}
    assert additions.keys[2]["image"] == {
        "sha256": hashlib.sha256(webp(12, 20)).hexdigest(),
        "media_type": "image/webp",
        "width": 12,
        "height": 20,
        "size_bytes": len(webp(12, 20)),
    }
    assert shelf.kept["id", 2] == webp(12, 20)


@pytest.mark.parametrize("deed", ["segfault", "hog", "abort_hungry"])
def test_a_page_that_kills_its_child_is_passed_over(draw, deed):
    additions, shelf = draw(f"pictures 5 {deed} 2 {deed} 5")

    assert drawn(additions) == [1, 3, 4]
    assert sorted(number for _, number in shelf.kept) == [1, 3, 4]
    assert sorted(additions.warnings) == [2, 5]
    assert additions.warnings[2] == ["image_failed: no picture of this page could be made."]


def test_pages_that_kill_one_child_after_the_other_end_the_drawing(draw):
    deeds = " ".join(f"segfault {page}" for page in range(1, 9))
    additions, _ = draw(f"pictures 20 {deeds}")

    assert drawn(additions) == []
    assert sorted(additions.warnings) == [0, 1, 2, 3, 4]
    assert additions.warnings[0][0].startswith("images_limited: pages from 5 on")


def test_a_page_that_never_ends_costs_the_pictures_behind_it(draw):
    additions, _ = draw("pictures 4 loop 3", seconds=2)

    assert drawn(additions) == [1, 2]
    assert additions.warnings[0][0].startswith("images_limited: pages from 3 on")


def test_the_option_switches_pictures_off(draw):
    additions, shelf = draw("pictures 3", images=False)

    assert not additions
    assert shelf.kept == {}


def test_a_format_without_pictures_starts_no_second_child(draw):
    additions, shelf = draw("text こんにちは")

    assert not additions
    assert shelf.kept == {}


def test_a_stop_while_drawing_is_obeyed(sandbox, tmp_path):
    source = tmp_path / "source"
    source.write_text("pictures 9 loop 2")
    job = ParseJob(type="page_import", source=source, directory=tmp_path, file_name="n")
    lines = sandbox.parse(job, on_progress=lambda *_: None, should_stop=lambda: False)
    drawing = Drawing(sandbox, Shelf(), NoTrouble(), seconds=20)
    watch = Watch(on_progress=lambda *_: None, should_stop=lambda: True)

    with pytest.raises(Interrupted):
        drawing.draw(job, lines, "id", watch)


def record(kind: bytes, number: int, data: bytes) -> bytes:
    return struct.pack(">4sII", kind, number, len(data)) + data


@pytest.mark.parametrize(
    ("content", "numbers"),
    [
        (record(b"PIC1", 1, webp(9, 9)) + record(b"PIC1", 2, webp(9, 9))[:-1], [1]),
        (record(b"PIC1", 1, webp(9, 9)) + b"rubbish that is long enough", [1]),
        (record(b"PIC1", 2, webp(9, 9)) + record(b"PIC1", 2, webp(9, 9)), [2]),
        (record(b"PIC1", 3, webp(9, 9)) + record(b"PIC1", 1, webp(9, 9)), [3]),
        (record(b"PIC1", 5_000_000, webp(9, 9)), []),
        (struct.pack(">4sII", b"PIC1", 1, 2**31) + b"x", []),
        (b"", []),
    ],
)
def test_what_a_child_writes_is_believed_to_its_last_good_record(tmp_path, content, numbers):
    path = tmp_path / "pictures"
    path.write_bytes(content)

    found = list(read_records(path, first=1))

    assert [one.number for one in found if isinstance(one, PagePicture)] == numbers


@pytest.mark.parametrize(
    "data",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"\x89PNG\r\n\x1a\n" + bytes(40),
        webp(1601, 10),
        webp(10, 0),
        webp(9, 9)[:-1],
        webp(9, 9) + b"<script>",
        b"",
    ],
)
def test_what_is_no_plain_picture_becomes_a_warning(tmp_path, data):
    path = tmp_path / "pictures"
    path.write_bytes(record(b"PIC1", 1, data))

    assert webp_size(data) is None
    assert list(read_records(path, first=1)) == [
        PageFlaw(1, "image_failed: no picture of this page could be made.")
    ]


def test_a_reason_keeps_to_one_printable_line(tmp_path):
    path = tmp_path / "pictures"
    with path.open("wb") as output:
        pictures.write_flaw(output, 1, "bad\n\x1b[31m" + "x" * 1000)

    (flaw,) = read_records(path, first=1)

    assert flaw.reason.startswith("bad[31mxxx")
    assert len(flaw.reason) <= 400


def test_lines_are_merged_and_lines_that_are_none_stay(tmp_path):
    lines, merged = tmp_path / "lines", tmp_path / "merged"
    good = [
        {"document": {"page_count": 2, "warnings": []}},
        {"page": {"number": 1, "warnings": ["a"]}},
        {"page": {"number": 2, "warnings": []}},
    ]
    rubbish = b'[1,2]\n{"page":7}\n{"page":{"number":1}}\nnot json\n{"page":{"number":[]}}\nend'
    lines.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in good) + rubbish)
    additions = Additions()
    additions.warn(0, "images_limited")
    additions.warn(1, "b")
    additions.set(1, {"image": {"width": 1}})

    merge(lines, merged, additions)

    first, second, third, rest = merged.read_bytes().split(b"\n", 3)
    assert json.loads(first)["document"]["warnings"] == ["images_limited"]
    page = {"number": 1, "warnings": ["a", "b"], "image": {"width": 1}}
    assert json.loads(second)["page"] == page
    assert json.loads(third)["page"] == good[2]["page"]
    assert rest == rubbish


def test_each_part_of_the_work_takes_its_share_of_the_progress():
    seen: list[tuple[int, int | None]] = []
    watch = Watch(on_progress=lambda *progress: seen.append(progress), should_stop=lambda: False)

    watch.part(0.0, 0.1).on_progress(40, 40)
    watch.part(0.1, 0.2).on_progress(20, 40)
    watch.part(0.2, 1.0, of=40).on_progress(1, 2)
    watch.part(0.2, 1.0, of=40).on_progress(2, 2)
    watch.part(0.0, 0.1).on_progress(3, None)

    assert seen == [(4, 40), (6, 40), (24, 40), (40, 40), (3, None)]
