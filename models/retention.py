"""What may be forgotten: sources and results past their keep, and objects without a row.

A mark is committed before anything is deleted; deleting is then repeatable, and what a crash left
half done is found again by the orphan collection.
"""

from __future__ import annotations

from collections.abc import Sequence

from models.database import connection, fetch, transaction
from models.states import ImportType

#: When an import ended: completed_at, or the item's cancelled_at; a deleted one ended then.
_ENDED = "coalesce(c.completed_at, i.cancelled_at, i.deleted_at)"


def expire_sources(import_type: ImportType, *, keep_days: float, limit: int) -> list[str]:
    """Mark the sources of imports that ended `keep_days` ago; returns the children marked."""
    return _expire(import_type, "source_expired_at", keep_days, limit, "")


def expire_results(import_type: ImportType, *, keep_days: float, limit: int) -> list[str]:
    """Mark the results of imports completed `keep_days` ago and delete their rows, in one step."""
    return _expire(import_type, "result_expired_at", keep_days, limit, "AND c.status = 'completed'")


def _expire(
    import_type: ImportType, mark: str, keep_days: float, limit: int, condition: str
) -> list[str]:
    with transaction():
        rows = fetch(
            f"""UPDATE {import_type} SET {mark} = clock_timestamp(),
                    updated_at = clock_timestamp(), updated_by = 'scheduler'
                WHERE id IN (
                    SELECT c.id FROM {import_type} c JOIN batch_item i ON i.job_id = c.id
                    WHERE c.{mark} IS NULL {condition}
                      AND c.created_at < clock_timestamp() - %(days)s * interval '1 day'
                      AND {_ENDED} < clock_timestamp() - %(days)s * interval '1 day'
                    ORDER BY c.created_at LIMIT %(limit)s FOR UPDATE OF c SKIP LOCKED)
                RETURNING id""",
            {"days": keep_days, "limit": limit},
        )
        ids = [row["id"] for row in rows]
        if mark == "result_expired_at":
            for table, column in _RESULTS[import_type]:
                fetch(f"DELETE FROM {table} WHERE {column} = ANY(%s) RETURNING 1", (ids,))
        return ids


_RESULTS = {
    ImportType.PAGE_IMPORT: (("page", "page_import_id"),),
    ImportType.CODE2DES: (("code2des_design", "code2des_id"), ("code2des_source", "code2des_id")),
}


def kept_objects(child_ids: Sequence[str]) -> dict[str, tuple[bool, bool]]:
    """Return, for each child that has a row, whether its source and its results are still wanted.

    What a failed or cancelled import has left of a result goes once its source is gone, when
    nothing can begin it anew. A child that is missing from the answer has no row at all.
    """
    kept: dict[str, tuple[bool, bool]] = {}
    with connection():
        for import_type in ImportType:
            rows = fetch(
                f"""SELECT id, source_expired_at IS NULL AS source,
                           result_expired_at IS NULL
                               AND (status = 'completed' OR source_expired_at IS NULL) AS result
                    FROM {import_type} WHERE id = ANY(%s)""",
                (list(child_ids),),
            )
            kept |= {row["id"]: (row["source"], row["result"]) for row in rows}
    return kept
