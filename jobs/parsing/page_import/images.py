"""PNG, JPEG, TIFF, WebP, GIF and BMP: the size of each image, read from its head.

An image has no text of its own; the page says so. Nothing is decoded, so that no image can harm.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO

from jobs.parsing.errors import ParseError
from jobs.parsing.page_import.document import Document, Page, Source

_MAX_FRAMES = 1_000
_MAX_SIDE = 1_000_000
_MAX_SEGMENTS = 10_000
_NO_TEXT = "no_text_layer: an image has no text of its own; text in it was not recognised."
#: JPEG frame headers; 0xC4, 0xC8 and 0xCC are tables
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_TIFF_WIDTH, _TIFF_HEIGHT = 256, 257
Size = tuple[int, int]


def read(source: Source) -> Document:
    """Return a page for each image, with its size in pixels. Raises ParseError file_corrupt."""
    stream = source.open()
    try:
        sizes = list(_READERS[source.detected_type](stream))
    except (struct.error, IndexError, OSError) as error:
        raise ParseError("file_corrupt", "The image is cut off.") from error
    if not sizes or any(not 0 < side <= _MAX_SIDE for size in sizes for side in size):
        raise ParseError("file_corrupt", "The image has no size.")
    return Document(page_count=len(sizes), pages=_pages(sizes))


def _pages(sizes: list[Size]) -> Iterator[Page]:
    for number, (width, height) in enumerate(sizes, start=1):
        yield Page(
            number=number,
            text="",
            markdown="",
            warnings=[_NO_TEXT],
            width=float(width),
            height=float(height),
        )


def _unpack(layout: str, stream: BinaryIO) -> tuple[int, ...]:
    return struct.unpack(layout, stream.read(struct.calcsize(layout)))


def _png(stream: BinaryIO) -> Iterator[Size]:
    stream.seek(16)
    width, height = _unpack(">II", stream)
    yield width, height


def _gif(stream: BinaryIO) -> Iterator[Size]:
    stream.seek(6)
    width, height = _unpack("<HH", stream)
    yield width, height


def _bmp(stream: BinaryIO) -> Iterator[Size]:
    stream.seek(18)
    width, height = _unpack("<ii", stream)
    yield abs(width), abs(height)


def _jpeg(stream: BinaryIO) -> Iterator[Size]:
    stream.seek(2)
    for _ in range(_MAX_SEGMENTS):
        mark = stream.read(1)
        while mark == b"\xff":
            mark = stream.read(1)
        if not mark or mark[0] in (0xD9, 0xDA):
            return
        if mark[0] in (0x01, *range(0xD0, 0xD9)):
            stream.read(1)
            continue
        (length,) = _unpack(">H", stream)
        if mark[0] in _FRAMES:
            _, height, width = _unpack(">BHH", stream)
            yield width, height
            return
        stream.seek(max(length - 2, 0), 1)
        stream.read(1)


def _webp(stream: BinaryIO) -> Iterator[Size]:
    stream.seek(12)
    kind = stream.read(4)
    stream.seek(20)
    if kind == b"VP8X":
        data = bytes(_unpack("10B", stream))
        yield int.from_bytes(data[4:7], "little") + 1, int.from_bytes(data[7:10], "little") + 1
    elif kind == b"VP8L":
        _, bits = _unpack("<BI", stream)
        yield (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    elif kind == b"VP8 ":
        stream.seek(26)
        width, height = _unpack("<HH", stream)
        yield width & 0x3FFF, height & 0x3FFF


def _tiff(stream: BinaryIO) -> Iterator[Size]:
    order = "<" if stream.read(2) == b"II" else ">"
    stream.seek(4)
    (place,) = _unpack(order + "I", stream)
    seen: set[int] = set()
    while place and place not in seen and len(seen) < _MAX_FRAMES:
        seen.add(place)
        stream.seek(place)
        (count,) = _unpack(order + "H", stream)
        sides = {}
        for _ in range(count):
            tag, kind, _, raw = _unpack_entry(order, stream)
            if tag in (_TIFF_WIDTH, _TIFF_HEIGHT):
                sides[tag] = struct.unpack(
                    order + ("H" if kind == 3 else "I"), raw[: 2 if kind == 3 else 4]
                )[0]
        (place,) = _unpack(order + "I", stream)
        yield sides.get(_TIFF_WIDTH, 0), sides.get(_TIFF_HEIGHT, 0)


def _unpack_entry(order: str, stream: BinaryIO) -> tuple[int, int, int, bytes]:
    tag, kind, count = _unpack(order + "HHI", stream)
    return tag, kind, count, stream.read(4)


_READERS: Mapping[str, Callable[[BinaryIO], Iterator[Size]]] = {
    "png": _png,
    "jpeg": _jpeg,
    "gif": _gif,
    "bmp": _bmp,
    "tiff": _tiff,
    "webp": _webp,
}
