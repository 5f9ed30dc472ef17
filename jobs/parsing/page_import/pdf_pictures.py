"""Pictures of PDF pages, drawn by pdfium."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pypdfium2 as pdfium

from jobs.parsing.page_import.document import Source
from jobs.parsing.page_import.pdf import REOPEN_PAGES, open_pdf
from jobs.parsing.page_import.pictures import MAX_SIDE, Flaw, Picture, encode, failed

_POINTS_PER_INCH = 72
#: a small page is not blown up beyond this
_MAX_DOTS_PER_INCH = 300


def page_count(source: Source) -> int:
    """Return the number of pages. Raises ParseError."""
    pdf = open_pdf(source)
    count = len(pdf)
    pdf.close()
    return count


def draw(source: Source, numbers: Sequence[int]) -> Iterator[Picture | Flaw]:
    """Yield the pictures of some pages, in order. Raises ParseError."""
    pdf = _open(source)
    for done, number in enumerate(numbers, start=1):
        if done % REOPEN_PAGES == 0:
            pdf.close()
            pdf = _open(source)
        try:
            image = _image(pdf[number - 1], MAX_SIDE)
        except (pdfium.PdfiumError, MemoryError, ValueError):
            yield failed(number)
        else:
            yield encode(image, number)
    pdf.close()


def scan(source: Source, number: int, side: int) -> Any:
    """Return page `number` as a Pillow image whose longest side is at most `side` pixels.

    Raises ParseError, and what pdfium raises for a damaged page.
    """
    pdf = _open(source)
    return _image(pdf[number - 1], side)


def _open(source: Source) -> Any:
    pdf = open_pdf(source)
    pdf.init_forms()
    return pdf


def _image(page: Any, side: int) -> Any:
    longest = max(*page.get_size(), 1)
    scale = min(side / longest, _MAX_DOTS_PER_INCH / _POINTS_PER_INCH)
    bitmap = page.render(scale=scale, rev_byteorder=True)
    image = bitmap.to_pil().convert("RGB")
    bitmap.close()
    page.close()
    # pdfium rounds up: a page may be one pixel longer than asked for
    return image.crop((0, 0, min(image.width, side), min(image.height, side)))
