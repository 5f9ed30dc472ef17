"""The history of each child: every transition, written in the transition's own transaction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from models.database import connection, fetch
from models.errors import NotFound
from models.ids import uuid7
from models.tables import JobEvent, insert_rows


@dataclass(frozen=True, kw_only=True)
class NewEvent:
    """One transition about to be recorded. `owner` is the subject that the child belongs to."""

    batch_id: str
    child_id: str
    run: int
    component: str
    event: str
    from_status: str | None
    to_status: str
    owner: str
    actor: str
    detail: str | None = None


@dataclass(frozen=True, kw_only=True)
class EventView:
    """One recorded transition, oldest first in a list. `actor` is a subject or a component."""

    at: datetime
    component: str
    actor: str
    event: str
    from_status: str | None
    to_status: str
    detail: str | None
    run: int


def record(events: Iterable[NewEvent]) -> None:
    """Insert the events. Needs the open transaction of the transition they describe."""
    insert_rows(
        JobEvent,
        (
            {
                "id": uuid7(),
                "batch_id": event.batch_id,
                "child_id": event.child_id,
                "run": event.run,
                "component": event.component,
                "event": event.event,
                "from_status": event.from_status,
                "to_status": event.to_status,
                "detail": event.detail,
                "created_by": event.owner,
                "updated_by": event.actor,
            }
            for event in events
        ),
    )


def list_events(subject: str, child_id: str) -> list[EventView]:
    """Return the history of one of the subject's children. Raises NotFound for a stranger."""
    with connection():
        rows = fetch(
            """SELECT e.created_at AS at, e.component, e.updated_by AS actor, e.event,
                      e.from_status, e.to_status, e.detail, e.run
               FROM job_event e JOIN batch b ON b.id = e.batch_id
               WHERE e.child_id = %s AND b.created_by = %s AND b.deleted_at IS NULL
               ORDER BY e.created_at, e.id""",
            (child_id, subject),
        )
    if not rows:
        raise NotFound(child_id)
    return [EventView(**row) for row in rows]
