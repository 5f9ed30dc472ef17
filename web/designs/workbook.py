"""A design model → an Excel workbook: a cover and one sheet a list, the way teams file them.

Every text is written as text, never as a formula (CWE-1236). Limits of a sheet: 32,767 characters a
cell, 1,048,576 rows, 65,530 links
(https://support.microsoft.com/office/excel-specifications-and-limits).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import xlsxwriter

from web.designs.rows import Place, Row, Value
from web.designs.sheets import SHEETS, Column, Sheet
from web.designs.terms import TERMS
from web.markdown import Locate

_MAX_CHARS = 32_767
_MAX_ROWS = 1_048_576
_MAX_LINKS = 65_000
_MAX_LINK_CHARS = 2_000
_FONT = {"ja": "游ゴシック", "en": "Calibri"}
_COVER = {"ja": "表紙", "en": "Cover"}
_WORDS = {
    "title": ("設計書", "Design document"),
    "name": ("名称", "Name"),
    "version": ("バージョン", "Version"),
    "summary": ("説明（マニフェストの記載）", "Summary (from the manifest)"),
    "languages": ("言語", "Languages"),
    "digest": ("ソースの識別値", "Digest of the source"),
    "made": ("解析日時（UTC）", "Analysed (UTC)"),
    "history": ("改訂履歴", "Revision history"),
    "not_derivable": ("ソースからは判断できません", "not derivable from source"),
    "sheet": ("シート", "Sheet"),
    "count": ("件数", "Rows"),
    "note": (
        "本書はソースコードだけから機械的に作成したものです。論理名はソース中のコメントの原文です。",
        "Derived from source code alone. Summaries are the words of its comments.",
    ),
    "cut": ("以降は行数の上限のため省略", "The rest does not fit into a sheet"),
}


def write_workbook(
    model: Row, destination: Path, *, language: str, made: datetime, link: Locate | None = None
) -> None:
    """Write the workbook of `model` to `destination`; equal arguments give equal bytes.

    Memory stays flat: rows are written as they are made.
    """
    options = {
        "constant_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    with xlsxwriter.Workbook(str(destination), options) as book:
        # The format knows no time zone.
        book.set_properties(
            {"title": model["project"]["name"], "created": made.replace(tzinfo=None)}
        )
        _Writer(book, model, language, link).write(made)


class _Writer:
    def __init__(self, book: Any, model: Row, language: str, link: Locate | None) -> None:
        self._book, self._model, self._link = book, model, link
        self._language, self._links = language, 0
        base = {"font_name": _FONT[language], "font_size": 10, "valign": "top"}
        self._plain = book.add_format(
            {**base, "text_wrap": True, "border": 1, "border_color": "#B8BEC6"}
        )
        self._head = book.add_format(
            {**base, "bold": True, "border": 1, "bg_color": "#DCE6F1", "border_color": "#8A94A3"}
        )
        self._linked = book.add_format(
            {
                **base,
                "border": 1,
                "border_color": "#B8BEC6",
                "font_color": "#0B57A4",
                "underline": 1,
            }
        )
        self._title = book.add_format({**base, "bold": True, "font_size": 20})
        self._note = book.add_format(base)

    def _say(self, word: str) -> str:
        return _WORDS[word][self._language == "en"]

    def write(self, made: datetime) -> None:
        found = [(sheet, sum(1 for _ in sheet.rows(self._model))) for sheet in SHEETS]
        found = [(sheet, count) for sheet, count in found if count]
        self._cover(found, made)
        for sheet, _ in found:
            self._sheet(sheet)

    def _name(self, sheet: Sheet) -> str:
        return sheet.ja if self._language == "ja" else sheet.en

    def _cover(self, found: list[tuple[Sheet, int]], made: datetime) -> None:
        page = self._book.add_worksheet(_COVER[self._language])
        page.hide_gridlines(2)
        page.set_column(0, 0, 30)
        page.set_column(1, 1, 70)
        page.set_row(0, 30)
        page.write_string(
            0, 0, _cut(f"{self._model['project']['name']} {self._say('title')}"), self._title
        )
        page.write_string(1, 0, self._say("note"), self._note)
        row = 3
        for word, value in self._facts(made):
            page.write_string(row, 0, self._say(word), self._head)
            page.write_string(row, 1, _cut(value), self._plain)
            row += 1
        row += 1
        page.write_string(row, 0, self._say("sheet"), self._head)
        page.write_string(row, 1, self._say("count"), self._head)
        for sheet, count in found:
            row += 1
            name = self._name(sheet)
            page.write_url(row, 0, f"internal:'{name}'!A1", self._linked, name)
            page.write_number(row, 1, count, self._plain)
        page.set_paper(9)
        page.fit_to_pages(1, 0)

    def _facts(self, made: datetime) -> Iterator[tuple[str, str]]:
        project, unknown = self._model["project"], self._say("not_derivable")
        yield "name", project["name"]
        yield "version", project["version"] or unknown
        yield "summary", project["summary"] or unknown
        yield "languages", ", ".join(each["name"] for each in project["languages"])
        yield "digest", project["digest"]
        yield "made", f"{made:%Y-%m-%d %H:%M}"
        yield "history", unknown

    def _sheet(self, sheet: Sheet) -> None:
        page = self._book.add_worksheet(self._name(sheet))
        for number, column in enumerate(sheet.columns):
            page.set_column(number, number, column.width)
        page.freeze_panes(1, 0)
        page.set_landscape()
        page.set_paper(9)
        page.fit_to_pages(1, 0)
        page.repeat_rows(0)
        page.set_footer("&L&A&R&P / &N")
        for number, column in enumerate(sheet.columns):
            heading = column.ja if self._language == "ja" else column.en
            page.write_string(0, number, heading, self._head)
        last = 0
        for last, values in enumerate(sheet.rows(self._model), start=1):
            if last == _MAX_ROWS - 1:
                page.write_string(last, 0, self._say("cut"), self._note)
                break
            for number, (column, value) in enumerate(zip(sheet.columns, values, strict=True)):
                self._cell(page, last, number, self._term(column, value))
        page.autofilter(0, 0, last, len(sheet.columns) - 1)

    def _term(self, column: Column, value: Value) -> Value:
        said = column.terms and self._language == "ja" and isinstance(value, str)
        return TERMS.get(str(value), value) if said else value

    def _cell(self, page: Any, row: int, column: int, value: Value) -> None:
        if value is None or value == "":
            page.write_blank(row, column, None, self._plain)
        elif isinstance(value, Place):
            self._place(page, row, column, value)
        elif isinstance(value, str):
            page.write_string(row, column, _cut(value), self._plain)
        else:
            page.write_number(row, column, value, self._plain)

    def _place(self, page: Any, row: int, column: int, place: Place) -> None:
        text = _cut(place.path if place.line is None else f"{place.path}:{place.line}")
        address = None
        if self._link is not None and self._links < _MAX_LINKS:
            address = self._link(place.path, place.line)
        if address is None or len(address) > _MAX_LINK_CHARS:
            page.write_string(row, column, text, self._plain)
            return
        self._links += 1
        page.write_url(row, column, address, self._linked, text)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_CHARS else f"{text[: _MAX_CHARS - 1]}…"
