"""Word documents: what other readers lose must be there, and no file may harm."""

import pytest

from jobs.parsing import ParseError
from tests.jobs.parsing.office_files import WORD, docx, package, paragraph, relationships

NUMBERING = f"""<w:numbering {WORD}><w:abstractNum w:abstractNumId="0">
<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="第%1章"/></w:lvl>
<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="aiueoFullWidth"/><w:lvlText w:val="(%2)"/>
</w:lvl></w:abstractNum><w:abstractNum w:abstractNumId="1">
<w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val=""/></w:lvl>
<w:lvl w:ilvl="1"><w:start w:val="3"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%2."/></w:lvl>
</w:abstractNum><w:num w:numId="5"><w:abstractNumId w:val="0"/></w:num>
<w:num w:numId="6"><w:abstractNumId w:val="1"/></w:num></w:numbering>"""
STYLES = f"""<w:styles {WORD}><w:style w:styleId="a1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="a2"><w:name w:val="社内見出し"/><w:basedOn w:val="a1"/></w:style></w:styles>"""
BREAK = "<w:r><w:t>前</w:t><w:br/><w:t>後</w:t></w:r>"


def listed(text, number, level=0):
    style = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'
    return paragraph(text, style)


def run(text, properties=""):
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t xml:space='preserve'>{text}</w:t></w:r>"


def cell(text, properties=""):
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(text)}</w:tc>"


@pytest.fixture
def page(imported):
    def read(body, related="", **extra):
        parts = {f"word/{name}.xml": content for name, content in extra.items()}
        return imported(docx(body, related=related, extra=parts), "文書.docx")[1]["page"]

    return read


def code_of(imported, content):
    with pytest.raises(ParseError) as caught:
        imported(content, "a.docx")
    return caught.value.code


def test_ruby_is_base_and_reading(imported, corpus):
    lines = imported(corpus("docx/61470.docx"))
    assert lines[1]["page"]["text"] == lines[1]["page"]["markdown"] == "東京(とうきょう)"
    assert lines[0]["document"]["language"] == "ja"


def test_text_in_content_controls_is_kept(imported, corpus):
    page = imported(corpus("docx/testWORD_missing_text.docx"))[1]["page"]
    for words in ("BigCompany", "Seasoned", "Rich_text_in_cell"):
        assert words in page["text"]


def test_headings_come_from_styles_and_from_those_they_build_on(imported):
    body = (
        paragraph("概要", '<w:pStyle w:val="a2"/>')
        + paragraph("本文")
        + paragraph("詳細", '<w:outlineLvl w:val="2"/>')
    )
    related = relationships(("rId1", "styles", "styles.xml"))
    lines = imported(docx(body, related=related, extra={"word/styles.xml": STYLES}), "a.docx")
    assert [(e["title"], e["level"]) for e in lines[0]["document"]["outline"]] == [
        ("概要", 1),
        ("詳細", 3),
    ]
    assert lines[0]["document"]["title"] == "概要"
    assert lines[1]["page"]["markdown"] == "# 概要\n\n本文\n\n### 詳細"


def test_numbers_are_written_as_word_shows_them(page):
    body = (
        listed("総則", 5)
        + listed("目的", 5, 1)
        + listed("定義", 5, 1)
        + listed("雑則", 5)
        + listed("施行", 5, 1)
        + listed("点", 6)
        + listed("三番", 6, 1)
        + listed("四番", 6, 1)
        + paragraph("以上")
    )
    found = page(body, relationships(("r1", "numbering", "numbering.xml")), numbering=NUMBERING)
    assert found["markdown"] == (
        "- 第1章 総則\n  - (ア) 目的\n  - (イ) 定義\n- 第2章 雑則\n  - (ア) 施行\n"
        "- 点\n  3. 三番\n  4. 四番\n\n以上"
    )
    assert "(イ) 定義" in found["text"]


def test_emphasis_stands_next_to_letters(page):
    bold = "<w:b/>"
    body = f"<w:p>{run('これは')}{run('「重', bold)}{run('要」', bold)}{run('です。')}</w:p>"
    assert page(body)["markdown"] == "これは「**重要**」です。"


@pytest.mark.parametrize(
    ("bold", "shown"),
    [
        ("３月31日（火）", "期限は**３月31日**（火）です。"),
        ("「重要」な事", "期限は「重要」な事です。"),
        ("必須", "期限は**必須**です。"),
        ("！", "期限は！です。"),
    ],
)
def test_emphasis_does_not_tear_brackets(page, bold, shown):
    body = f"<w:p>{run('期限は')}{run(bold, '<w:b/>')}{run('です。')}</w:p>"
    assert page(body)["markdown"] == shown


def test_tables_with_spans_are_full_grids(page):
    down = '<w:vMerge w:val="restart"/>'
    body = (
        "<w:tbl><w:tr>"
        + cell("区分", down)
        + cell("上期", '<w:gridSpan w:val="2"/>')
        + "</w:tr><w:tr>"
        + cell("", "<w:vMerge/>")
        + cell("4月")
        + cell("5月")
        + "</w:tr></w:tbl>"
    )
    found = page(body)
    assert found["tables"] == [[["区分", "上期", "上期"], ["区分", "4月", "5月"]]]
    assert found["text"] == "区分\t上期\n\t4月\t5月"


def test_a_span_over_a_billion_columns_is_cut(page):
    body = "<w:tbl><w:tr>" + cell("x", '<w:gridSpan w:val="999999999"/>') + cell("y")
    assert len(page(body + "</w:tr></w:tbl>")["tables"][0][0]) <= 1001


def test_a_frame_of_one_cell_is_no_table(page):
    found = page(f"<w:tbl><w:tr>{cell('注意事項')}</w:tr></w:tbl>")
    assert (found["markdown"], found["tables"]) == ("注意事項", [])


def test_text_boxes_are_written_once(page):
    box = f"<w:txbxContent>{paragraph('枠の中')}</w:txbxContent>"
    body = (
        "<w:p><w:r><w:t>本文</w:t><mc:AlternateContent><mc:Choice><w:drawing><wps:txbx>"
        f"{box}</wps:txbx></w:drawing></mc:Choice><mc:Fallback><w:pict>{box}</w:pict>"
        "</mc:Fallback></mc:AlternateContent></w:r></w:p>"
    )
    assert page(body)["text"] == "本文\n枠の中"


def test_notes_and_comments_are_kept(page):
    related = relationships(
        ("r1", "footnotes", "footnotes.xml"), ("r2", "comments", "comments.xml")
    )
    note = '<w:footnote w:id="2">' + paragraph("脚注の文") + "</w:footnote>"
    comment = '<w:comment w:id="0" w:author="山田">' + paragraph("要確認") + "</w:comment>"
    body = (
        '<w:p><w:r><w:t>本文</w:t><w:footnoteReference w:id="2"/></w:r>'
        '<w:r><w:commentReference w:id="0"/></w:r></w:p>'
    )
    found = page(
        body,
        related,
        footnotes=f"<w:footnotes {WORD}>{note}</w:footnotes>",
        comments=f"<w:comments {WORD}>{comment}</w:comments>",
    )
    assert found["markdown"] == "本文[^1][^c1]\n\n[^1]: 脚注の文\n\n[^c1]: 山田: 要確認"
    assert found["text"] == "本文[1][c1]\n[1] 脚注の文\n[c1] 山田: 要確認"


def test_links_equations_and_line_ends_are_kept(page):
    related = relationships(("r1", "hyperlink", "https://example.jp/a"), external=("r1",))
    math = (
        "<m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r>"
        "</m:den></m:f></m:oMath>"
    )
    body = f'<w:p><w:hyperlink r:id="r1">{run("規程")}</w:hyperlink>{math}</w:p><w:p>{BREAK}</w:p>'
    found = page(body, related)
    assert found["markdown"] == "[規程](https://example.jp/a)(a+b)/2\n\n前  \n後"


def test_deleted_and_hidden_text_and_field_codes_are_left_out(page):
    body = (
        "<w:p><w:del><w:r><w:delText>旧</w:delText></w:r></w:del><w:ins>"
        + run("新")
        + "</w:ins>"
        + run("隠", "<w:vanish/>")
        + "<w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
    )
    assert page(body)["text"] == "新"


def test_strict_files_are_read_too(imported):
    strict = "http://purl.oclc.org/ooxml/wordprocessingml/main"
    body = f'<w:document xmlns:w="{strict}"><w:body>{paragraph("厳格")}</w:body></w:document>'
    kind = "http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument"
    rels = f'<R><Relationship Id="a" Type="{kind}" Target="word/document.xml"/></R>'
    lines = imported(package({"_rels/.rels": rels, "word/document.xml": body}), "a.docx")
    assert lines[1]["page"]["text"] == "厳格"


def test_very_long_documents_are_cut_before_headings(imported):
    body = "".join(
        paragraph(f"章{number}", '<w:outlineLvl w:val="0"/>') + paragraph("あ" * 30_000)
        for number in range(20)
    )
    lines = imported(docx(body), "a.docx")
    assert lines[0]["document"]["page_count"] == len(lines) - 1 == 3
    assert lines[2]["page"]["markdown"].startswith("# 章7\n")
    assert lines[0]["document"]["outline"][-1]["page"] == 3


@pytest.mark.parametrize(
    "evil",
    [
        '<!DOCTYPE x [<!ENTITY a "bbbb"><!ENTITY c "&a;&a;&a;">]><x>&c;</x>',
        '<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>',
        "<w:document>",
        f"<w:document {WORD}><w:body>" + "<w:sdt><w:sdtContent>" * 50_000,
        f"<w:document {WORD}/>",
    ],
)
def test_evil_xml_is_file_corrupt(imported, evil):
    assert code_of(imported, docx("", extra={"word/document.xml": evil})) == "file_corrupt"


def test_a_part_that_unpacks_to_a_gigabyte_is_refused(imported):
    giant = docx("", extra={"word/document.xml": b" " * 80_000_000})
    assert code_of(imported, giant) == "archive_limits"


def test_too_many_members_are_refused(imported):
    parts = {f"word/{number}": "" for number in range(20_001)}
    assert code_of(imported, package({"word/document.xml": "<x/>", **parts})) == "archive_limits"


def test_nested_tables_end_in_text_or_in_a_code(imported):
    nested = "<w:tbl><w:tr><w:tc>" * 80 + paragraph("底") + "</w:tc></w:tr></w:tbl>" * 80
    assert imported(docx(nested), "a.docx")[1]["page"]["text"] == "底"
