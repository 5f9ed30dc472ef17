"""Plain text and Markdown pages."""

import re
from html import unescape

import pytest
from markdown_it import MarkdownIt

from jobs.parsing import ParseError


def test_form_feeds_end_pages(imported):
    lines = imported("一頁目\f二頁目\f".encode(), "a.txt")
    assert [line["page"]["text"] for line in lines[1:]] == ["一頁目", "二頁目"]
    assert lines[0]["document"]["page_count"] == 2


def test_nul_and_control_characters_are_removed_and_told(imported):
    lines = imported("あ\0い\x1b[31mう\x07".encode() + b" " * 400, "a.txt")
    assert lines[1]["page"]["text"].startswith("あい[31mう")
    assert lines[0]["document"]["warnings"] == [
        "characters_removed: 3 control characters were removed."
    ]


def test_very_long_text_is_cut_at_paragraphs(imported):
    paragraph = "日本語の段落です。" * 100
    lines = imported((paragraph + "\n\n").encode() * 300, "a.txt")
    texts = [line["page"]["text"] for line in lines[1:]]
    assert lines[0]["document"]["page_count"] == len(texts) > 1
    assert max(map(len, texts)) <= 200_000
    assert all(text.endswith("です。") for text in texts)


def test_an_empty_file_is_file_empty(imported):
    with pytest.raises(ParseError) as caught:
        imported(b"", "a.txt")
    assert caught.value.code == "file_empty"


def test_white_space_alone_is_a_page_with_a_warning(imported):
    assert imported(b" \n\n", "a.txt")[1]["page"]["warnings"] == ["no_text: this page has no text."]


def test_binary_data_named_as_text_is_encoding_unknown(imported):
    with pytest.raises(ParseError) as caught:
        imported(bytes(range(256)) * 40, "a.txt")
    assert caught.value.code == "encoding_unknown"


def test_markdown_keeps_its_source_and_gives_text_and_outline(imported, corpus):
    lines = imported(corpus("md/faq.md"))
    document, page = lines[0]["document"], lines[1]["page"]
    assert (document["title"], document["language"]) == ("よくある質問", "ja")
    assert document["outline"][1]["title"] == "Vue をメンテナンスしているのは誰ですか？"
    assert "2014 年に Evan You によって個人のサイドプロジェクトとして" in page["text"]
    assert "[Evan You](https://x.com/evanyou)" in page["markdown"]


def test_markdown_tables_front_matter_and_ruby_are_understood(imported):
    source = (
        "---\ntitle: '仕様書'\nauthor: 鈴木\n---\n\n# 章\n\n| a | b |\n|---|---|\n| 1 | `x` |\n\n"
        "<ruby>漢字<rt>かんじ</rt></ruby>\n"
    )
    lines = imported(source.encode(), "a.md")
    document, page = lines[0]["document"], lines[1]["page"]
    assert (document["title"], document["author"]) == ("仕様書", "鈴木")
    assert page["tables"] == [[["a", "b"], ["1", "x"]]]
    assert page["text"] == "章\na\tb\n1\tx\n漢字(かんじ)"
    assert page["markdown"].startswith("# 章")


def test_hostile_markdown_ends(imported):
    source = ">" * 20_000 + "x\n\n" + "[" * 20_000 + "\n\n" + "*a " * 5_000
    assert imported(source.encode(), "a.md")[0]["document"]["page_count"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "お世話になっております。\n-- \n山田太郎",
        "題\n====  \n本文",
        "&copy; &lt;b&gt; &#65; a&b; R&D",
        "#\n1.\n-\n+ x\n> y\n| z",
        "前\n\n    字下げ * _x_\n\t[y]",
        "***\n___\n~~~\n`x` <b> \\n",
    ],
)
def test_markdown_shows_plain_text_as_it_is(imported, text):
    shown = MarkdownIt("commonmark").render(imported(text.encode(), "a.txt")[1]["page"]["markdown"])

    assert not re.search(r"<(?!/?p>|br />)", shown)
    lines = [" ".join(line.split()) for line in unescape(re.sub("<[^>]+>", "", shown)).splitlines()]
    assert [line for line in lines if line] == [" ".join(x.split()) for x in text.split("\n") if x]
