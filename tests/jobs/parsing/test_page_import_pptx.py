"""Presentations: slides in order, titles, lists, tables, notes, hidden and damaged slides."""

import pytest

from jobs.parsing import ParseError
from tests.jobs.parsing.office_files import SLIDE, pptx, relationships, shape

TABLE = """<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tr><a:tc gridSpan="2">
<a:txBody><a:p><a:r><a:t>合計</a:t></a:r></a:p></a:txBody></a:tc><a:tc hMerge="1"/></a:tr><a:tr>
<a:tc><a:txBody><a:p><a:r><a:t>1</a:t></a:r></a:p></a:txBody></a:tc>
<a:tc><a:txBody><a:p><a:r><a:t>2</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl>
</a:graphicData></a:graphic></p:graphicFrame>"""


def test_real_slides_keep_titles_tables_lists_and_notes(imported, corpus):
    lines = imported(corpus("pptx/powerpoint_sample.pptx"))
    head, first, second, third = (next(iter(line.values())) for line in lines)
    assert [entry["title"] for entry in head["outline"]] == [
        "Test Table Slide",
        "Second slide title",
    ]
    assert first["tables"][0][0] == ["", "Class1", "Class1", "Class1", "Class2", "Class2", "Class2"]
    assert "- With foo\n- Bar" in second["markdown"]
    assert second["markdown"].endswith("> Some notes on the second slide.")
    assert (third["width"], third["height"]) == (960.0, 540.0)


def test_a_title_comes_first_and_footers_are_left_out(imported):
    slide = shape("body", "概要", "詳細") + shape("ftr", "社外秘") + shape("title", "計画")
    page = imported(pptx([slide]), "a.pptx")[1]["page"]
    assert page["markdown"] == "# 計画\n\n- 概要\n- 詳細"
    assert page["text"] == "計画\n概要\n詳細"


def test_merged_cells_stand_for_themselves(imported):
    page = imported(pptx([TABLE]), "a.pptx")[1]["page"]
    assert page["tables"] == [[["合計", "合計"], ["1", "2"]]]
    assert page["text"] == "合計\n1\t2"


def test_grouped_shapes_are_read(imported):
    group = f"<p:grpSp><p:grpSp>{shape('obj', '奥')}</p:grpSp></p:grpSp>"
    assert imported(pptx([group]), "a.pptx")[1]["page"]["text"] == "奥"


def test_a_chart_is_a_table_of_its_data(imported):
    points = "<c:strCache><c:pt idx='0'><c:v>{}</c:v></c:pt></c:strCache>"
    chart = (
        "<c:chartSpace xmlns:c='urn:c'><c:chart><c:plotArea><c:barChart><c:ser><c:tx>"
        f"{points.format('売上')}</c:tx><c:cat>{points.format('4月')}</c:cat><c:val>"
        f"{points.format('120')}</c:val></c:ser></c:barChart></c:plotArea></c:chart></c:chartSpace>"
    )
    frame = "<p:graphicFrame><a:graphic><c:chart xmlns:c='urn:c' r:id='r1'/></a:graphic>"
    extra = {
        "ppt/charts/chart1.xml": chart,
        "ppt/slides/_rels/slide1.xml.rels": relationships(("r1", "chart", "../charts/chart1.xml")),
    }
    page = imported(pptx([f"{frame}</p:graphicFrame>"], extra=extra), "a.pptx")[1]["page"]
    assert page["tables"] == [[["", "売上"], ["4月", "120"]]]


def test_a_damaged_slide_is_a_warning_and_the_others_are_read(imported):
    extra = {"ppt/slides/slide1.xml": "<p:sld"}
    lines = imported(pptx([shape("title", "一"), shape("title", "二")], extra=extra), "a.pptx")
    assert lines[1]["page"]["warnings"][0].startswith("page_failed")
    assert lines[2]["page"]["text"] == "二"


def test_a_hidden_slide_says_so(imported):
    slide = (
        f'<p:sld {SLIDE} show="0"><p:cSld><p:spTree>{shape("title", "控え")}</p:spTree></p:cSld>'
    )
    lines = imported(pptx([""], extra={"ppt/slides/slide1.xml": slide + "</p:sld>"}), "a.pptx")
    assert lines[1]["page"]["warnings"] == ["slide_hidden: this slide is hidden in the show."]


def test_a_show_without_slides_has_no_pages(imported):
    with pytest.raises(ParseError) as caught:
        imported(pptx([]), "a.pptx")
    assert caught.value.code == "no_pages"
