"""Spreadsheets: every sheet a page, sparse giants, errors, dates, hidden sheets."""

import pytest

from jobs.parsing import ParseError
from tests.jobs.parsing.office_files import (
    MAIN,
    relationships,
    row,
    text_cell,
    xlsx,
)

DATES = (
    '<numFmts><numFmt numFmtId="170" formatCode="yyyy&quot;年&quot;m&quot;月&quot;d"/>'
    '</numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="170"/><xf numFmtId="22"/>'
    '<xf numFmtId="46"/><xf numFmtId="20"/></cellXfs>'
)
CORNERS = row(1, text_cell("A1", "左上")) + row(1048576, text_cell("XFD1048576", "右下"))


def tables(lines):
    return [line["page"]["tables"] for line in lines[1:]]


def test_two_cells_in_opposite_corners_are_two_rows(imported):
    lines = imported(xlsx({"端": CORNERS}), "a.xlsx")
    assert tables(lines) == [[[["左上", ""], ["", "右下"]]]]
    assert lines[1]["page"]["markdown"].startswith("# 端\n\n| 左上 |")


def test_every_sheet_is_a_page_with_its_name(imported):
    sheets = {"売上": row(1, text_cell("A1", "品名")), "空": ""}
    lines = imported(xlsx(sheets, hidden=("空",)), "a.xlsx")
    head, first, second = (next(iter(line.values())) for line in lines)
    assert [(entry["title"], entry["page"]) for entry in head["outline"]] == [
        ("売上", 1),
        ("空", 2),
    ]
    assert first["text"] == "売上\n品名"
    assert [warning.split(":")[0] for warning in second["warnings"]] == ["sheet_hidden", "no_text"]


def test_error_cells_are_shown(imported):
    cells = '<c r="B2" t="e"><f>1/0</f><v>#DIV/0!</v></c><c r="C2"><v>3</v></c>'
    rows = row(2, cells) + row(3, '<c r="B3" s="0" t="e"><v>#N/A</v></c>')
    assert tables(imported(xlsx({"S": rows}), "a.xlsx")) == [[[["#DIV/0!", "3"], ["#N/A", ""]]]]


@pytest.mark.parametrize("corners", ["", CORNERS.replace("A1", "A2").replace('r="1"', 'r="2"')])
def test_dates_are_the_same_in_both_ways_of_reading(imported, corners):
    numbers = [("1", "44562"), ("2", "44562.75"), ("3", "1.5"), ("4", "0.5"), ("0", "0.1")]
    cells = "".join(
        f'<c r="{letter}1" s="{style}"><v>{value}</v></c>'
        for letter, (style, value) in zip("ABCDE", numbers, strict=True)
    )
    lines = imported(xlsx({"S": row(1, cells) + corners}, styles=DATES), "a.xlsx")
    expected = ["2022-01-01", "2022-01-01 18:00:00", "36:00:00", "12:00:00", "0.1"]
    assert tables(lines)[0][0][0][:5] == expected


FORMATS = (
    "aaa",
    "m/d(aaaa)",
    "[$-411]e",
    "General&quot;年&quot;",
    "0.00E+00",
    "0.0%;[Red]-0.0%",
    "00000",
    "yyyy/m/d",
    "[h]:mm",
)


@pytest.mark.parametrize("corners", ["", CORNERS.replace("A1", "A2").replace('r="1"', 'r="2"')])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("46113", [*["2026-04-01"] * 3, "46113", "46113", "4611300%", "46113", "2026-04-01", None]),
        ("42.25", [*["1900-02-11 06:00:00"] * 3, "42.25", "42.25", "4225%", "42.25", None, None]),
        ("0.123", [None, None, None, "0.123", "0.123", "12.3%", "0.123", None, "2:57:07"]),
        ("42", [None, None, None, "42", "42", "4200%", "00042", None, "1008:00:00"]),
        ("-5", ["-5", "-5", "-5", "-5", "-5", "-500%", "-00005", "-5", "-120:00:00"]),
    ],
)
def test_number_formats_are_the_same_in_both_ways_of_reading(imported, corners, value, expected):
    formats = "".join(
        f'<numFmt numFmtId="{number}" formatCode="{code}"/>'
        for number, code in enumerate(FORMATS, start=170)
    )
    styles = "".join(f'<xf numFmtId="{170 + number}"/>' for number in range(len(FORMATS)))
    cells = "".join(
        f'<c r="{letter}1" s="{style}"><v>{value}</v></c>'
        for style, letter in enumerate("ABCDEFGHI")
    )
    book = xlsx(
        {"S": row(1, cells) + corners},
        styles=f"<numFmts>{formats}</numFmts><cellXfs>{styles}</cellXfs>",
    )
    found = tables(imported(book, "a.xlsx"))[0][0][0]
    pairs = zip(found, expected, strict=False)
    assert [one if wanted else None for one, wanted in pairs] == expected


def test_built_in_percentages_and_rows_of_many_styles_are_read(imported):
    styles = '<cellXfs><xf numFmtId="0"/><xf numFmtId="9"/><xf numFmtId="10"/></cellXfs>'
    rows = "".join(
        row(at, f'<c s="{at % 3}" r="C{at}"><v>0.5</v></c><c r="D{at}" s="1"><v>0.07</v></c>')
        for at in range(2, 6)
    )
    lines = imported(xlsx({"S": rows}, styles=styles), "a.xlsx")
    assert [line[0] for line in tables(lines)[0][0]] == ["50%", "0.5", "50%", "50%"]
    assert {line[1] for line in tables(lines)[0][0]} == {"7%"}


@pytest.mark.parametrize("empty", ["", "<v/>", "<v></v>"])
def test_formulas_that_were_never_calculated_are_a_warning(imported, empty):
    never = f'<c r="A1"><f>SUM(B1:C1)</f>{empty}</c><c r="B1"><v>2</v></c>'
    calculated = '<c r="A1" t="str"><f>""</f><v></v></c><c r="B1"><f>1+1</f><v>2</v></c>'
    lines = imported(xlsx({"S": row(1, never), "T": row(1, calculated)}), "a.xlsx")
    assert [line["page"]["warnings"] for line in lines[1:]] == [
        ["formula_no_value: formulas were never calculated; they are blank."],
        [],
    ]


def test_readings_of_shared_strings_are_left_out(imported):
    strings = (
        "<si><r><t>東京</t></r><r><t>都</t></r><rPh sb='0' eb='2'><t>トウキョウ</t></rPh></si>"
    )
    cells = '<c r="A1" t="s"><v>0</v></c><c r="B1" t="b"><v>1</v></c>'
    book = xlsx({"S": row(1, cells), "T": row(1, cells) + CORNERS[-80:]}, strings=strings)
    found = tables(imported(book, "a.xlsx"))
    assert found[0] == [[["東京都", "TRUE"]]]
    assert found[1][0][0][:2] == ["東京都", "TRUE"]


def test_cells_without_references_are_counted_on(imported):
    cells = '<c t="inlineStr"><is><t>一</t></is></c><c><v>2</v></c>'
    assert tables(imported(xlsx({"S": f"<row>{cells}</row>"}), "a.xlsx")) == [[[["一", "2"]]]]


def test_long_sheets_are_several_pages_with_their_header(imported):
    rows = row(1, text_cell("A1", "番号")) + "".join(
        row(number, f'<c r="A{number}"><v>{number}</v></c>') for number in range(2, 12_001)
    )
    lines = imported(xlsx({"長い": rows}), "a.xlsx")
    assert lines[0]["document"]["page_count"] == len(lines) - 1 == 3
    assert sum(len(table[0]) for table in tables(lines)) == 12_000
    assert lines[2]["page"]["markdown"].startswith("# 長い\n\n| 番号 |\n| --- |\n| 5001 |")


def test_many_cells_on_one_giant_string_are_refused(imported):
    strings = f"<si><t>{'巨' * 100_000}</t></si>"
    cells = "".join(
        row(number, f'<c r="A{number}" t="s"><v>0</v></c>') for number in range(1, 20_001)
    )
    with pytest.raises(ParseError) as caught:
        imported(xlsx({"S": cells}, strings=strings), "a.xlsx")
    assert caught.value.code in ("result_too_large", "archive_limits")


def test_a_shared_string_that_unpacks_to_hundreds_of_megabytes_is_refused(imported):
    with pytest.raises(ParseError) as caught:
        imported(xlsx({"S": CORNERS}, strings=f"<si><t>{'x' * 1_000_000}</t></si>" * 60), "a.xlsx")
    assert caught.value.code == "archive_limits"


def test_a_dtd_in_a_workbook_is_refused(imported):
    evil = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><worksheet/>'
    for part in ("xl/sharedStrings.xml", "xl/workbook.xml"):
        with pytest.raises(ParseError) as caught:
            imported(xlsx({"S": CORNERS}, extra={part: evil}), "a.xlsx")
        assert caught.value.code == "file_corrupt"


def test_old_workbooks_and_their_hidden_sheets_are_read(imported, corpus):
    lines = imported(corpus("xls/any_sheets.xls"))
    assert lines[0]["document"]["page_count"] == 3
    assert "sheet_skipped: 'Chart'" in lines[0]["document"]["warnings"][0]
    assert lines[1]["page"]["tables"][0][0] == ["1", "2"]
    assert lines[3]["page"]["warnings"][0].startswith("sheet_hidden")


def test_dates_of_a_real_workbook_are_iso(imported, corpus):
    assert tables(imported(corpus("xlsx/date.xlsx")))[0][0] == [
        ["2021-01-01", "15"],
        ["2021-01-02", "16"],
        ["255:10:10", "17"],
    ]


def test_comments_and_text_boxes_are_kept(imported):
    comment = "<comment ref='B2'><text><r><t>要</t></r><r><t>確認</t></r></text></comment>"
    shape = "<x:sp><x:txBody><a:p><a:r><a:t>ここに</a:t></a:r><a:r><a:t>押印</a:t></a:r></a:p>"
    extra = {
        "xl/worksheets/_rels/sheet1.xml.rels": relationships(
            ("r1", "comments", "../comments1.xml"), ("r2", "drawing", "../drawings/drawing1.xml")
        ),
        "xl/comments1.xml": f"<comments {MAIN}><commentList>{comment}</commentList></comments>",
        "xl/drawings/drawing1.xml": f"<x:d xmlns:x='x' xmlns:a='a'>{shape}</x:txBody></x:sp></x:d>",
    }
    lines = imported(xlsx({"S": row(1, text_cell("A1", "表"))}, extra=extra), "a.xlsx")
    assert lines[1]["page"]["text"] == "S\n表\nB2: 要確認\nここに押印"
    assert lines[1]["page"]["markdown"].endswith("- B2: 要確認\n- ここに押印")
