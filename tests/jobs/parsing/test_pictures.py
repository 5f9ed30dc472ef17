"""Pictures of pages: their size, their number, what is broken and what is far too large."""

import io
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from jobs.parsing import DRAWN, ParseError, draw, scan
from jobs.parsing.page_import import pdf_pictures
from jobs.parsing.page_import.pictures import MAX_SIDE, Flaw, Picture
from jobs.worker.pictures import webp_size
from tests.jobs.parsing.conftest import FILES
from tests.jobs.parsing.pdf_files import pdf, text


def drawn(content, tmp_path: Path, *, first: int = 1, name: str = "a", **options):
    path = tmp_path / "source"
    path.write_bytes(content)
    return list(
        draw(
            path,
            file_name=name,
            options=options,
            first=first,
            cpu_seconds=60,
            progress=lambda done, total: None,
        )
    )


def image_file(kind: str, *images: Image.Image, **more) -> bytes:
    buffer = io.BytesIO()
    images[0].save(buffer, kind, **more)
    return buffer.getvalue()


def tint(picture: Picture, x: int, y: int) -> tuple[int, ...]:
    """The colour at a place, to the nearest eighth: WebP is lossy."""
    found = Image.open(io.BytesIO(picture.data)).getpixel((x, y))
    return tuple(round(value / 36) for value in found)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def huge_png(side: int) -> bytes:
    """A PNG that says it has side × side black pixels and holds the first thousand rows."""
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    packer = zlib.compressobj(9)
    row = bytes(side + 1)
    data = b"".join(packer.compress(row) for _ in range(min(side, 1_000))) + packer.flush()
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("jsverb.pdf", [(1131, 1600)] * 4),
        ("vertical_writing.pdf", [(833, 417)]),
        ("word365_structure.pdf", [(1131, 1600)]),
        ("noembed-sjis.pdf", [(1131, 1600)]),
    ],
)
def test_every_page_of_a_pdf_has_a_picture_of_its_shape(tmp_path, name, sizes):
    found = drawn((FILES / "pdf" / name).read_bytes(), tmp_path)

    assert [(one.width, one.height) for one in found] == sizes
    assert [one.number for one in found] == list(range(1, len(sizes) + 1))
    assert [webp_size(one.data) for one in found] == sizes


def test_the_same_file_gives_the_same_bytes(tmp_path):
    content = (FILES / "pdf" / "word365_structure.pdf").read_bytes()

    assert drawn(content, tmp_path) == drawn(content, tmp_path)


def test_drawing_goes_on_where_it_is_told_to(tmp_path):
    content = (FILES / "pdf" / "jsverb.pdf").read_bytes()

    assert [one.number for one in drawn(content, tmp_path, first=3)] == [3, 4]


def test_only_the_pages_asked_for_are_drawn(tmp_path):
    content = (FILES / "pdf" / "jsverb.pdf").read_bytes()

    assert [one.number for one in drawn(content, tmp_path, pages="2,4-")] == [2, 4]


def test_japanese_text_in_a_font_that_is_not_embedded_is_seen(tmp_path):
    blank, written = drawn(
        pdf(b"", text("H", 20, 400, "日本語の文字", 48), media=b"0 0 400 500"), tmp_path
    )

    def ink(picture: Picture) -> int:
        grey = Image.open(io.BytesIO(picture.data)).convert("L")
        return sum(grey.histogram()[:128])

    assert ink(blank) == 0
    assert ink(written) > 5_000


def test_a_page_that_takes_for_ever_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr(pdf_pictures, "_PAGE_SECONDS", 0.3)
    lines = b"".join(
        b"%d %d m %d %d l S\n" % (i % 200, i * 7 % 200, i * 13 % 200, i * 31 % 200)
        for i in range(100_000)
    )

    slow, quick = drawn(pdf(lines, b""), tmp_path)

    assert slow == Flaw(1, "image_too_slow: drawing this page takes too long.")
    assert isinstance(quick, Picture)


@pytest.mark.parametrize("media", [b"0 0 14400 2", b"0 0 2 14400", b"0 0 1 1", b"0 0 14400 14400"])
def test_a_page_of_any_shape_keeps_within_the_side(tmp_path, media):
    (found,) = drawn(pdf(b"", media=media), tmp_path)

    assert isinstance(found, Picture)
    assert 1 <= min(found.width, found.height) <= max(found.width, found.height) <= MAX_SIDE


@pytest.mark.parametrize("kind", ["png", "jpeg", "tiff", "webp", "gif", "bmp"])
def test_an_image_of_every_kind_is_made_smaller(tmp_path, kind):
    content = image_file(kind, Image.new("RGB", (2400, 1200), (255, 0, 0)))

    (found,) = drawn(content, tmp_path)

    assert (found.width, found.height) == (1600, 800)
    assert tint(found, 800, 400) == (7, 0, 0)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "YCbCr"])
def test_an_image_of_every_mode_is_shown(tmp_path, mode):
    kind = "tiff" if mode in ("CMYK", "I;16", "YCbCr") else "png"
    white = Image.new("L", (40, 20), 255)
    image = Image.new("I;16", (40, 20), 65_535) if mode == "I;16" else white.convert(mode)

    (found,) = drawn(image_file(kind, image), tmp_path)

    assert (found.width, found.height) == (40, 20)
    assert tint(found, 20, 10) == (7, 7, 7)


def test_what_is_transparent_is_shown_on_white(tmp_path):
    (found,) = drawn(image_file("png", Image.new("RGBA", (40, 20), (0, 0, 0, 0))), tmp_path)

    assert tint(found, 20, 10) == (7, 7, 7)


def test_a_photograph_is_turned_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    content = image_file("jpeg", Image.new("RGB", (400, 200)), exif=exif)

    (found,) = drawn(content, tmp_path)

    assert (found.width, found.height) == (200, 400)


def test_each_image_of_a_tiff_has_its_picture(tmp_path):
    frames = [Image.new("RGB", (300 + 100 * n, 200), (255 * (n % 2), 0, 0)) for n in range(3)]
    content = image_file("tiff", *frames, save_all=True, append_images=frames[1:])

    found = drawn(content, tmp_path)

    assert [(one.number, one.width) for one in found] == [(1, 300), (2, 400), (3, 500)]
    assert [tint(one, 9, 9)[0] for one in found] == [0, 7, 0]


JPEG = image_file("jpeg", Image.effect_noise((600, 400), 80))
TIFF = image_file("tiff", Image.effect_noise((600, 400), 80), compression="tiff_lzw")


@pytest.mark.parametrize(
    "content",
    [JPEG[: len(JPEG) // 2], JPEG[:700] + bytes(20), huge_png(64)[:60], TIFF[: len(TIFF) // 2]],
    ids=["half a JPEG", "zeroed JPEG", "half a PNG", "half a TIFF"],
)
def test_a_broken_image_is_a_flaw_or_no_file(tmp_path, content):
    try:
        (found,) = drawn(content, tmp_path)
    except ParseError as error:
        assert error.code == "file_corrupt"
    else:
        assert isinstance(found, Flaw)
        assert found.reason.startswith("image_failed")


@pytest.mark.parametrize("side", [13_000, 21_000])
def test_a_bomb_of_an_image_is_not_unpacked(tmp_path, side):
    content = b"II*\0" + struct.pack("<I", 8) + struct.pack("<H", 8)
    entries = [(256, side), (257, side), (258, 8), (259, 8), (262, 2), (277, 3), (278, side)]
    for tag, value in entries:
        content += struct.pack("<HHII", tag, 4, 1, value)
    content += struct.pack("<HHIII", 273, 4, 1, 8, 0)

    (found,) = drawn(content, tmp_path)

    assert found == Flaw(1, "image_too_large: this image has more pixels than can be shown.")


def test_thirty_thousand_pixels_square_are_too_many(tmp_path):
    (found,) = drawn(huge_png(30_000), tmp_path)

    assert isinstance(found, Flaw)
    assert found.reason.startswith("image_too_large")


def test_drawing_ends_when_its_time_is_used_up(tmp_path):
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf(*[b""] * 40))

    found = list(
        draw(
            path,
            file_name="a.pdf",
            options={},
            first=1,
            cpu_seconds=0.0,
            progress=lambda done, total: None,
        )
    )

    assert [one.number for one in found] == [1, 0]
    assert found[1].reason.startswith("images_limited: pages after page 1 have no pictures")


@pytest.mark.parametrize("content", [b"plain text", b"a,b\n1,2\n"])
def test_other_formats_have_no_pictures(tmp_path, content):
    assert drawn(content, tmp_path) == []
    assert {"text", "csv"}.isdisjoint(DRAWN)


def test_a_protected_pdf_opens_with_its_password(tmp_path):
    content = (FILES / "pdf" / "r6-user-password.pdf").read_bytes()

    with pytest.raises(ParseError) as caught:
        drawn(content, tmp_path)

    assert caught.value.code == "file_encrypted"


def test_a_scan_for_text_recognition_is_grey_and_fine(tmp_path):
    path = tmp_path / "a.pdf"
    path.write_bytes((FILES / "pdf" / "word365_structure.pdf").read_bytes())

    found = Image.open(io.BytesIO(scan(path, file_name="a.pdf", options={}, number=1)))

    assert (found.mode, found.format) == ("L", "PPM")
    assert max(found.size) >= 3_500
