"""States, allowed arrows, and the one SQL expression of the derived status.

Stored is only the child's status. What people and programs see is derived, here and nowhere else:

    item   cancelled_at set → cancelled; error_message set or child failed → failed;
           child completed → completed; child processing → processing; else queued
    batch  any item queued or processing → "0"; else any failed → "2";
           else any cancelled → "3"; else "1"
"""

from __future__ import annotations

from enum import StrEnum


class ImportType(StrEnum):
    """What an upload becomes; also the name of its child table."""

    PAGE_IMPORT = "page_import"
    CODE2DES = "code2des"


class ChildStatus(StrEnum):
    """The stored lifecycle of a child row."""

    QUEUED = "queued"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"


class ItemState(StrEnum):
    """The derived state of one item, in the words of the API."""

    QUEUED = "queued"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class BatchStatus(StrEnum):
    """The derived status of a batch, in the codes of the source table."""

    PROCESSING = "0"
    COMPLETED = "1"
    FAILED = "2"
    CANCELLED = "3"


#: Item states that never change, except by a person's redrive.
TERMINAL = frozenset({ItemState.COMPLETED, ItemState.FAILED, ItemState.CANCELLED})

#: from → to of every arrow that transitions.py may write, with the name of its event.
ARROWS = frozenset(
    {
        (ChildStatus.QUEUED, ChildStatus.PROCESSING, "started"),
        (ChildStatus.PROCESSING, ChildStatus.PROCESSING, "restarted"),
        (ChildStatus.QUEUED, ChildStatus.COMPLETED, "completed"),
        (ChildStatus.PROCESSING, ChildStatus.COMPLETED, "completed"),
        (ChildStatus.QUEUED, ChildStatus.FAILED, "failed"),
        (ChildStatus.PROCESSING, ChildStatus.FAILED, "failed"),
        (ChildStatus.QUEUED, ChildStatus.QUEUED, "new_run"),
        (ChildStatus.PROCESSING, ChildStatus.QUEUED, "new_run"),
        (ChildStatus.QUEUED, ChildStatus.QUEUED, "resumed"),
        (ChildStatus.PROCESSING, ChildStatus.QUEUED, "resumed"),
        (ChildStatus.FAILED, ChildStatus.QUEUED, "retried"),
        (ChildStatus.FAILED, ChildStatus.QUEUED, "redriven"),
    }
)


def item_state(item: str = "i", child: str = "c") -> str:
    """Return the SQL expression of an item's derived state, over two table aliases."""
    return f"""CASE
        WHEN {item}.cancelled_at IS NOT NULL THEN 'cancelled'
        WHEN {item}.error_message IS NOT NULL OR {child}.status = 'failed' THEN 'failed'
        WHEN {child}.status = 'completed' THEN 'completed'
        WHEN {child}.status = 'processing' THEN 'processing'
        ELSE 'queued' END"""


_COUNTS = (
    ("queued", ItemState.QUEUED),
    ("running", ItemState.PROCESSING),
    ("completed", ItemState.COMPLETED),
    ("failed", ItemState.FAILED),
    ("cancelled", ItemState.CANCELLED),
)

#: An item without these is what its child is; the predicate of batch_item_differing_idx.
ODD = "(i.cancelled_at IS NOT NULL OR i.error_message IS NOT NULL)"


def _count(column: str, word: str) -> str:
    return f"count(*) FILTER (WHERE {column} = '{word}')"


def _verdict(counts: str) -> str:
    """Add the batch's status and `partial` to a SELECT of counts."""
    return f"""
        SELECT *, status IN ('2', '3') AND completed > 0 AS partial FROM (
            SELECT *, CASE WHEN queued + running > 0 THEN '0' WHEN failed > 0 THEN '2'
                           WHEN cancelled > 0 THEN '3' ELSE '1' END AS status
            FROM ({counts}) AS counts
        ) AS summary"""


def batch_summary(items: str) -> str:
    """Return the SQL that sums item states up: six counts, the batch's status, `partial`.

    `items` is a SELECT with the columns `batch_id` and `state`; the answer has a row a batch.
    """
    counted = ", ".join(f"{_count('state', word)} AS {name}" for name, word in _COUNTS)
    return _verdict(
        f"""SELECT batch_id, count(*) AS total, {counted}
            FROM ({items}) AS items GROUP BY batch_id"""
    )


def batch_summaries(children: str) -> str:
    """Return the SQL of `batch_summary` for whole batches; its one parameter is their ids.

    `children` is the children's table. Children are counted from their index alone; only the odd
    items, which say something else than their child, are looked at one by one. Nothing is sorted,
    so a batch of which the planner knows nothing yet is as fast as any.
    """
    plain = ", ".join(f"{_count('c.status', word)} AS {name}" for name, word in _COUNTS)
    odd = ", ".join(
        f"{_count('state', word)} - {_count('status', word)} AS {name}" for name, word in _COUNTS
    )
    both = ", ".join(f"plain.{name} + odd.{name} AS {name}" for name, _ in _COUNTS)
    return _verdict(
        f"""SELECT b.batch_id, plain.total, {both}
            FROM unnest(%s::varchar[]) AS b (batch_id)
            CROSS JOIN LATERAL (
                SELECT count(*) AS total, {plain}
                FROM {children} c WHERE c.batch_id = b.batch_id) AS plain
            CROSS JOIN LATERAL (
                SELECT {odd} FROM (
                    SELECT c.status, ({item_state()}) AS state
                    FROM batch_item i JOIN {children} c ON c.id = i.job_id
                    WHERE i.batch_id = b.batch_id AND {ODD}) AS items) AS odd"""
    )
