"""Markdown out of files: rendered for people, harmless whatever it holds."""

from __future__ import annotations

import re
import time

import pytest

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
]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_in_it_becomes_active(payload: str) -> None:
    html = str(render(payload))
    tags = re.findall(r"<[^>]*>", html)
    allowed = r"</?(p|a|code|pre|table|thead|tbody|tr|th|td|h3|em|strong)\b"
    assert all(re.match(allowed, tag) for tag in tags), html
    assert not any(re.search(r"\son\w+\s*=", re.sub(r'"[^"]*"', "", tag)) for tag in tags), html
    hrefs = re.findall(r'href="([^"]*)"', html)
    assert all(href.startswith("https://") for href in hrefs), html


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


@pytest.mark.parametrize("piece", ["*a ", "[", "> ", "`", "| a ", "- ", "_a*b "])
def test_hostile_nesting_does_not_hold_the_thread(piece: str) -> None:
    started = time.monotonic()
    render((piece * MAX_CHARS)[:MAX_CHARS])
    assert time.monotonic() - started < 5
