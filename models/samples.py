"""What is measured in the database every few seconds: numbers and ages, never whole tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from models import status
from models.database import connection, fetch
from models.states import ImportType

#: Live imports of a type that one sample looks at; a deeper backlog is counted as this many.
MOST_COUNTED = 100_000
#: What was completed just now is checked for its result; this far back, this many at most.
_CHECKED_SECONDS = 120
_MOST_CHECKED = 5_000

#: process_status rows that tell of letters which the drain had to leave in a dead-letter queue.
DEAD_KIND = "dead_letters"
#: A letter left comes back to the drain sooner than this; one not seen for longer is gone.
DEAD_SEEN_SECONDS = 600.0


@dataclass(frozen=True, kw_only=True)
class LiveSample:
    """The imports of one type that have not ended. Ages are in seconds, 0 when there are none."""

    queued: int
    processing: int
    #: since the longest waiting of the sent ones was sent
    oldest_queued_seconds: float
    #: sent longer ago than the limit and not started; lost if the queue is empty
    unstarted: int
    #: started and without a report for longer than the limit
    silent: int


def live(import_type: ImportType, *, stuck_after_seconds: float) -> LiveSample:
    """Look at the live imports of one type."""
    with connection():
        row = fetch(
            f"""SELECT count(*) FILTER (WHERE status = 'queued') AS queued,
                    count(*) FILTER (WHERE status = 'processing') AS processing,
                    coalesce(max(waited) FILTER (WHERE status = 'queued'), 0)::float
                        AS oldest_queued_seconds,
                    count(*) FILTER (WHERE status = 'queued' AND waited > %(limit)s) AS unstarted,
                    count(*) FILTER (WHERE status = 'processing' AND silent > %(limit)s) AS silent
                FROM (
                    SELECT c.status,
                        extract(epoch FROM clock_timestamp() - i.dispatched_at) AS waited,
                        extract(epoch FROM clock_timestamp() - c.last_report_at) AS silent
                    FROM {import_type} c JOIN batch_item i ON i.job_id = c.id
                    WHERE c.status IN ('queued', 'processing') AND i.cancelled_at IS NULL
                      AND i.error_message IS NULL AND i.deleted_at IS NULL
                    LIMIT {MOST_COUNTED}
                ) AS live""",
            {"limit": stuck_after_seconds},
        )[0]
    return LiveSample(**row)


_RESULT = {
    ImportType.PAGE_IMPORT: """c.page_count = 0 OR EXISTS
        (SELECT 1 FROM page p WHERE p.page_import_id = c.id)""",
    ImportType.CODE2DES: "EXISTS (SELECT 1 FROM code2des_design d WHERE d.code2des_id = c.id)",
}


def completed_without_result(import_type: ImportType) -> int:
    """Count imports completed just now whose result rows are not there: always 0."""
    with connection():
        return int(
            fetch(
                f"""SELECT count(*) AS missing FROM (
                        SELECT * FROM {import_type}
                        WHERE last_report_at > statement_timestamp() - %s * interval '1 second'
                        ORDER BY last_report_at DESC LIMIT {_MOST_CHECKED}
                    ) AS c
                    WHERE c.status = 'completed' AND NOT ({_RESULT[import_type]})""",
                (_CHECKED_SECONDS,),
            )[0]["missing"]
        )


def note_dead_letters(import_type: ImportType, oldest_sent_at: float) -> None:
    """Remember when the oldest letter that was left in a dead-letter queue was first sent."""
    name, now = f"dead:{import_type}", status.database_epoch()
    known = status.get(name)
    data: dict[str, Any] = {"oldest_at": oldest_sent_at, "seen_at": now}
    fresh = known is not None and now - known.data["seen_at"] < DEAD_SEEN_SECONDS
    if known is not None and fresh and known.data["oldest_at"] < oldest_sent_at:
        data = known.data
    status.put(name, DEAD_KIND, data)


def dead_letter_ages() -> dict[str, float]:
    """Return, by import type, the seconds since the oldest left dead letter was first sent."""
    now = status.database_epoch()
    return {
        row.name.partition(":")[2]: max(0.0, now - row.data["oldest_at"])
        for row in status.list_kind(DEAD_KIND)
        if now - row.data["seen_at"] < DEAD_SEEN_SECONDS
    }
