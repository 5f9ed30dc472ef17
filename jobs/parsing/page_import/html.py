"""HTML: decoded by us, parsed by libxml2, written as Markdown by our walker.

libxml2 stops at 256 open elements and drops all that follows; then the text between the tags is
used instead, without structure. A DTD and its entities have no effect.
"""

from __future__ import annotations

import html
import re
from typing import Any

import lxml.etree
import lxml.html

from jobs.parsing.cleaning import clean
from jobs.parsing.encodings import Decoded, decode
from jobs.parsing.page_import.document import Document, Page, Source
from jobs.parsing.page_import.html_walker import Walker
from jobs.parsing.page_import.language import guess_language
from jobs.parsing.page_import.markup import escape_markdown
from jobs.parsing.page_import.text import text_warnings

_META_BYTES = 4096
_CHARSET = re.compile(rb"""<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*["']?([\w.:-]+)""", re.I)
_TAG_START = re.compile("<[a-zA-Z]")
_TAG_MARK = re.compile(r"""["'<>]|\s+""")
_MAX_ATTRIBUTES = 5_000
_AFTER_SKIPPED = {"script": "</script", "style": "</style", "!--": "-->"}


def read(source: Source) -> Document:
    """Return the document as one page."""
    data = source.read()
    named = _CHARSET.search(data[:_META_BYTES])
    declared = named.group(1).decode("ascii") if named else None
    decoded = decode(
        data,
        forced=source.option("encoding"),
        declared=declared,
        language=source.option("language"),
    )
    markup = clean(decoded.text)
    if has_huge_tag(markup):
        return _without_structure(markup, decoded, True)
    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    root = lxml.etree.fromstring(markup.encode("utf-8"), parser) if markup.strip() else None
    too_complex = any("RESOURCE_LIMIT" in entry.type_name for entry in parser.error_log)
    if root is None or too_complex:
        return _without_structure(markup, decoded, too_complex)
    walker = Walker(source.budget)
    walker.walk(root)
    warnings = [] if walker.text.strip() else ["no_text: this page has no text."]
    page = Page(
        number=1,
        text=walker.text,
        markdown=walker.markdown,
        tables=walker.tables,
        warnings=[*walker.warnings, *warnings],
    )
    return Document(
        page_count=1,
        pages=iter([page]),
        title=_title(root) or next((entry.title for entry in walker.outline), None),
        author=_meta(root, "author"),
        encoding=decoded.encoding,
        language=_language(root) or guess_language(walker.text, decoded.encoding),
        outline=walker.outline,
        warnings=text_warnings(decoded),
    )


def _without_structure(markup: str, decoded: Decoded, too_complex: bool) -> Document:
    text = strip_tags(markup)
    reason = "html_too_complex: too many nested tags or attributes; the text has no structure."
    page = Page(
        number=1,
        text=text,
        markdown=escape_markdown(text),
        warnings=[reason] if too_complex else ["no_text: this page has no text."],
    )
    return Document(
        page_count=1,
        pages=iter([page]),
        encoding=decoded.encoding,
        language=guess_language(text, decoded.encoding),
        warnings=text_warnings(decoded),
    )


def _title(root: Any) -> str | None:
    return _one_line(root.findtext(".//title"))


def _meta(root: Any, name: str) -> str | None:
    for meta in root.iter("meta"):
        if (meta.get("name") or "").lower() == name:
            return _one_line(meta.get("content"))
    return None


def _language(root: Any) -> str | None:
    value = (root.get("lang") or "").strip().lower()
    return value if re.fullmatch(r"[a-z]{2,3}(-[a-z0-9]{2,8})*", value) else None


def _one_line(text: str | None) -> str | None:
    return " ".join((text or "").split())[:1000] or None


def has_huge_tag(markup: str) -> bool:
    """Say whether a tag has thousands of attributes: libxml2 takes quadratic time for them."""
    for start in _TAG_START.finditer(markup):
        position, count = start.end(), 0
        while mark := _TAG_MARK.search(markup, position):
            if mark.group() in ("<", ">"):
                break
            count += 1
            if count > _MAX_ATTRIBUTES:
                return True
            position = mark.end()
            if mark.group() in ("'", '"'):
                position = markup.find(mark.group(), position) + 1
                if not position:
                    break
    return False


def strip_tags(markup: str) -> str:
    """Return the text between tags, a line each; linear in the size of any input."""
    pieces: list[str] = []
    lowered = markup.lower()
    position = 0
    while position < len(markup):
        opened = markup.find("<", position)
        end = len(markup) if opened < 0 else opened
        pieces.append(markup[position:end])
        if opened < 0:
            break
        position = _after_tag(lowered, opened)
    lines = (" ".join(html.unescape(piece).split()) for piece in pieces)
    return clean("\n".join(line for line in lines if line))


def _after_tag(lowered: str, opened: int) -> int:
    for name, closing in _AFTER_SKIPPED.items():
        if lowered.startswith(name, opened + 1):
            closed = lowered.find(closing, opened + 1)
            if closed < 0:
                return len(lowered)
            opened = closed
            break
    closed = lowered.find(">", opened)
    return len(lowered) if closed < 0 else closed + 1
