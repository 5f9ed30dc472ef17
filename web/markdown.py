"""Markdown from files → HTML that is safe to show: no raw HTML, no images, links checked.

markdown-it escapes HTML when `html` is off and refuses javascript:, vbscript:, file: and data:
links; the Content-Security-Policy is the second wall.
"""

from __future__ import annotations

from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

#: Longer texts are shown as they are: hostile ones take about 25 ms a thousand characters.
MAX_CHARS = 30_000
#: The page's own headings stand above the document's.
_HEADING_SHIFT = 2


@cache
def _renderer() -> MarkdownIt:
    return (
        MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable("table").disable("image")
    )


def _mended(child: Token) -> list[Token]:
    """Mark links as foreign; draw the <br> by which tables break lines, the only tag let in."""
    if child.type == "link_open":
        child.attrSet("rel", "nofollow noopener noreferrer")
    if child.type != "text" or "<br>" not in child.content:
        return [child]
    mended = []
    for number, line in enumerate(child.content.split("<br>")):
        if number:
            mended.append(Token("hardbreak", "br", 0))
        mended.append(Token("text", "", 0, content=line))
    return mended


def render(text: str, max_chars: int = MAX_CHARS) -> Markup | None:
    """Return the rendered text, or None when it is blank or too long to render."""
    if not text.strip() or len(text) > max_chars:
        return None
    renderer = _renderer()
    tokens = renderer.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + _HEADING_SHIFT)}"
        if token.children:
            token.children = [new for child in token.children for new in _mended(child)]
    html = renderer.renderer.render(tokens, renderer.options, {})
    return Markup(html)  # noqa: S704 - made by the renderer above, which escapes what it is given
