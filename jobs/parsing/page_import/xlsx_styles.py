"""What the number formats of a workbook make of a number: a date, a percentage, 00042."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from jobs.parsing.page_import.cells import date_text, number_text
from jobs.parsing.page_import.ooxml import Package, attribute, child, children, number

_BUILT_IN = {**dict.fromkeys((14, 15, 16, 17), "y"), **dict.fromkeys((18, 19, 20, 21), "h")}
_BUILT_IN |= {22: "y h", **dict.fromkeys((45, 46, 47), "h"), 9: "%", 10: "%"}
#: dates and times of East Asian workbooks
_EASTERN = {**dict.fromkeys(range(27, 32), "y"), **dict.fromkeys((32, 33), "h")}
_EASTERN |= {**dict.fromkeys((34, 35, 36), "y"), **dict.fromkeys(range(50, 59), "y")}
_NOT_FORMAT = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)
_NOT_DATE = re.compile(r"general|g/標準|e[+-]|am/pm|a/p")
_PERCENT = re.compile(r"[#,]*0(?:\.[0#]+)?%")
_PADDED = re.compile(r"(?:\[[^\]]*\])?(0{2,30})(?:_.)*(?:;.*)?")


@dataclass(frozen=True)
class NumberStyles:
    """For each cell style what it shows: `y` and `h` of dates and times, `%`, or the zeros."""

    shown: dict[int, str] = field(default_factory=dict)
    #: styles of which calamine gives the plain number
    plain: frozenset[int] = frozenset()
    is_1904: bool = False

    @property
    def dates(self) -> list[int]:
        """Return the styles that show a date or a time."""
        return [style for style, shown in self.shown.items() if shown[0] in "yh"]

    def text(self, amount: float, style: int) -> str:
        """Return a number as its style shows it, with all its digits."""
        shown = self.shown.get(style)
        if not shown:
            return number_text(amount)
        if shown == "%":
            return f"{number_text(amount * 100)}%"
        if shown[0] == "0":
            width = len(shown) + (amount < 0)
            return f"{int(amount):0{width}}" if amount.is_integer() else number_text(amount)
        return date_text(
            amount, is_1904=self.is_1904, shows_date="y" in shown, shows_time="h" in shown
        )


def number_styles(package: Package, workbook: str) -> NumberStyles:
    """Return what the styles of a workbook show."""
    part = package.target(workbook, "styles")
    root = package.xml(part) if part else None
    flag = attribute(child(package.xml(workbook), "workbookPr"), "date1904")
    formats, styles = child(root, "numFmts"), child(root, "cellXfs")
    return styles_of(
        {
            number(entry.get("numFmtId"), -1): (entry.get("formatCode") or "").lower()
            for entry in (() if formats is None else children(formats, "numFmt"))
        },
        [number(entry.get("numFmtId"), -1) for entry in (() if styles is None else styles)],
        is_1904=flag in ("1", "true", "on"),
    )


def styles_of(codes: Mapping[int, str], used: list[int], *, is_1904: bool) -> NumberStyles:
    """Return what styles show: `codes` by identifier, in small letters, and which each one uses."""
    formats = {**_BUILT_IN, **_EASTERN}
    plain = {*_EASTERN, 9, 10}
    for identifier, code in codes.items():
        formats[identifier] = format_kind(code)
        plain.discard(identifier)
        if not re.search("[dmyhs]", _NOT_FORMAT.sub("", code)):
            plain.add(identifier)
    shown = {index: kind for index, one in enumerate(used) if (kind := formats.get(one))}
    return NumberStyles(shown, frozenset(index for index in shown if used[index] in plain), is_1904)


def format_kind(code: str) -> str:
    """Return what a number format in small letters shows; '' is a plain number."""
    if padded := _PADDED.fullmatch(code):
        return padded.group(1)
    code = _NOT_FORMAT.sub("", code)
    if _PERCENT.fullmatch(code.partition(";")[0].strip()):
        return "%"
    code = _NOT_DATE.sub("", code)
    has_day = re.search("[yd]", code) is not None
    if not re.search("[0#?]", code):
        has_day = has_day or re.search("[eg]|aaa", code) is not None
    has_time = re.search("[hs]", code) is not None
    if has_time and not has_day:
        return "h"
    has_day = has_day or re.search("m(?!:)", code) is not None
    return ("y" if has_day else "") + ("h" if "h" in code else "")
