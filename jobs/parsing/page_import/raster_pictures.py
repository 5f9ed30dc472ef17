"""Pictures of image files: decoded by Pillow, turned upright, made smaller."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from PIL import Image, ImageOps, UnidentifiedImageError

from jobs.parsing.errors import ParseError
from jobs.parsing.page_import.document import Source, open_content
from jobs.parsing.page_import.pictures import MAX_SIDE, Flaw, Picture, encode, failed, flatten

#: What is decoded must fit the memory of one parse several times over.
_MAX_DECODED_BYTES = 400_000_000
#: bytes a pixel in Pillow's memory, by mode; all others have four
_PIXEL_BYTES = {"1": 1, "L": 1, "P": 1, "LA": 4, "I;16": 2, "I;16B": 2, "I;16L": 2}
#: what Pillow raises for files that are no image after all, or one that is cut off
DAMAGE = (OSError, SyntaxError, ValueError, EOFError, UnidentifiedImageError, IndexError, KeyError)
_LOW_BITS = 256


class TooLarge(Exception):
    """The image would need more memory than a parse may use."""


def page_count(source: Source) -> int:
    """Return the number of images in the file. Raises ParseError."""
    try:
        with _open(source) as image:
            return int(image.n_frames) if source.detected_type == "tiff" else 1
    except TooLarge:
        return 1
    except DAMAGE as error:
        raise ParseError("file_corrupt", "The image cannot be decoded.") from error


def draw(source: Source, numbers: Sequence[int]) -> Iterator[Picture | Flaw]:
    """Yield the pictures of some images of the file, in order."""
    for number in numbers:
        try:
            yield encode(scan(source, number, MAX_SIDE), number)
        except (TooLarge, MemoryError):
            reason = "image_too_large: this image has more pixels than can be shown."
            yield Flaw(number, reason)
        except DAMAGE:
            yield failed(number)


def scan(source: Source, number: int, side: int) -> Any:
    """Return one image of the file, upright and at most `side` pixels long, as a Pillow image.

    Raises TooLarge, MemoryError or one of DAMAGE.
    """
    with _open(source) as image:
        if number > 1:
            image.seek(number - 1)
        image.draft("RGB", (side, side))
        if image.width * image.height * _PIXEL_BYTES.get(image.mode, 4) > _MAX_DECODED_BYTES:
            raise TooLarge
        image.load()
        small = _eight_bits(image)
        small.thumbnail((side, side), reducing_gap=2.0)
        return ImageOps.exif_transpose(flatten(small))


@contextmanager
def _open(source: Source) -> Iterator[Any]:
    with open_content(source.content) as stream, warnings.catch_warnings():
        # Pillow warns of bombs and of odd metadata; we count pixels ourselves.
        warnings.simplefilter("ignore")
        try:
            image = Image.open(stream, formats=[source.detected_type.upper()])
        except Image.DecompressionBombError as error:
            raise TooLarge from error
        yield image


def _eight_bits(image: Any) -> Any:
    """Return an image in a mode that can be made smaller smoothly."""
    if image.mode.startswith("I"):
        return image.convert("I").point(lambda value: value / _LOW_BITS).convert("L")
    if image.mode == "1":
        return image.convert("L")
    if image.mode == "P":
        return image.convert("RGBA" if "transparency" in image.info else "RGB")
    return image
