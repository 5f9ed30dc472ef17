"""The file that a drawing child leaves: records of pictures, written by the child, judged here.

A record is a head of fixed length and its bytes. What follows the last whole record is passed
over, so a child that dies in the middle of page 8 leaves pages 1 to 7. The worker believes none of
it: numbers rise, sizes are bounded and read from the picture itself.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MEDIA_TYPE = "image/webp"
MAX_SIDE = 1_600
MAX_PICTURE_BYTES = 4 * 1024 * 1024
MAX_PICTURES = 2_000
_MAX_REASON_BYTES = 400
_MAX_NUMBER = 1_000_000

_HEAD = struct.Struct(">4sII")
_MAGIC, _FLAW = b"PIC1", b"NOT1"
#: RIFF, its length, WEBP, one lossy frame and its size: what our encoder writes, nothing else.
#: https://developers.google.com/speed/webp/docs/riff_container#simple_file_format_lossy
_WEBP = struct.Struct("<4sI4s4sI3s3sHH")
_START_CODE = b"\x9d\x01\x2a"


@dataclass(frozen=True, kw_only=True)
class PagePicture:
    """A picture that passed the checks; `sha256` names it in the bucket."""

    number: int
    data: bytes
    sha256: str
    width: int
    height: int


@dataclass(frozen=True)
class PageFlaw:
    """Why a page has no picture, in the drawing child's words; number 0 is the document."""

    number: int
    reason: str


def write_picture(output: BinaryIO, number: int, data: bytes) -> None:
    """Append one picture; whole in the file when this returns."""
    output.write(_HEAD.pack(_MAGIC, number, len(data)) + data)
    output.flush()


def write_flaw(output: BinaryIO, number: int, reason: str) -> None:
    """Append the reason why there is no picture."""
    data = reason.encode("utf-8", "replace")[:_MAX_REASON_BYTES]
    output.write(_HEAD.pack(_FLAW, number, len(data)) + data)
    output.flush()


def read_records(path: Path, *, first: int) -> Iterator[PagePicture | PageFlaw]:
    """Yield what is good from the start of the file, pages from `first` on and rising.

    Ends at the first record that is cut off or none, and where there are too many.
    """
    after = first - 1
    with path.open("rb") as file:
        for _ in range(MAX_PICTURES + 1):
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                return
            kind, number, length = _HEAD.unpack(head)
            if not _is_in_order(kind, number, after) or length > MAX_PICTURE_BYTES:
                return
            data = file.read(length)
            if len(data) < length:
                return
            yield _record(kind, number, data)
            after = max(after, number)


def _is_in_order(kind: bytes, number: int, after: int) -> bool:
    if kind == _FLAW and number == 0:
        return True
    return kind in (_MAGIC, _FLAW) and after < number <= _MAX_NUMBER


def _record(kind: bytes, number: int, data: bytes) -> PagePicture | PageFlaw:
    if kind == _FLAW:
        text = data[:_MAX_REASON_BYTES].decode("utf-8", "replace")
        return PageFlaw(number, "".join(c for c in text if c.isprintable()))
    size = webp_size(data)
    if size is None:
        return PageFlaw(number, "image_failed: no picture of this page could be made.")
    digest = hashlib.sha256(data).hexdigest()
    return PagePicture(number=number, data=data, sha256=digest, width=size[0], height=size[1])


def webp_size(data: bytes) -> tuple[int, int] | None:
    """Return width and height of a plain lossy WebP that a page may show, else None."""
    if len(data) < _WEBP.size:
        return None
    riff, length, webp, frame, frame_length, _, start, width, height = _WEBP.unpack_from(data)
    plain = (riff, webp, frame, start) == (b"RIFF", b"WEBP", b"VP8 ", _START_CODE)
    whole = length + 8 == len(data) and frame_length + 12 <= length
    if not (plain and whole and 0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        return None
    return width, height
