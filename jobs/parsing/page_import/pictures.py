"""What a picture of a page is: WebP, at most 1,600 pixels long, or the reason why there is none."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

#: longest side of a page's picture, in pixels
MAX_SIDE = 1_600
#: pages after these have no picture
MAX_PICTURES = 2_000
#: WebP spends its time on the last few per cent; text stays sharp at this quality.
_QUALITY, _EFFORT = 80, 1
_WHITE = (255, 255, 255)


@dataclass(frozen=True, kw_only=True)
class Picture:
    """The picture of one page."""

    number: int
    data: bytes
    width: int
    height: int


@dataclass(frozen=True)
class Flaw:
    """Why a page has no picture; number 0 speaks of the whole document."""

    number: int
    reason: str


def failed(number: int) -> Flaw:
    """Return the flaw of a page that cannot be drawn."""
    return Flaw(number, "image_failed: no picture of this page could be made.")


def encode(image: Any, number: int) -> Picture:
    """Return a Pillow image of any mode as the picture of page `number`."""
    flat = flatten(image)
    buffer = io.BytesIO()
    flat.save(buffer, "WEBP", quality=_QUALITY, method=_EFFORT, exif=b"", icc_profile=b"", xmp=b"")
    return Picture(number=number, data=buffer.getvalue(), width=flat.width, height=flat.height)


def flatten(image: Any) -> Any:  # Pillow is imported where images are read
    """Return an image as RGB, on white where it is transparent."""
    if image.mode == "RGB":
        return image
    if "A" not in image.getbands() and "transparency" not in image.info:
        return image.convert("RGB")
    seen = image.convert("RGBA")
    paper = seen.copy()
    paper.paste(_WHITE, (0, 0, *seen.size))
    paper.alpha_composite(seen)
    return paper.convert("RGB")
