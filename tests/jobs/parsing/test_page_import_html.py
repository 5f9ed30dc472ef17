"""HTML pages: structure as Markdown, Japanese, tables with spans, hostile trees."""

import time


def page(lines):
    return lines[1]["page"]


def html(body: str) -> bytes:
    return f"<!doctype html><html><body>{body}</body></html>".encode()


def test_a_declared_shift_jis_page_is_decoded(imported, corpus):
    lines = imported(corpus("html/shift_jis.html"))
    document = lines[0]["document"]
    assert (document["encoding"], document["title"]) == ("cp932", "こんにちは！")
    assert page(lines)["markdown"] == "# This is a Shift_JIS File\n\n## こんにちは！"


def test_ruby_becomes_base_and_reading(imported):
    lines = imported(html("<ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>都"), "a.html")
    assert page(lines)["text"] == "東京(とうきょう)都"


def test_line_ends_between_japanese_characters_vanish(imported):
    assert page(imported(html("<p>これは\n  日本語\nEnglish\ntext"), "a.html"))["text"] == (
        "これは日本語 English text"
    )


def test_lists_links_quotes_and_code_become_markdown(imported):
    body = (
        "<ul><li>一<ul><li>い</li></ul></li><li><b>二</b></li></ul><ol start=3><li>三</ol>"
        "<blockquote><p>引用</blockquote><pre>a\n  b</pre><a href='/x(1)'>頁</a>"
    )
    assert page(imported(html(body), "a.html"))["markdown"] == (
        "- 一\n  - い\n- **二**\n\n3. 三\n\n> 引用\n\n```\na\n  b\n```\n\n[頁](/x%281%29)"
    )


def test_row_and_column_spans_fill_the_grid(imported):
    body = (
        "<table><tr><th rowspan=2>区分<th colspan=2>値</tr><tr><td>1<td>a|b</tr>"
        "<tr><td>甲<td>2<td>3</tr></table>"
    )
    found = page(imported(html(body), "a.html"))
    assert found["tables"] == [[["区分", "値", "値"], ["区分", "1", "a|b"], ["甲", "2", "3"]]]
    assert "| 区分 | 1 | a\\|b |" in found["markdown"]
    assert found["text"] == "区分\t値\n\t1\ta|b\n甲\t2\t3"


def test_nested_tables_are_kept_on_their_own(imported, corpus):
    tables = page(imported(corpus("html/table_06.html")))["tables"]
    assert [["E1", "E2"], ["E3", "E4"]] in tables
    assert tables[-1][0] == ["A", "B"] or tables[-1][0][0] == "A1" or len(tables) >= 3


def test_scripts_styles_and_dangerous_links_leave_nothing(imported):
    body = (
        "<script>alert(1)</script><style>p{}</style><template>x</template>"
        "<a href='javascript:alert(2)'>押す</a><!-- 注 -->"
    )
    assert page(imported(html(body), "a.html"))["markdown"] == "押す"


def test_text_that_looks_like_markdown_is_escaped(imported):
    found = page(imported(html("<p># no heading<p>1. no list<p>*x* &lt;b>"), "a.html"))
    assert found["markdown"] == "\\# no heading\n\n1\\. no list\n\n\\*x\\* \\<b>"


def test_entities_of_a_dtd_are_not_resolved(imported):
    data = b'<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd">]><html><body>[&x;]</body>'
    assert "root:" not in page(imported(data, "a.html"))["text"]


def test_deep_trees_keep_their_text_with_a_warning(imported):
    found = page(imported(html("<div>上" * 5000 + "底"), "a.html"))
    assert found["text"].endswith("底")
    assert found["warnings"][0].startswith("html_too_complex")


def test_a_tag_with_100_000_attributes_is_quick(imported):
    attributes = " ".join(f"a{number}=1" for number in range(100_000))
    started = time.process_time()
    assert page(imported(html(f"<p {attributes}>本文"), "a.html"))["text"] == "本文"
    assert time.process_time() - started < 5


def test_huge_spans_cost_nothing(imported):
    body = "<table>" + "<tr><td rowspan=99999999 colspan=99999999>x</tr>" * 50 + "</table>"
    found = page(imported(html(body), "a.html"))
    assert found["text"].count("x") == 50
    assert sum(map(len, found["tables"][0])) < 100_000


def test_title_language_author_and_outline_are_told(imported):
    data = (
        "<html lang='JA'><head><title> 題 \n 名 </title><meta name=author content='山田'></head>"
        "<body><h1>一</h1><h2>二</h2></body></html>"
    ).encode()
    document = imported(data, "a.html")[0]["document"]
    assert (document["title"], document["author"], document["language"]) == ("題 名", "山田", "ja")
    assert [(h["level"], h["title"]) for h in document["outline"]] == [(1, "一"), (2, "二")]
