"""Images: their size, that they have no text, and damage."""

import struct

import pytest

from jobs.parsing import ParseError

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"\x08\2\0\0\0"
JPEG = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc2" + struct.pack(">HBHH", 17, 8, 480, 640) + b"\3"
WEBP = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + b"\x7f\2\0" + b"\xdf\1\0"
LOSSLESS = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 639 | 479 << 14)
LOSSY = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640, 480)
GIF = b"GIF89a" + struct.pack("<HH", 640, 480)
BMP = b"BM" + b"\0" * 16 + struct.pack("<ii", 640, -480)


def tiff(order, frames, last=0):
    mark = b"II*\0" if order == "<" else b"MM\0*"
    data = mark + struct.pack(order + "I", 8)
    for number in range(frames):
        after = 8 + (number + 1) * 30 if number + 1 < frames else last
        data += struct.pack(order + "H", 2)
        data += struct.pack(order + "HHIHH", 256, 3, 1, 640, 0)
        data += struct.pack(order + "HHII", 257, 4, 1, 480)
        data += struct.pack(order + "I", after)
    return data


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (PNG, "png"),
        (JPEG, "jpeg"),
        (WEBP, "webp"),
        (LOSSLESS, "webp"),
        (LOSSY, "webp"),
        (GIF, "gif"),
        (BMP, "bmp"),
        (tiff("<", 1), "tiff"),
        (tiff(">", 1), "tiff"),
    ],
)
def test_the_size_is_read_from_the_head(imported, content, name):
    lines = imported(content, f"写真.{name}")
    assert lines[0]["document"]["detected_type"] == name
    page = lines[1]["page"]
    assert (page["width"], page["height"], page["text"]) == (640.0, 480.0, "")
    assert page["warnings"][0].startswith("no_text_layer")


def test_every_image_of_a_tiff_is_a_page(imported):
    assert imported(tiff("<", 3), "fax.tif")[0]["document"]["page_count"] == 3


def test_a_tiff_that_goes_in_circles_has_an_end(imported):
    assert imported(tiff("<", 2, last=8), "a.tif")[0]["document"]["page_count"] == 2


@pytest.mark.parametrize("content", [PNG[:20], JPEG[:8], WEBP[:18], tiff("<", 1)[:14], GIF[:7]])
def test_a_cut_image_is_file_corrupt(imported, content):
    with pytest.raises(ParseError) as caught:
        imported(content, "a")
    assert caught.value.code == "file_corrupt"


def test_text_that_begins_like_an_image_stays_text(imported):
    assert (
        imported(b"BM25 is a ranking function.\n", "a.txt")[0]["document"]["detected_type"]
        == "text"
    )
