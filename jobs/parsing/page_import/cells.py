"""Write the values of spreadsheet cells as text that says the same everywhere.

Dates are in ISO order and numbers have all their digits, whatever the format of a cell shows of
them; of XLSX also percentages and leading zeros are kept, as they change what a number means.
"""

from __future__ import annotations

import datetime
import re

_DAY_SECONDS = 86_400
#: the serial number of the first day of the year 10000
_MAX_DAYS = 2_958_466
_DURATION = re.compile(r"(-?)P(?:(\d{1,9})D)?T(\d{1,9})H(\d{1,9})M(\d{1,9})(\.\d{1,12})?S")


def cell_text(value: object) -> str:
    """Return one cell as text: whole numbers without `.0`, dates in ISO order, TRUE and FALSE."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, datetime.datetime):
        shown = value.replace(microsecond=0)
        return shown.isoformat(sep=" ") if value.microsecond < 500_000 else _rounded(shown)
    if isinstance(value, datetime.timedelta):
        return _hours(round(value.total_seconds()))
    if isinstance(value, datetime.time):
        return value.replace(microsecond=0).isoformat()
    return str(value)


def open_document_text(text: str) -> str:
    """Return a duration, which ODS has in ISO form and calamine gives as text, as XLSX has it."""
    text = text.strip()
    found = _DURATION.fullmatch(text)
    if found is None:
        return text
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:5])
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds + round(float(found[6] or 0))
    return _hours(-total if found[1] else total)


def _hours(seconds: int) -> str:
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _rounded(value: datetime.datetime) -> str:
    try:
        return (value + datetime.timedelta(seconds=1)).isoformat(sep=" ")
    except OverflowError:
        return value.isoformat(sep=" ")


def number_text(value: float) -> str:
    """Return a number with the 15 digits that spreadsheets keep."""
    text = f"{value:.15g}"
    if "e" in text and abs(value) < 1e21 and value.is_integer():
        return str(int(value))
    return text


def date_text(serial: float, *, is_1904: bool, shows_date: bool, shows_time: bool) -> str:
    """Return a date serial number as text; what is no date stays a number."""
    if not shows_date and abs(serial) < _MAX_DAYS:
        return cell_text(datetime.timedelta(seconds=round(serial * _DAY_SECONDS)))
    days = serial + (1462 if is_1904 else 0)
    if not 0 <= days < _MAX_DAYS:
        return number_text(serial)
    # Excel takes 1900 for a leap year: day 60 does not exist, days before it are one late
    start = datetime.datetime(1899, 12, 30 if days >= 60 else 31, tzinfo=datetime.UTC)
    moment = start + datetime.timedelta(seconds=round(days * _DAY_SECONDS))
    moment = moment.replace(tzinfo=None)
    has_time = shows_time or moment.time() != datetime.time()
    return moment.isoformat(sep=" ") if has_time else moment.date().isoformat()
