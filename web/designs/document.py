"""A design document as one HTML file that needs nothing else: looks and diagrams are inside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from flask import stream_template
from markupsafe import Markup

from web.markdown import Locate, render_with_contents

#: A section that is longer stays Markdown: rendering takes about a second a megabyte.
_MAX_SECTION_CHARS = 400_000
_SECTION = re.compile(r"^(?=## )", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """A second-level section: its anchor, its HTML, or its text where that is too long."""

    anchor: str
    html: Markup | None
    text: str


def stream_document(
    markdown: str, *, language: str, title: str, locate: Locate | None = None
) -> Iterator[str]:
    """Yield the file, one section after the other, so that no long one fills the memory."""
    parts = _SECTION.split(markdown)
    headings = [
        (_anchor(number), part.partition("\n")[0].removeprefix("## "))
        for number, part in enumerate(parts)
        if part.startswith("## ")
    ]
    return stream_template(
        "design_document.html",
        language=language,
        title=title,
        headings=headings,
        sections=_sections(parts, locate),
    )


def _anchor(number: int) -> str:
    return f"part-{number}"


def _sections(parts: list[str], locate: Locate | None) -> Iterator[Section]:
    for number, part in enumerate(parts):
        anchor = _anchor(number)
        html, _ = render_with_contents(
            part, _MAX_SECTION_CHARS, locate=locate, anchor=f"{anchor}-heading"
        )
        yield Section(anchor, html, part)
