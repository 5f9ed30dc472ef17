"""Read the tags of HTML and of templates that write HTML, without building a tree.

Templates break HTML's rules on purpose: tags stand in conditions, attributes hold expressions. So
tags are met one after another, each read within a bound, and the time is a multiple of the size.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterator

from jobs.parsing.code2des.facts import Element
from jobs.parsing.code2des.nodes import shorten

HEADINGS = frozenset(("title", "h1", "h2"))
LINKS = frozenset(("a", "area", "link", "navlink", "router-link", "nuxt-link", "iframe", "frame"))
FIELDS = frozenset(("input", "select", "textarea", "button", "checkbox", "radio", "field"))
MAX_TAGS = 20_000
_MAX_TAG_CHARACTERS = 4_000
_MAX_WORDS = 400
_OPEN = re.compile(r"<(/?)([A-Za-z][\w:.-]*)")
_ATTRIBUTE = re.compile(
    r"""\s*+(?:([:@#\w][\w:.@-]*+)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|\{\{.{0,200}?\}\}|[^\s"'>]++))?"""
    r"""|(/?>)|<%.{0,200}?%>|\{%.{0,200}?%\}|\{\{.{0,200}?\}\}|<\?.{0,200}?\?>|.)""",
    re.DOTALL,
)
_FIELD = re.compile(r"<(?:select|input|textarea|button)\b", re.IGNORECASE)
#: words in a call that translates them
_SAID = re.compile(
    r"""(?:\{[{%]|<%=)-?\s*+(?:_|__|gettext|trans|translate|t)\s*+\(?\s*+["']([^"'{}<>]*)["']"""
    r"""[^{}<>%]*+(?:[%}]\}|%>)"""
)
_HOLE = re.compile(r"<%.*?%>|\{[{%].*?[}%]\}|<\?.*?\?>|<[^<>]*>", re.DOTALL)
_UNREAD = (("<!--", "-->"), ("{#", "#}"), ("<%--", "--%>"), ("{{--", "--}}"))
_SCRIPTS = (("<script", "</script"), ("<style", "</style"))
_PREFIXES = ("th:", "v-bind:", "data-th-", ":")
_LIBRARIES = frozenset(("form", "s", "html", "h", "f", "p"))
_WORDED = frozenset(
    ("title", "h1", "h2", "a", "label", "button", "option", "legend", "router-link", "nuxt-link")
)


def blank(text: str) -> str:
    """Return a template without comments, scripts and styles, every line where it was."""
    for opener, closer in _UNREAD:
        text = _without(text, text, opener, closer, 0)
    for opener, closer in _SCRIPTS:
        text = _without(text, text.lower(), opener, closer, 1)
    return text


def _without(text: str, searched: str, opener: str, closer: str, kept: int) -> str:
    """Cut what stands between two marks; `kept` keeps the marks and the tag that the first opens.

    Linear: what is never closed is looked for once.
    """
    if len(searched) != len(text):
        return text
    parts = []
    position = 0
    while (start := searched.find(opener, position)) >= 0:
        inside = searched.find(">", start) + 1 if kept else start
        end = searched.find(closer, start + len(opener))
        if end < 0 or not inside <= end + len(closer):
            break
        end += 0 if kept else len(closer)
        parts += [text[position:inside], "\n" * text.count("\n", inside, end)]
        position = end
        if kept:
            position = searched.find(">", end) + 1 or len(text)
            parts.append(text[end:position])
    return "".join([*parts, text[position:]])


class Lines:
    """Tells the line of a place in a text, counted from 1."""

    def __init__(self, text: str) -> None:
        self._ends = [match.start() for match in re.finditer("\n", text)]

    def at(self, position: int) -> int:
        """Return the line of a position."""
        return bisect_right(self._ends, position) + 1


def read_tags(text: str, wanted: frozenset[str]) -> Iterator[tuple[int, Element]]:
    """Yield place and tag of the wanted tags in order, `/form` and `/label` for their ends."""
    lines = Lines(text)
    count = spent = 0
    for match in _OPEN.finditer(text):
        tag = _plain(match.group(2))
        if tag not in wanted:
            continue
        count += 1
        if count > MAX_TAGS or spent > len(text) + _MAX_TAG_CHARACTERS:
            return
        line = lines.at(match.start())
        if match.group(1):
            if tag in ("form", "label", "select"):
                yield match.start(), Element(tag=f"/{tag}", attributes={}, line=line)
            continue
        attributes, end = _attributes(text, match.end())
        spent += end - match.end()
        words = _words(text, end, match.group(2)) if tag in _WORDED else ""
        element = Element(tag=tag, attributes=attributes, line=line, text=words)
        yield match.start(), element


def _plain(tag: str) -> str:
    """Return a tag in small letters, without the prefix of a tag library."""
    tag = tag.lower()
    library, _, rest = tag.partition(":")
    return rest if rest and library in _LIBRARIES else tag


def _attributes(text: str, start: int) -> tuple[dict[str, str], int]:
    found: dict[str, str] = {}
    limit = min(len(text), start + _MAX_TAG_CHARACTERS)
    position = start
    while position < limit:
        match = _ATTRIBUTE.match(text, position, limit)
        if match is None or match.end() == position:
            break
        position = match.end()
        if match.group(3):
            return found, position
        if match.group(1):
            name = match.group(1).lower()
            for prefix in _PREFIXES:
                name = name.removeprefix(prefix)
            value = (match.group(2) or "").strip("\"'")
            found.setdefault(name, html.unescape(value))
    return found, position


def _words(text: str, start: int, tag: str) -> str:
    """Return the words between a start tag and its end, without tags and holes in them."""
    part = text[start : start + _MAX_WORDS]
    end = part.lower().find(f"</{tag.lower()}")
    if tag.lower() == "label" and (field := _FIELD.search(part, 0, max(end, 0))):
        end = field.start()
    return words_of(part[: end if end >= 0 else 0])


def words_of(text: str) -> str:
    """Return the words of a piece of template on one line."""
    return shorten(html.unescape(_HOLE.sub(" ", _SAID.sub(r" \1 ", text))))
