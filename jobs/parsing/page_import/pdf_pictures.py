"""Pictures of PDF pages, drawn by pdfium."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.internal as pdfium_i
import pypdfium2.raw as raw

from jobs.parsing.page_import.document import Source
from jobs.parsing.page_import.pdf import REOPEN_PAGES, open_pdf
from jobs.parsing.page_import.pictures import MAX_SIDE, Flaw, Picture, encode, failed

_POINTS_PER_INCH = 72
#: a small page is not blown up beyond this
_MAX_DOTS_PER_INCH = 300
#: processor time for one page; a map of a city takes two
_PAGE_SECONDS = 10.0


class TooSlow(Exception):
    """The page takes too long to draw."""


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
        except TooSlow:
            yield Flaw(number, "image_too_slow: drawing this page takes too long.")
        except (pdfium.PdfiumError, MemoryError, ValueError):
            yield failed(number)
        else:
            yield encode(image, number)
    pdf.close()


def scan(source: Source, number: int, side: int) -> Any:
    """Return page `number` as a Pillow image whose longest side is at most `side` pixels.

    Raises ParseError, TooSlow, and what pdfium raises for a damaged page.
    """
    pdf = _open(source)
    return _image(pdf[number - 1], side)


def _open(source: Source) -> Any:
    pdf = open_pdf(source)
    pdf.init_forms()
    return pdf


def _image(page: Any, side: int) -> Any:
    """Draw a page; raises TooSlow when it takes far longer than pages do."""
    width, height = _pixels(page, side)
    bitmap = pdfium.PdfBitmap.new_native(width, height, raw.FPDFBitmap_BGR, rev_byteorder=True)
    bitmap.fill_rect((255, 255, 255, 255), 0, 0, width, height)
    place = (bitmap, page, 0, 0, width, height, 0, raw.FPDF_ANNOT | raw.FPDF_REVERSE_BYTE_ORDER)
    pause = raw.IFSDK_PAUSE(version=1)
    end = time.process_time() + _PAGE_SECONDS
    pdfium_i.set_callback(pause, "NeedToPauseNow", lambda _: time.process_time() > end)
    status = raw.FPDF_RenderPageBitmap_Start(*place, pause)
    raw.FPDF_RenderPage_Close(page)
    if status == raw.FPDF_RENDER_TOBECONTINUED:
        raise TooSlow
    if status == raw.FPDF_RENDER_FAILED:
        raise pdfium.PdfiumError("the page cannot be drawn")
    if page.formenv:
        raw.FPDF_FFLDraw(page.formenv, *place)
    image = bitmap.to_pil()
    page.close()
    return image


def _pixels(page: Any, side: int) -> tuple[int, int]:
    width, height = page.get_size()
    scale = min(side / max(width, height, 1), _MAX_DOTS_PER_INCH / _POINTS_PER_INCH)
    return max(1, min(side, round(width * scale))), max(1, min(side, round(height * scale)))
