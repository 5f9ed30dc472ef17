"""Markdown from files → HTML that is safe to show: no raw HTML, no images, links checked.

markdown-it escapes HTML when `html` is off and refuses javascript:, vbscript:, file: and data:
links; the Content-Security-Policy is the second wall.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from flask_babel import gettext
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from web.drawing import draw
from web.footnotes import environment, footnotes

#: Longer texts are shown as they are: hostile ones take about 25 ms a thousand characters.
MAX_CHARS = 30_000
#: The page's own headings stand above the document's.
_HEADING_SHIFT = 2
#: A table of contents goes this deep.
_CONTENTS_DEPTH = 2


#: `path` or `path:line` as a design document writes it.
_PLACE = re.compile(r"(.+?)(?::(\d{1,7}))?")

#: Where a place in the source is shown; None for what is no file of this design.
Locate = Callable[[str, int | None], str | None]


@dataclass(frozen=True)
class Heading:
    """One line of a table of contents; `anchor` is the heading's id on the page."""

    depth: int
    text: str
    anchor: str


@cache
def _renderer() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20})
    return parser.enable(["table", "strikethrough"]).disable("image").use(footnotes)


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


def render(text: str, max_chars: int = MAX_CHARS, *, anchor: str = "text") -> Markup | None:
    """Return the rendered text, or None when it is blank or too long to render.

    `anchor` begins every id in it, and is another one for each text of a page.
    """
    if not text.strip() or len(text) > max_chars:
        return None
    env = environment(anchor)
    return _html(_renderer().parse(text, env), env)


def render_with_contents(
    text: str, max_chars: int, *, locate: Locate | None = None, anchor: str = "section"
) -> tuple[Markup | None, list[Heading]]:
    """Return the rendered text and its table of contents, whose anchors the headings carry.

    Places in the source that `locate` knows become links.
    """
    if not text.strip() or len(text) > max_chars:
        return None, []
    env = environment(anchor)
    tokens = _renderer().parse(text, env)
    contents: list[Heading] = []
    for place, token in enumerate(tokens):
        if locate is not None and token.children:
            token.children = [new for each in token.children for new in _located(each, locate)]
        if token.type != "heading_open":
            continue
        depth = int(token.tag[1])
        if depth > _CONTENTS_DEPTH:
            continue
        heading = Heading(depth, _plain(tokens[place + 1]), f"{anchor}-{len(contents) + 1}")
        token.attrSet("id", heading.anchor)
        contents.append(heading)
    return _html([_drawn(token) for token in tokens], env), contents


def _located(child: Token, locate: Locate) -> list[Token]:
    """Make a link of a place in the source; our own address, so it is not marked as foreign."""
    match = _PLACE.fullmatch(child.content) if child.type == "code_inline" else None
    if match is None:
        return [child]
    address = locate(match[1], int(match[2]) if match[2] else None)
    if address is None:
        return [child]
    return [
        Token("html_inline", "", 0, content=str(Markup('<a href="{}">').format(address))),
        child,
        Token("html_inline", "", 0, content="</a>"),
    ]


def _drawn(token: Token) -> Token:
    """Put the drawing of a Mermaid text before the text itself, which folds away."""
    if token.type != "fence" or token.info.strip() != "mermaid":
        return token
    drawing = draw(token.content, gettext("Diagram; its text follows"))
    if drawing is None:
        return token
    folded = Markup(
        '<div class="drawing" tabindex="0">{}</div><details><summary>Mermaid</summary>'
        '<pre tabindex="0"><code>{}</code></pre></details>'
    )
    return Token("html_block", "", 0, content=str(folded.format(drawing, token.content)))


def _plain(inline: Token) -> str:
    kinds = ("text", "code_inline")
    return "".join(child.content for child in inline.children or () if child.type in kinds)


def _html(tokens: list[Token], env: dict[str, Any]) -> Markup:
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + _HEADING_SHIFT)}"
        if token.type == "fence":
            # A keyboard must be able to scroll it.
            token.attrSet("tabindex", "0")
        if token.children:
            token.children = [new for child in token.children for new in _mended(child)]
    html = _renderer().renderer.render(tokens, _renderer().options, env)
    return Markup(html)  # noqa: S704 - made by the renderer above, which escapes what it is given
