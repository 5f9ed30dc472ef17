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
#: characters up to this part of the usual size are readings (ruby)
_RUBY_SIZE = 0.65


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
        return [_line(row, _row_text(row, em))]
    columns = _columns([c for c in band if _size(c) > _RUBY_SIZE * em], em)
    small = _columns([c for c in band if _size(c) <= _RUBY_SIZE * em], em * _RUBY_SIZE)
    lines = []
    for column in columns:
        readings = [run for ruby in small if _is_beside(ruby, column, em) for run in _runs(ruby)]
        lines.append(_line(column, _column_text(column, readings)))
        small = [ruby for ruby in small if not _is_beside(ruby, column, em)]
    return [*lines, *(_line(column, "".join(c.text for c in column)) for column in small)]


def _size(character: Character) -> float:
    """Return the longer side: a digit that lies on its side is as wide as others are high."""
    return max(character.top - character.bottom, character.right - character.left)


def _is_beside(ruby: Sequence[Character], column: Sequence[Character], em: float) -> bool:
    """Say whether small characters stand to the right of a column, as readings do."""
    distance = median(c.center_x for c in ruby) - median(c.center_x for c in column)
    return 0.4 * em < distance < 1.4 * em


def _runs(ruby: Sequence[Character]) -> list[list[Character]]:
    runs: list[list[Character]] = []
    for character in ruby:
        if not runs or runs[-1][-1].bottom - character.top > 0.6 * _size(character):
            runs.append([])
        runs[-1].append(character)
    return runs


def _column_text(column: Sequence[Character], readings: Sequence[Sequence[Character]]) -> str:
    """Return the text of a column with readings in parentheses after the base they stand at."""
    after: dict[int, str] = {}
    for run in readings:
        top, bottom = run[0].top, run[-1].bottom
        beside = [
            n
            for n, c in enumerate(column)
            if min(top, c.top) - max(bottom, c.bottom) > 0.3 * (c.top - c.bottom)
        ]
        nearest = min(range(len(column)), key=lambda n: abs(column[n].center_y - run[-1].center_y))
        position = beside[-1] if beside else nearest
        after[position] = after.get(position, "") + "(" + "".join(c.text for c in run) + ")"
    return "".join(c.text + after.get(number, "") for number, c in enumerate(column))


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


def _line(run: Sequence[Character], text: str) -> Line:
    """Turn the column a quarter: its length becomes the width of a line, so blocks can be found."""
    size = median(_size(c) for c in run)
    center = median(c.center_x for c in run)
    return Line(
        text=text,
        left=-max(c.top for c in run),
        right=-min(c.bottom for c in run),
        top=center + size / 2,
        bottom=center - size / 2,
        size=round(2 * size) / 2,
    )
