"""CSV and TSV: Japanese encodings, delimiters, quotes, giants."""

import pytest

from jobs.parsing import ParseError


def tables(lines):
    return [table for line in lines[1:] for table in line["page"]["tables"]]


def test_cp932_with_characters_outside_shift_jis_is_read(imported, corpus):
    lines = imported(corpus("csv/test_mskanji.csv"))
    assert lines[0]["document"]["encoding"] == "cp932"
    assert tables(lines)[0][-1] == ["髙橋淳", "35", "名古屋"]
    assert "| 髙橋淳 | 35 | 名古屋 |" in lines[1]["page"]["markdown"]


def test_euc_jp_symbols_are_read(imported, corpus):
    lines = imported(corpus("csv/Symbol.csv"))
    assert lines[0]["document"]["encoding"] == "euc_jp"
    assert tables(lines)[0][2][:5] == ["」", "7", "7", "1161", "記号"]


def test_utf_16_with_line_ends_inside_quotes_is_read(imported, corpus):
    lines = imported(corpus("csv/utf16be.line_break_in_enclosure.csv"))
    assert lines[0]["document"]["encoding"] == "utf-16-be"
    assert tables(lines)[0][1] == [
        "Test",
        "This is a test\nwith line breaks\nthat breaks the\ndelimiters",
        "http://google.com",
    ]


@pytest.mark.parametrize(
    ("source", "name", "row"),
    [
        ("a;b\n1,5;2\n", "a.csv", ["1,5", "2"]),
        ("a\tb\n1,5\t2\n", "a.csv", ["1,5", "2"]),
        ("a|b\n1|2\n", "a.csv", ["1", "2"]),
        ("sep=;\na;b\n1,5;2\n", "a.csv", ["1,5", "2"]),
        ("a\tb\n1\t2\n", "a.tsv", ["1", "2"]),
        ("a,b\n1,2\n", "a.tsv", ["1", "2"]),
    ],
)
def test_the_delimiter_is_found(imported, source, name, row):
    assert tables(imported(source.encode(), name))[0][1] == row


def test_an_open_quote_does_not_swallow_the_file(imported):
    lines = imported(b'a,b\n"open,1\nx,2\n', "a.csv")
    assert tables(lines)[0] == [["a", "b"], ['"open', "1"], ["x", "2"]]
    assert lines[0]["document"]["warnings"][0].startswith("csv_quotes_broken")


def test_a_giant_field_is_kept(imported):
    lines = imported(b"a,b\n" + b"x" * 1_500_000 + b",2\n", "a.csv")
    assert len(tables(lines)[0][1][0]) == 1_500_000


def test_nul_is_dropped_from_cells(imported):
    data = "名\0前,値\n山田,1\n".encode() + "佐藤,2\n".encode() * 50
    assert tables(imported(data, "a.csv"))[0][0] == ["名前", "値"]


def test_long_tables_are_paged_with_their_header(imported):
    rows = "".join(f"{number},値{number}\n" for number in range(12_000))
    lines = imported(("番号,値\n" + rows).encode(), "a.csv")
    assert lines[0]["document"]["page_count"] == len(lines) - 1 == 3
    assert sum(len(table) for table in tables(lines)) == 12_001
    assert lines[2]["page"]["markdown"].startswith("| 番号 | 値 |\n| --- | --- |\n| 4999 |")


def test_uneven_rows_are_told(imported):
    warnings = imported(b"a,b\n1\n1,2,3\n", "a.csv")[1]["page"]["warnings"]
    assert warnings == ["rows_uneven: rows have between 1 and 3 cells."]


def test_a_million_columns_are_refused(imported):
    with pytest.raises(ParseError) as caught:
        imported(b"a," * 1_000_000 + b"\n", "a.csv")
    assert caught.value.code == "file_corrupt"
