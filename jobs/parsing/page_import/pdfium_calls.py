"""The functions of pdfium that are called for every character and every drawn object of a page.

pypdfium2's own check each argument, which takes longer than the work behind them. Here nothing is
checked and the lock of the interpreter is kept: give addresses from `address` and `byref`, and
plain integers; a structure keeps what the call wrote. A parser has one thread and nothing waits.
"""

from __future__ import annotations

import ctypes
from typing import Any

import pypdfium2.raw as raw


class Address(ctypes.c_void_p):
    """Where pdfium keeps something; false if nowhere. (ctypes makes integers of its own kind.)"""


def address(handle: Any) -> Address:
    """Return a handle of pypdfium2 as an argument."""
    return ctypes.cast(handle, Address)


def _direct(function: Any, *kinds: Any) -> Any:
    gives_pointer = hasattr(function.restype, "contents")
    result = Address if gives_pointer else function.restype
    return ctypes.PYFUNCTYPE(result, *kinds)(ctypes.cast(function, ctypes.c_void_p).value or 0)


# a page of text and the index of a character
character_index = _direct(raw.FPDFText_GetCharIndexFromTextIndex)
is_generated = _direct(raw.FPDFText_IsGenerated)
font_size = _direct(raw.FPDFText_GetFontSize)
code_point = _direct(raw.FPDFText_GetUnicode)
# and structures to fill; these say whether they did
character_box = _direct(raw.FPDFText_GetLooseCharBox)
character_matrix = _direct(raw.FPDFText_GetMatrix)
character_origin = _direct(raw.FPDFText_GetCharOrigin)
# and left, top, right, bottom, room for UTF-16 units, how many fit → units it wrote, with a NUL
bounded_text = _direct(
    raw.FPDFText_GetBoundedText,
    ctypes.c_void_p,
    *[ctypes.c_double] * 4,
    ctypes.c_void_p,
    ctypes.c_int,
)
# a page or a form, and the index of an object
count_page_objects = _direct(raw.FPDFPage_CountObjects)
page_object = _direct(raw.FPDFPage_GetObject)
count_form_objects = _direct(raw.FPDFFormObj_CountObjects)
form_object = _direct(raw.FPDFFormObj_GetObject, ctypes.c_void_p, ctypes.c_ulong)
# an object, a path, a segment of one
object_type = _direct(raw.FPDFPageObj_GetType)
object_bounds = _direct(raw.FPDFPageObj_GetBounds)
object_matrix = _direct(raw.FPDFPageObj_GetMatrix)
path_mode = _direct(raw.FPDFPath_GetDrawMode)
count_segments = _direct(raw.FPDFPath_CountSegments)
path_segment = _direct(raw.FPDFPath_GetPathSegment)
segment_type = _direct(raw.FPDFPathSegment_GetType)
segment_point = _direct(raw.FPDFPathSegment_GetPoint)
segment_closes = _direct(raw.FPDFPathSegment_GetClose)
