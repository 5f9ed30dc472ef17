"""PDF pages: Japanese text, vertical columns, headings, and files that are not well."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pypdfium2 as pdfium
import pytest

from jobs.parsing import ParseError
from jobs.parsing.page_import.pdf_fonts import find_japanese_font, japanese_font, uses_outside_font
from tests.jobs.parsing.pdf_files import pdf, text

ROOT = Path(__file__).resolve().parents[3]


def pages(lines):
    return [line["page"] for line in lines[1:]]


def refusal(imported, *arguments, **options):
    with pytest.raises(ParseError) as caught:
        imported(*arguments, **options)
    return caught.value.code


def test_japanese_lines_join_without_spaces_into_paragraphs(imported, corpus):
    first = pages(imported(corpus("pdf/jsverb.pdf")))[0]
    assert "yen オプションを付けると" in first["text"]
    assert "これらは文字としてはそれぞれ U+2018 LEFT SINGLE QUOTATION MARK" in first["text"]
    assert "日本語テキストにコピー＆ペーストすると，全角文字になってしまいます" in first["text"]


def test_larger_text_becomes_a_heading_and_bullets_become_a_list(imported, corpus):
    first = pages(imported(corpus("pdf/jsverb.pdf")))[0]
    assert re.search(r"^# pLATEX 2ε 用 verb\.\.\. 関係マクロ$", first["markdown"], re.M)
    assert "- http://oku.edu.mie-u.ac.jp/~okumura/texfaq/qa/46673.html\n- http" in first["markdown"]


def test_document_line_tells_pages_title_author_and_language(imported, corpus):
    document = imported(corpus("pdf/jsverb.pdf"))[0]["document"]
    assert (document["schema"], document["type"], document["page_count"]) == (1, "page_import", 4)
    assert document["title"] == "pLaTeX2ε用 verb... 関係マクロ"
    assert (document["author"], document["language"]) == ("奥村晴彦", "ja")
    assert document["detected_type"] == "pdf"


def test_pages_are_numbered_and_have_a_size_in_points(imported, corpus):
    found = pages(imported(corpus("pdf/jsverb.pdf")))
    assert [page["number"] for page in found] == [1, 2, 3, 4]
    assert {(page["width"], page["height"]) for page in found} == {(595.28, 841.89)}


def test_shift_jis_text_in_a_font_that_is_not_embedded_is_read(imported, corpus):
    assert pages(imported(corpus("pdf/noembed-sjis.pdf")))[0]["text"] == "あいうえお"


def test_vertical_columns_are_read_from_right_to_left_block_by_block(imported):
    upper = [
        "吾輩は猫である。名前はまだ無い。",
        "どこで生れたかとんと見当がつか",
        "ぬ。何でも薄暗い所で",
    ]
    lower = ["泣いていた事だけは記憶している", "。吾輩はここで始めて人間という", "ものを見た。"]
    stream = b"".join(text("V", 340 - 24 * i, 480, c) for i, c in enumerate(upper))
    stream += b"".join(text("V", 340 - 24 * i, 260, c) for i, c in enumerate(lower))
    stream += text("H", 190, 20, "－１２－")
    page = pages(imported(pdf(stream), "縦.pdf"))[0]
    assert page["text"].replace("\n", "") == "".join(upper) + "".join(lower) + "－１２－"
    assert any(warning.startswith("vertical_text") for warning in page["warnings"])


def test_horizontal_pages_are_not_taken_for_vertical_ones(imported, corpus):
    for page in pages(imported(corpus("pdf/jsverb.pdf"))):
        assert not any(warning.startswith("vertical_text") for warning in page["warnings"])


def test_a_page_without_text_says_that_it_may_be_a_scan(imported):
    page = pages(imported(pdf(b"0 0 100 100 re f"), "scan.pdf"))[0]
    assert page["text"] == ""
    assert page["warnings"] == ["no_text_layer: this page has no text; it may be a scanned image."]


def test_bookmarks_become_the_outline(imported, corpus):
    outline = imported(corpus("pdf/invalid-xref-loop.pdf"))[0]["document"]["outline"]
    assert outline == [{"title": "Sheet1", "level": 1, "page": 1}]


def test_nul_and_lone_surrogates_in_metadata_are_dropped(imported):
    info = b"/Title<FEFF30E2D8000000304B>/Author(Canon\\000)"
    document = imported(pdf(text("H", 20, 400, "本文"), info=info), "a.pdf")[0]["document"]
    assert document["author"] == "Canon"
    assert document["title"] in (None, "モか")


def test_junk_before_the_header_is_accepted(imported, corpus):
    data = b"<html>junk</html>\n" * 20 + corpus("pdf/noembed-sjis.pdf").read_bytes()
    assert imported(data, "a.pdf")[0]["document"]["detected_type"] == "pdf"


def test_a_password_is_file_encrypted(imported, corpus):
    assert refusal(imported, corpus("pdf/r6-user-password.pdf")) == "file_encrypted"


def test_the_password_option_opens_the_file(imported, corpus):
    found = imported(corpus("pdf/r6-user-password.pdf"), password="asdfzxcv")
    assert found[0]["document"]["page_count"] >= 1


def test_a_broken_or_truncated_file_is_file_corrupt(imported, corpus):
    broken = corpus("pdf/T02-01_001_document-catalog-No-document-catalog.pdf")
    assert refusal(imported, broken) == "file_corrupt"
    half = corpus("pdf/word365_structure.pdf").read_bytes()[:40_000]
    assert refusal(imported, half, "half.pdf") == "file_corrupt"
    assert refusal(imported, b"%PDF-1.7\n", "head.pdf") == "file_corrupt"


def test_no_pages_is_no_pages(tmp_path):
    path = tmp_path / "none.pdf"
    path.write_bytes(pdf())
    # pdfium tells this by an error code that earlier failures of the process leave behind
    command = [sys.executable, "-m", "jobs.parsing", "page_import", str(path)]
    done = subprocess.run(command, capture_output=True, cwd=ROOT, timeout=60, check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "no_pages"


def test_too_many_pages_is_pages_exceeded(imported):
    assert refusal(imported, pdf(*[b""] * 5001), "many.pdf") == "pages_exceeded"


def test_one_bad_page_is_a_warning_and_the_others_are_read(imported):
    data = pdf(text("H", 20, 400, "一頁"), text("H", 20, 400, "二頁"))
    data = data.replace(b"/Contents 8 0 R", b"/Contents 9 9 R").replace(
        b"/Type/Page/Parent", b"/Type/Page/Parent", 1
    )
    found = pages(imported(data, "a.pdf"))
    assert len(found) == 2
    assert found[1]["text"] == "二頁"
    assert found[0]["warnings"]


def test_a_missing_japanese_font_would_be_seen(tmp_path, corpus):
    (tmp_path / "ipam.ttf").touch()
    assert find_japanese_font([tmp_path, tmp_path / "none"]) is None
    found = japanese_font()
    assert found is not None
    (tmp_path / "gothic.ttf").symlink_to(found)
    assert find_japanese_font([tmp_path]) == str(tmp_path / "gothic.ttf")
    with pdfium.PdfDocument(corpus("pdf/noembed-sjis.pdf")) as document:
        assert uses_outside_font(document[0])
    with pdfium.PdfDocument(corpus("pdf/jsverb.pdf")) as document:
        assert not uses_outside_font(document[0])


def test_a_ruled_table_becomes_rows_and_a_markdown_table(imported, corpus):
    page = pages(imported(corpus("pdf/word365_structure.pdf")))[0]
    assert page["tables"] == [
        [
            ["En-tête 1", "En-tête 2", "En-tête 3"],
            ["Ligne 1", "Alouette", "Farfadet"],
            ["Linge 2", "Belette", "Bibitte"],
        ]
    ]
    assert "| Ligne 1 | Alouette | Farfadet |" in page["markdown"]
    assert "Ligne 1\tAlouette\tFarfadet" in page["text"]
    assert page["text"].count("Alouette") == 1


def test_a_cell_over_two_columns_and_japanese_cells_are_read(imported):
    rules = "".join(f"50 {y} m 290 {y} l S\n" for y in (400, 370, 340, 310))
    rules += "50 310 m 50 400 l S\n290 310 m 290 400 l S\n170 310 m 170 370 l S\n"
    cells = [
        ("売上一覧", 60, 380),
        ("品名", 60, 350),
        ("数量", 180, 350),
        ("鉛筆", 60, 320),
        ("十二", 180, 320),
    ]
    stream = rules.encode() + b"".join(text("H", x, y, content) for content, x, y in cells)
    page = pages(imported(pdf(stream), "表.pdf"))[0]
    assert page["tables"] == [[["売上一覧", ""], ["品名", "数量"], ["鉛筆", "十二"]]]


def test_thousands_of_drawn_lines_are_no_table(imported):
    stream = b"".join(b"%d 10 m %d 400 l S\n" % (x, x) for x in range(3_000))
    page = pages(imported(pdf(stream + text("H", 20, 450, "図面")), "a.pdf"))[0]
    assert (page["tables"], page["text"]) == ([], "図面")


def test_readings_beside_vertical_columns_follow_their_base(imported):
    stream = text("V", 340, 480, "一人の下人が羅生門の下で") + text("V", 351, 444, "げにん", 6)
    stream += text("V", 316, 480, "雨やみを待っていた。")
    page = pages(imported(pdf(stream), "縦.pdf"))[0]
    assert page["text"].replace("\n", "") == "一人の下人(げにん)が羅生門の下で雨やみを待っていた。"
