"""JSON: records are tables, the rest an outline; broken and hostile input has an end."""

import json

import pytest

from jobs.parsing import ParseError


def page(lines):
    return lines[1]["page"]


def test_japanese_names_and_values_are_an_outline(imported, corpus):
    lines = imported(corpus("json/ja.json"))
    assert lines[0]["document"]["language"] == "ja"
    assert page(lines)["markdown"].startswith("- 北海道\n  - 札幌市中央区\n")
    assert "沖縄県" in page(lines)["text"]


def test_records_are_a_table(imported):
    data = {"社員": [{"名前": "山田", "歳": 35}, {"名前": "髙橋", "部": None}]}
    found = page(imported(json.dumps(data, ensure_ascii=False).encode("cp932"), "a.json"))
    assert found["tables"] == [[["名前", "歳", "部"], ["山田", "35", ""], ["髙橋", "", "null"]]]
    assert found["markdown"].startswith("- 社員\n\n| 名前 | 歳 | 部 |")


def test_json_lines_are_records(imported):
    found = page(imported(b'{"a":1}\n{"a":2}\n', "a.jsonl"))
    assert found["tables"] == [[["a"], ["1"], ["2"]]]


def test_giant_and_impossible_numbers_keep_their_digits(imported):
    digits = "9" * 5_000
    found = page(imported(f'{{"n": {digits}, "x": NaN, "y": 1e999}}'.encode(), "a.json"))
    assert found["text"] == f"n: {digits}\nx: NaN\ny: 1e999"


def test_what_is_no_json_is_shown_as_text(imported):
    lines = imported(b"{'a': 1,}", "a.json")
    assert lines[0]["document"]["warnings"][0].startswith("json_invalid")
    assert page(lines)["text"] == "{'a': 1,}"


@pytest.mark.parametrize("depth", [300, 1_000, 100_000])
def test_deep_nesting_is_file_corrupt(imported, depth):
    with pytest.raises(ParseError) as caught:
        imported(b"[" * depth + b"]" * depth, "a.json")
    assert caught.value.code == "file_corrupt"


def test_large_json_is_cut_into_pages(imported):
    records = [{"番号": number, "文": "あ" * 50} for number in range(10_000)]
    lines = imported(json.dumps(records, ensure_ascii=False).encode(), "a.json")
    assert lines[0]["document"]["page_count"] == len(lines) - 1 == 3
    assert all(line["page"]["tables"][0][0] == ["番号", "文"] for line in lines[1:])


def nested_records(count):
    return [{"番": number, "中": {"値": [1, 2, "あ" * 50]}} for number in range(count)]


@pytest.mark.parametrize("name", ["", "項目"])
def test_pages_of_nested_records_begin_with_a_record(imported, name):
    value = {"件": 1, name: nested_records(6_000)} if name else nested_records(6_000)
    lines = imported(json.dumps(value, ensure_ascii=False).encode(), "a.json")
    pages = [line["page"]["markdown"].split("\n") for line in lines[1:]]
    assert len(pages) == 2
    above = [f"- {name}"] if name else []
    assert pages[1][: len(above)] == above
    assert pages[1][len(above)].strip().startswith("- 番: ")
    assert pages[0][-1].strip() == "- " + "あ" * 50
    assert sum("番: " in line for page in pages for line in page) == 6_000


def test_a_record_larger_than_a_page_goes_on_below_its_names(imported):
    value = [{"小": 1}, {"大": {"値": [str(number) for number in range(60_000)]}}, {"小": [2]}]
    lines = imported(json.dumps(value, ensure_ascii=False).encode(), "a.json")
    first, second = (line["page"]["markdown"].split("\n") for line in lines[1:])
    assert first[:4] == ["- 小: 1", "- 大", "  - 値", "    - 0"]
    assert second[:3] == ["- 大", "  - 値", f"    - {int(first[-1].strip('- ')) + 1}"]
    assert second[-2:] == ["- 小", "  - 2"]
    assert lines[2]["page"]["text"].startswith("    ")


def test_a_table_that_goes_on_stands_below_its_name_again(imported):
    records = [{"番号": number, "文": "あ" * 50} for number in range(5_000)]
    lines = imported(json.dumps({"表": records}, ensure_ascii=False).encode(), "a.json")
    starts = [line["page"]["markdown"][:20] for line in lines[1:]]
    assert len(starts) == 2
    assert all(start.startswith("- 表\n\n| 番号 | 文 |") for start in starts)


def test_nul_and_lone_surrogates_are_dropped(imported):
    assert page(imported(rb'{"a": "x\u0000\ud800y"}', "a.json"))["text"] == "a: xy"
