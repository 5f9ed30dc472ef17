"""Workbooks other than XLSX: what calamine leaves out of XLS, XLSB and ODS is there."""

import struct

import pytest

from tests.jobs.parsing.office_files import ods, xls, xlsb

ERRORS = [(0x07, "#DIV/0!"), (0x2A, "#N/A"), (0x1D, "#NAME?"), (0x17, "#REF!")]


def cell(kind, shown, value=""):
    start = f"<table:table-cell office:value-type='{kind}' {value}>"
    return f"{start}<text:p>{shown}</text:p></table:table-cell>"


def tables(lines):
    return [line["page"]["tables"] for line in lines[1:]]


def test_open_document_sheets_are_read(imported):
    row = cell("string", "売上") + cell("float", "12", "office:value='12'")
    lines = imported(ods({"集計": f"<table:table-row>{row}</table:table-row>"}), "a.ods")
    assert lines[0]["document"]["detected_type"] == "ods"
    assert tables(lines) == [[[["売上", "12"]]]]


def test_error_cells_of_open_document_sheets_are_shown_where_they_stand(imported):
    wrong = (
        "<table:table-cell office:value-type='string' office:string-value=''"
        ' calcext:value-type="error"%s><text:p>%s</text:p></table:table-cell>'
    )
    first = "<table:table-row table:number-rows-repeated='3'><table:table-cell/></table:table-row>"
    row = "<table:table-cell table:number-columns-repeated='4'/>" + cell("string", "商")
    row += wrong % (" table:number-columns-repeated='2'", "#DIV/0!") + cell("string", "後")
    second = f"<table:table-row>{row}</table:table-row>"
    third = wrong % ("", "#N/A")
    third = f"<table:table-row table:number-rows-repeated='2'>{third}</table:table-row>"
    book = ods({"空": "", "一": first + second, "二": third})
    assert tables(imported(book, "a.ods")) == [
        [],
        [[["商", "#DIV/0!", "#DIV/0!", "後"]]],
        [[["#N/A"], ["#N/A"]]],
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("PT30H05M00S", "30:05:00"),
        ("PT1106713H02M03.44999928S", "1106713:02:03"),
        ("-PT01H02M03.51S", "-1:02:04"),
        ("PT12H00M00S", "12:00:00"),
    ],
)
def test_durations_of_open_document_sheets_are_hours(imported, value, expected):
    shown = cell("time", "?", f"office:time-value='{value}'") + cell("string", "PT5M")
    lines = imported(ods({"時": f"<table:table-row>{shown}</table:table-row>"}), "a.ods")
    assert tables(lines) == [[[[expected, "PT5M"]]]]


@pytest.mark.parametrize(("code", "shown"), ERRORS)
def test_error_cells_of_old_workbooks_are_shown(imported, code, shown):
    number = (0x203, struct.pack("<HHHd", 2, 3, 0, 1.5))
    constant = (0x205, struct.pack("<HHHBB", 2, 4, 0, code, 1))
    truth = (0x205, struct.pack("<HHHBB", 2, 5, 0, 1, 0))
    result = struct.pack("<BBBBBBH", 2, 0, code, 0, 0, 0, 0xFFFF)
    formula = (0x06, struct.pack("<HHH8sHIHBH", 3, 5, 0, result, 0, 0, 3, 0x1E, 1))
    lines = imported(xls(number, constant, truth, formula), "a.xls")
    assert tables(lines) == [[[["1.5", shown, "TRUE"], ["", "", shown]]]]


def test_weekdays_and_dates_before_1900_of_old_workbooks_are_read(imported):
    codes = {170: "AAA", 171: 'm"月"(aaaa)', 172: "yyyy/m/d"}
    formats = [
        (0x41E, struct.pack("<HHB", number, len(code), 1) + code.encode("utf-16-le"))
        for number, code in codes.items()
    ]
    styles = [(0xE0, struct.pack("<HH16x", 0, number)) for number in (0, *codes)]
    numbers = [
        (0x203, struct.pack("<HHHd", 0, 0, 1, 46113.0)),
        (0x27E, struct.pack("<HHHi", 0, 1, 2, 46113 << 2 | 2)),
        (0xBD, struct.pack("<HHHiHiH", 1, 0, 3, -5 << 2 | 2, 1, 4611350 << 2 | 3, 1)),
        (0x27E, struct.pack("<HHHi", 2, 0, 0, 46113 << 2 | 2)),
        (0x06, struct.pack("<HHHdHIHBH", 2, 1, 1, 46114.0, 0, 0, 3, 0x1E, 1)),
    ]
    lines = imported(xls(*numbers, heads=(*formats, *styles)), "a.xls")
    assert tables(lines) == [
        [[["2026-04-01", "2026-04-01"], ["-5", "2026-04-01 12:00:00"], ["46113", "2026-04-02"]]]
    ]


@pytest.mark.parametrize(("code", "shown"), ERRORS)
def test_error_cells_of_binary_workbooks_are_shown(imported, code, shown):
    number = (5, struct.pack("<IId", 3, 0, 1.5))
    constant = (3, struct.pack("<IIB", 4, 0, code))
    formula = (11, struct.pack("<IIBHI3xI", 5, 0, code, 0, 3, 0))
    rows = [(0, struct.pack("<I21x", row)) for row in (2, 3)]
    lines = imported(xlsb(rows[0], number, constant, rows[1], formula), "a.xlsb")
    assert lines[0]["document"]["detected_type"] == "xlsb"
    assert tables(lines) == [[[["1.5", shown, ""], ["", "", shown]]]]
