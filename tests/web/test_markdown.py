"""Markdown out of files: rendered for people, harmless whatever it holds."""

from __future__ import annotations

import re
import time

import pytest
from lxml import etree

from web.markdown import MAX_CHARS, render

PAYLOADS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox(1))",
    "[x](file:///etc/passwd)",
    "<javascript:alert(1)>",
    "![x](https://evil.example/pixel.png)",
    "[x]: javascript:alert(1)\n\n[x]",
    '[x](https://a.example "\\" onmouseover=alert(1) x=\\"")',
    '```"><script>alert(1)</script>\ncode\n```',
    "| <b onclick=alert(1)>a</b> |\n| --- |\n| <svg/onload=alert(1)> |",
    "# <iframe src=//evil.example>",
    'x[^"><b>]\n\n[^"><b>]: <script>alert(1)</script> [x](javascript:alert(1))',
]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_in_it_becomes_active(payload: str) -> None:
    html = str(render(payload))
    tags = re.findall(r"<[^>]*>", html)
    allowed = r"</?(p|a|code|pre|table|thead|tbody|tr|th|td|h3|em|strong|sup)\b"
    assert all(re.match(allowed, tag) for tag in tags), html
    assert not any(re.search(r"\son\w+\s*=", re.sub(r'"[^"]*"', "", tag)) for tag in tags), html
    hrefs = re.findall(r'href="([^"]*)"', html)
    assert all(href.startswith(("https://", "#text-")) for href in hrefs), html


def test_headings_stand_below_those_of_the_page_and_tables_are_drawn() -> None:
    html = str(render("# 設計\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"))
    assert "<h3>設計</h3>" in html
    assert "<td>1</td>" in html


def test_line_breaks_in_cells_are_drawn_and_those_in_code_are_not() -> None:
    html = str(render("| a |\n| --- |\n| 1<br>2<b> |\n\n`<br>`"))
    assert re.search(r"<td>1<br ?/?>\s*2&lt;b&gt;</td>", html)
    assert "<code>&lt;br&gt;</code>" in html


def test_blank_and_overlong_pages_are_left_to_plain_text() -> None:
    assert render("  \n") is None
    assert render("x" * (MAX_CHARS + 1)) is None


def test_what_is_struck_out_is_drawn_so() -> None:
    assert "<p><s>削除</s>した a~b</p>" in str(render("~~削除~~した a~b"))


def test_footnotes_lead_to_their_text_and_back() -> None:
    text = "本文[^1][^c1]です。再び[^1]。\n\n[^1]: 脚注の**文**です。\n[^c1]: 山田: 意見\n"
    tree = etree.HTML(str(render(text, anchor="page-3")))
    links = tree.xpath("//sup/a")
    assert ["".join(each.itertext()) for each in links] == ["[1]", "[c1]", "[1]"]
    notes = [tree.xpath("id($at)", at=each.get("href")[1:])[0] for each in links]
    words = ["".join(each.itertext()).strip() for each in notes]
    assert words == ["[1] 脚注の文です。", "[c1] 山田: 意見", "[1] 脚注の文です。"]
    back = tree.xpath("//p[@class='footnote']/a/@href")
    assert [tree.xpath("id($at)", at=each[1:])[0].tag for each in back] == ["sup", "sup"]
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids)) == 4
    assert all(each.startswith("page-3-") for each in ids)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("本文[^9]です", "本文[^9]です"),
        ("[^3]: 参照のない脚注", "[3] 参照のない脚注"),
        ("a[^1]\n\n[^1]: b\n[^1]: もう一度", "a[1] [1] b [1] もう一度"),
        ("段落\n[^1]: すぐ下\n続き\n# 見出し", "段落 [1] すぐ下 続き 見出し"),
        ("- 項目\n  [^1]: 箇条の中\n[^2]: 外", "項目 [1] 箇条の中 [2] 外"),
        ("> 引用[^q]\n> [^q]: 文", "引用[q] [q] 文"),
        ("`[^1]`\n\n    [^1]: コード", "[^1] [^1]: コード"),
        ("[^1]:", "[1]"),
    ],
)
def test_no_text_of_a_footnote_is_lost(text: str, shown: str) -> None:
    html = str(render(text))
    assert " ".join(" ".join(etree.HTML(html).itertext()).split()).replace(" [", "[") == (
        shown.replace(" [", "[")
    ), html


PIECES = ["*a ", "[", "> ", "`", "| a ", "- ", "_a*b ", "~~a"]
NOTES = ["[^a", "[^1]", "[^1]: a\n", "> [^1]: "]


@pytest.mark.parametrize("piece", [*PIECES, *NOTES])
def test_hostile_nesting_does_not_hold_the_thread(piece: str) -> None:
    started = time.monotonic()
    render(("[^1]: note\n\n" + piece * MAX_CHARS)[:MAX_CHARS])
    assert time.monotonic() - started < 5
