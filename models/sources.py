"""The texts that a design document was made from: its places are looked up in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from models.children import get_child
from models.database import connection, fetch
from models.errors import NotFound
from models.states import ImportType
from models.tables import Code2DesSource, insert_rows


def insert_sources(child_id: str, sources: Iterable[Mapping[str, Any]], *, owner: str) -> int:
    """Insert the texts of one code2des in bulk and return their number.

    Needs the open transaction of the `completed` transition.
    """
    return insert_rows(
        Code2DesSource,
        (
            {
                "code2des_id": child_id,
                "number": number,
                "path": source["path"],
                "content": source["text"],
                "created_by": owner,
                "updated_by": "worker",
            }
            for number, source in enumerate(sources, start=1)
        ),
    )


def list_paths(subject: str, child_id: str) -> list[str]:
    """Return the paths of the kept texts in order; none for a result made before they were kept.

    Raises NotFound.
    """
    with connection():
        get_child(subject, ImportType.CODE2DES, child_id)
        rows = fetch(
            "SELECT path FROM code2des_source WHERE code2des_id = %s ORDER BY number", (child_id,)
        )
    return [row["path"] for row in rows]


def get_source(subject: str, child_id: str, path: str) -> str:
    """Return one text, its lines ended by "\\n". Raises NotFound."""
    with connection():
        get_child(subject, ImportType.CODE2DES, child_id)
        rows = fetch(
            "SELECT content FROM code2des_source WHERE code2des_id = %s AND path = %s",
            (child_id, path),
        )
    if not rows:
        raise NotFound(child_id)
    return str(rows[0]["content"])
