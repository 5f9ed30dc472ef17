"""Vertical writing: columns from right to left, found from character boxes.

pdfium orders text as if it were horizontal and so mixes the columns of vertical fonts. The page is
cut into bands by empty strips across its width (stacked blocks of text), a band into columns by the
centres of its characters. A band one line high is horizontal text: a title or a page number.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from jobs.parsing.page_import.pdf_characters import Character, Line, characters

_BAND_GAP_EM = 1.2


def read_columns(textpage: Any) -> list[Line]:
    """Return the columns of a page as lines, in reading order."""
    found = list(characters(textpage))
    if not found:
        return []
    em = median(min(c.top - c.bottom, c.right - c.left) for c in found) or 1.0
    lines: list[Line] = []
    for band in _bands(found, em):
        lines.extend(_band_lines(band, em))
    return lines


def _bands(found: Sequence[Character], em: float) -> list[list[Character]]:
    ordered = sorted(found, key=lambda c: (-c.top, -c.center_x))
    bands = [[ordered[0]]]
    floor = ordered[0].bottom
    for character in ordered[1:]:
        if character.top < floor - _BAND_GAP_EM * em:
            bands.append([])
        bands[-1].append(character)
        floor = min(floor, character.bottom) if len(bands[-1]) > 1 else character.bottom
    return bands


def _band_lines(band: list[Character], em: float) -> list[Line]:
    height = max(c.top for c in band) - min(c.bottom for c in band)
    if height < 1.8 * em and len(band) > 1:
        row = sorted(band, key=lambda c: c.left)
        return [_line(row, em, _row_text(row, em))]
    return [_line(column, em, "".join(c.text for c in column)) for column in _columns(band, em)]


def _row_text(row: Sequence[Character], em: float) -> str:
    text = row[0].text
    for before, character in zip(row, row[1:], strict=False):
        text += " " * (character.left - before.right > 0.3 * em) + character.text
    return text


def _columns(band: Sequence[Character], em: float) -> list[list[Character]]:
    columns: list[list[Character]] = []
    center = 0.0
    for character in sorted(band, key=lambda c: -c.center_x):
        if not columns or center - character.center_x > 0.5 * em:
            columns.append([])
            center = character.center_x
        columns[-1].append(character)
    return [sorted(column, key=lambda c: (-c.center_y, c.left)) for column in columns]


def _line(run: Sequence[Character], em: float, text: str) -> Line:
    """Turn the column a quarter: its length becomes the width of a line, so blocks can be found."""
    left, right = -max(c.top for c in run), -min(c.bottom for c in run)
    top, bottom = max(c.right for c in run), min(c.left for c in run)
    center = (top + bottom) / 2
    return Line(
        text=text,
        left=left,
        right=right,
        top=center + em / 2,
        bottom=center - em / 2,
        size=round(2 * em) / 2,
    )
