"""Word (.docx): the main document with its notes and comments; headers and footers are left out.

One page, unless it is very long: then it is cut before headings.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobs.parsing.errors import ParseError
from jobs.parsing.page_import.document import Document, Page, Source
from jobs.parsing.page_import.docx_walker import DocxWalker, Section
from jobs.parsing.page_import.language import guess_language
from jobs.parsing.page_import.ooxml import Package, child


def read(source: Source) -> Document:
    """Return the document as pages. Raises ParseError file_corrupt, archive_limits."""
    package = Package(source)
    main = package.target("", "officeDocument") or "word/document.xml"
    root = package.xml(main)
    body = child(root, "body") if root is not None else None
    if body is None:
        raise ParseError("file_corrupt", "The Word file has no document inside.")
    walker = DocxWalker(package, main, source.budget)
    walker.walk(body)
    properties = package.properties()
    first_title = next((entry.title for entry in walker.outline if entry.level == 1), None)
    return Document(
        page_count=len(walker.sections),
        pages=_pages(walker.sections),
        title=properties.get("title") or first_title,
        author=properties.get("creator"),
        language=guess_language(walker.sections[0].flow.text()),
        outline=walker.outline,
    )


def _pages(sections: list[Section]) -> Iterator[Page]:
    for number, section in enumerate(sections, start=1):
        text = section.flow.text()
        yield Page(
            number=number,
            text=text,
            markdown=section.flow.markdown(),
            tables=section.tables,
            warnings=[] if text.strip() else ["no_text: this page has no text."],
        )
