"""What an import became: pages, or a design document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from models.children import get_child
from models.cursors import decode_cursor, encode_cursor
from models.database import connection, fetch
from models.errors import NotFound
from models.states import ImportType
from models.tables import Code2DesDesign, Page, insert_rows


@dataclass(frozen=True, kw_only=True)
class ImageView:
    """The picture of a page, named by the digest of its bytes; width and height in pixels."""

    sha256: str
    media_type: str
    width: int
    height: int
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class PageView:
    """One page; width and height are in the format's own unit (PDF points) or None.

    `source` is "text" for the file's own words and "ocr" for words read from a picture, whose
    `confidence` is between 0 and 1.
    """

    import_id: str
    number: int
    text: str
    markdown: str
    tables: list[list[list[str]]]
    warnings: list[str]
    width: float | None
    height: float | None
    image: ImageView | None
    source: str
    confidence: float | None


@dataclass(frozen=True, kw_only=True)
class DesignView:
    """A design document: the code2des/1 model and its Markdown in both languages."""

    design: dict[str, Any]
    markdown_ja: str
    markdown_en: str


def insert_pages(child_id: str, pages: Iterable[Mapping[str, Any]], *, owner: str) -> int:
    """Insert the pages of one import in bulk and return their number.

    Needs the open transaction of the `completed` transition.
    """
    return insert_rows(
        Page,
        (
            {
                "page_import_id": child_id,
                "number": page["number"],
                "text": page["text"],
                "markdown": page["markdown"],
                "tables": page.get("tables", []),
                "warnings": page.get("warnings", []),
                "width": page.get("width"),
                "height": page.get("height"),
                "image": page.get("image"),
                "source": page.get("source", "text"),
                "confidence": page.get("confidence"),
                "created_by": owner,
                "updated_by": "worker",
            }
            for page in pages
        ),
    )


def insert_design(
    child_id: str, design: Mapping[str, Any], markdown: Mapping[str, str], *, owner: str
) -> None:
    """Insert the design document of one code2des. Needs the transition's open transaction."""
    insert_rows(
        Code2DesDesign,
        [
            {
                "code2des_id": child_id,
                "design": design,
                "markdown_ja": markdown["ja"],
                "markdown_en": markdown["en"],
                "created_by": owner,
                "updated_by": "worker",
            }
        ],
    )


def list_pages(
    subject: str, child_id: str, *, cursor: str | None = None, limit: int = 50
) -> tuple[list[PageView], str | None]:
    """Return some pages in order, and the next cursor or None.

    An import without pages yet has an empty list. Raises NotFound, Conflict("cursor_invalid").
    """
    after = int(decode_cursor(cursor, (int,))[0]) if cursor is not None else -1
    with connection():
        get_child(subject, ImportType.PAGE_IMPORT, child_id)
        rows = fetch(
            """SELECT page_import_id AS import_id, number, text, markdown, tables, warnings, width,
                      height, image, source, confidence FROM page
               WHERE page_import_id = %s AND number > %s ORDER BY number LIMIT %s""",
            (child_id, min(after, 2**31 - 1), limit + 1),
        )
    pages = [PageView(**{**row, "image": _image(row["image"])}) for row in rows[:limit]]
    return pages, encode_cursor(pages[-1].number) if len(rows) > limit else None


def page_numbers(subject: str, child_id: str) -> list[int]:
    """Return the numbers of an import's pages, in order; a range leaves gaps. Raises NotFound."""
    with connection():
        get_child(subject, ImportType.PAGE_IMPORT, child_id)
        rows = fetch(
            "SELECT number FROM page WHERE page_import_id = %s ORDER BY number", (child_id,)
        )
    return [row["number"] for row in rows]


def get_image(subject: str, child_id: str, number: int) -> ImageView:
    """Return what is known of a page's picture. Raises NotFound for strangers and without one."""
    with connection():
        get_child(subject, ImportType.PAGE_IMPORT, child_id)
        rows = fetch(
            "SELECT image FROM page WHERE page_import_id = %s AND number = %s",
            (child_id, min(number, 2**31 - 1)),
        )
    found = _image(rows[0]["image"]) if rows else None
    if found is None:
        raise NotFound(child_id)
    return found


def _image(value: dict[str, Any] | None) -> ImageView | None:
    return None if value is None else ImageView(**value)


def get_design(subject: str, child_id: str) -> DesignView:
    """Return the design document. Raises NotFound for strangers and while there is none."""
    with connection():
        get_child(subject, ImportType.CODE2DES, child_id)
        rows = fetch(
            "SELECT design, markdown_ja, markdown_en FROM code2des_design WHERE code2des_id = %s",
            (child_id,),
        )
    if not rows:
        raise NotFound(child_id)
    return DesignView(**rows[0])
