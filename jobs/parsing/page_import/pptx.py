"""PowerPoint (.pptx): a page is a slide, in the order of the show, with its speaker's notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jobs.parsing.budget import Budget
from jobs.parsing.errors import ParseError
from jobs.parsing.page_import.document import MAX_PAGES, Document, Heading, Page, Source
from jobs.parsing.page_import.language import guess_language
from jobs.parsing.page_import.ooxml import Package, attribute, child, children, number
from jobs.parsing.page_import.page_range import PageRange
from jobs.parsing.page_import.pptx_slide import SlideWalker

_EMU_PER_POINT = 12_700


def read(source: Source) -> Document:
    """Return a page for each slide. Raises ParseError file_corrupt, no_pages."""
    package = Package(source)
    main = package.target("", "officeDocument") or "ppt/presentation.xml"
    root = package.xml(main)
    if root is None:
        raise ParseError("file_corrupt", "The file has no presentation inside.")
    parts = _slide_parts(package, main, root)
    if not parts:
        raise ParseError("no_pages", "The presentation has no slides.")
    count = len(source.wanted.among(len(parts)))
    if count > MAX_PAGES:
        raise ParseError("pages_exceeded", f"{count} slides; at most {MAX_PAGES} are read.")
    size = child(root, "sldSz")
    width, height = (_points(attribute(size, name)) for name in ("cx", "cy"))
    pages = list(_pages(package, parts, width, height, source.budget, source.wanted))
    properties = package.properties()
    titles = [Heading(title=title, level=1, page=page.number) for page, title in pages if title]
    return Document(
        page_count=len(parts),
        pages=iter([page for page, _ in pages]),
        title=properties.get("title") or (titles[0].title if titles else None),
        author=properties.get("creator"),
        language=guess_language("\n".join(page.text for page, _ in pages[:20])),
        outline=titles,
    )


def _slide_parts(package: Package, main: str, root: Any) -> list[str]:
    related = package.relationships(main)
    listed = child(root, "sldIdLst")
    found = []
    for entry in () if listed is None else children(listed, "sldId"):
        # the plain `id` attribute is a number of its own; the relationship has a namespace
        names = [value for key, value in entry.attrib.items() if key.endswith("}id")]
        if names and names[0] in related:
            found.append(related[names[0]].target)
    return found


def _points(emu: str | None) -> float | None:
    value = number(emu)
    return round(value / _EMU_PER_POINT, 2) if value > 0 else None


def _pages(
    package: Package,
    parts: list[str],
    width: float | None,
    height: float | None,
    budget: Budget,
    wanted: PageRange,
) -> Iterator[tuple[Page, str]]:
    for index, part in enumerate(parts, start=1):
        if index not in wanted:
            continue
        budget.check()
        warnings = []
        try:
            walker, hidden = _slide(package, part)
        except ParseError as error:
            if error.code != "file_corrupt":
                raise
            warning = "page_failed: this slide is damaged and could not be read."
            yield Page(number=index, text="", markdown="", warnings=[warning]), ""
            continue
        if hidden:
            warnings.append("slide_hidden: this slide is hidden in the show.")
        text = walker.flow.text()
        if not text.strip():
            warnings.append("no_text: this page has no text.")
        page = Page(
            number=index,
            text=text,
            markdown=walker.flow.markdown(),
            tables=walker.tables,
            warnings=warnings,
            width=width,
            height=height,
        )
        yield page, walker.title


def _slide(package: Package, part: str) -> tuple[SlideWalker, bool]:
    root = package.xml(part)
    tree = child(root, "cSld", "spTree") if root is not None else None
    if tree is None:
        raise ParseError("file_corrupt", "A slide is missing.")
    walker = SlideWalker(package, part)
    walker.walk(tree)
    notes_part = package.target(part, "notesSlide")
    notes = package.xml(notes_part) if notes_part else None
    notes_tree = child(notes, "cSld", "spTree") if notes is not None else None
    if notes_tree is not None:
        walker.notes(notes_tree)
    return walker, attribute(root, "show") in ("0", "false")
