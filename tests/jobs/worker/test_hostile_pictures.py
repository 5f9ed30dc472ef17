"""Files made to kill whoever draws them cost their pictures; the next file has its own."""

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobs.worker.pictures import PageFlaw, PagePicture, read_records
from jobs.worker.sandbox import ParseJob, Sandbox, Watch
from jobs.worker.walls import Limits
from tests.jobs.parsing.conftest import FILES
from tests.jobs.parsing.test_pictures import huge_png
from tests.jobs.worker.test_hostile_files import (
    CATALOG,
    PAGE,
    PAGES,
    exponential_forms,
    many_kids,
    pdf,
    stream,
)

LIMITS = Limits(cpu_seconds=30, memory_bytes=1 << 30, output_bytes=16 << 20)
SECONDS = 3
QUIET = Watch(on_progress=lambda *_: None, should_stop=lambda: False)
GOOD = (FILES / "pdf" / "word365_structure.pdf").read_bytes()


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox(["page_import"], LIMITS, wall_seconds=60)
    yield made
    made.close()


def zeros(count: int) -> bytes:
    packer = zlib.compressobj(1)
    block = bytes(1 << 20)
    return b"".join(packer.compress(block) for _ in range(count >> 20)) + packer.flush()


def image_in_a_pdf(side: int, count: int) -> bytes:
    """A page with one image of side × side pixels whose stream inflates to `count` bytes."""
    head = b"/Type/XObject/Subtype/Image/Width %d/Height %d/BitsPerComponent 8" % (side, side)
    image = stream(zeros(count), head + b"/ColorSpace/DeviceRGB/Filter/FlateDecode")
    content = stream(b"q 200 0 0 200 0 0 cm /X Do Q")
    return pdf(CATALOG, PAGES, PAGE, content, b"<</XObject<</X 6 0 R>>>>", image)


def endless_pattern() -> bytes:
    """Tiles of a thousandth of a point, each drawn by itself."""
    pattern = stream(
        b"0 0 1 1 re f",
        b"/Type/Pattern/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 1 1]/XStep .001"
        b"/YStep .001/Resources<<>>/Matrix[.01 0 0 .01 0 0]",
    )
    content = stream(b"/Pattern cs /P scn 0 0 200 200 re f")
    return pdf(CATALOG, PAGES, PAGE, content, b"<</Pattern<</P 6 0 R>>>>", pattern)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "an image of 30,000 pixels square in a PDF": lambda: image_in_a_pdf(30_000, 16 << 20),
    "an image that inflates far beyond its size": lambda: image_in_a_pdf(10, 64 << 20),
    "a pattern of a billion tiles": endless_pattern,
    "forms within forms, 10^9 of them": exponential_forms,
    "200,000 kids": many_kids,
    "a PNG of 30,000 pixels square": lambda: huge_png(30_000),
    "a PNG cut off": lambda: huge_png(2_000)[:3_000],
    "a JPEG of rubbish": lambda: b"\xff\xd8\xff\xe0" + bytes(range(256)) * 40,
    "a TIFF whose directory is rubbish": lambda: b"II*\0\x08\0\0\0" + b"\xff" * 4_000,
    "a GIF that ends at once": lambda: b"GIF89a\x00\x10\x00\x10\xf7\x00\x00",
    "a WebP that lies about its length": lambda: b"RIFF\xff\xff\xff\x7fWEBPVP8 " + bytes(400),
    "a BMP of negative size": lambda: b"BM" + bytes(16) + b"\xff\xff\xff\x80" * 8 + bytes(100),
}


def draw(sandbox: Sandbox, directory: Path, content: bytes) -> list[PagePicture | PageFlaw]:
    source = directory / "source"
    source.write_bytes(content)
    job = ParseJob(type="page_import", source=source, directory=directory, file_name="a")
    path, _ = sandbox.draw(job, first=1, seconds=SECONDS, watch=QUIET)
    return list(read_records(path, first=1))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_costs_its_own_pictures_alone(sandbox, tmp_path, name):
    found = draw(sandbox, tmp_path, HOSTILE[name]())

    assert len(found) <= 2_001
    for one in found:
        assert isinstance(one, PageFlaw) or len(one.data) < 100_000
    (good,) = draw(sandbox, tmp_path, GOOD)
    assert isinstance(good, PagePicture)
