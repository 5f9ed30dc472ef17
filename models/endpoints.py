"""Endpoints: where a subject wants to be told what happened, and what of it.

enabled ──owner──▶ disabled ──owner──▶ enabled       410 Gone and days of failures disable too;
                                                     what was pending then has failed
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from models.cursors import decode_cursor, encode_cursor
from models.database import connection, execute, fetch, transaction
from models.errors import Conflict, NotFound
from models.ids import uuid7

#: Endpoints of one subject.
MAX_ENDPOINTS = 20
#: How long the old secret signs beside a new one.
OVERLAP_HOURS = 24
_SECRET_BYTES = 32


class EventType(StrEnum):
    """What an endpoint can be told of."""

    IMPORT_COMPLETED = "import.completed"
    IMPORT_FAILED = "import.failed"
    IMPORT_CANCELLED = "import.cancelled"
    BATCH_COMPLETED = "batch.completed"
    ENDPOINT_DISABLED = "endpoint.disabled"


#: Goes to the endpoint under test only, whatever it has asked for.
TEST_EVENT = "endpoint.test"


@dataclass(frozen=True, kw_only=True)
class EndpointView:
    """One endpoint as its subject may see it: everything but its secrets."""

    id: str
    url: str
    event_types: Sequence[str]
    description: str | None
    language: str
    enabled: bool
    disabled_at: datetime | None
    disabled_reason: str | None
    failing_since: datetime | None
    previous_secret_until: datetime | None
    created_at: datetime
    updated_at: datetime


#: The columns of EndpointView.
ENDPOINT_COLUMNS = """id, url, event_types, description, language, enabled, disabled_at,
    disabled_reason, failing_since, previous_until AS previous_secret_until, created_at, updated_at
"""


def new_secret() -> str:
    """Return a fresh secret in the form of Standard Webhooks."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode("ascii")


def create_endpoint(
    subject: str,
    *,
    url: str,
    event_types: Sequence[str],
    description: str | None,
    language: str,
    enabled: bool = True,
) -> tuple[EndpointView, str]:
    """Register an endpoint; returns it with its secret, which is never shown again.

    Opens its own transaction. Raises Conflict("endpoints_exceeded").
    """
    endpoint_id, secret = uuid7(), new_secret()
    with transaction():
        # Two requests at once must not both be the last one allowed.
        execute("SELECT pg_advisory_xact_lock(hashtextextended('endpoint:' || %s, 0))", (subject,))
        kept = fetch(
            "SELECT count(*) AS n FROM endpoint WHERE created_by = %s AND deleted_at IS NULL",
            (subject,),
        )
        if kept[0]["n"] >= MAX_ENDPOINTS:
            raise Conflict("endpoints_exceeded")
        rows = fetch(
            f"""INSERT INTO endpoint (id, url, event_types, description, language, secret, enabled,
                    disabled_at, disabled_reason, created_by, updated_by)
                VALUES (%(id)s, %(url)s, %(types)s, %(description)s, %(language)s, %(secret)s,
                    %(enabled)s, CASE WHEN NOT %(enabled)s THEN clock_timestamp() END,
                    CASE WHEN NOT %(enabled)s THEN 'owner' END, %(subject)s, %(subject)s)
                RETURNING {ENDPOINT_COLUMNS}""",
            {
                "id": endpoint_id,
                "url": url,
                "types": list(event_types),
                "description": description,
                "language": language,
                "secret": secret,
                "enabled": enabled,
                "subject": subject,
            },
        )
    return EndpointView(**rows[0]), secret


def get_endpoint(subject: str, endpoint_id: str) -> EndpointView:
    """Return one of the subject's endpoints. Raises NotFound for strangers and deleted ones."""
    with connection():
        rows = fetch(
            f"""SELECT {ENDPOINT_COLUMNS} FROM endpoint
                WHERE id = %s AND created_by = %s AND deleted_at IS NULL""",
            (endpoint_id, subject),
        )
    if not rows:
        raise NotFound(endpoint_id)
    return EndpointView(**rows[0])


def list_endpoints(
    subject: str, *, cursor: str | None = None, limit: int = 50
) -> tuple[list[EndpointView], str | None]:
    """Return a page of the subject's endpoints, oldest first, and the next cursor or None.

    Raises Conflict("cursor_invalid").
    """
    after = str(decode_cursor(cursor, (str,))[0]) if cursor is not None else ""
    with connection():
        rows = fetch(
            f"""SELECT {ENDPOINT_COLUMNS} FROM endpoint
                WHERE created_by = %s AND deleted_at IS NULL AND id > %s
                ORDER BY id LIMIT %s""",
            (subject, after, limit + 1),
        )
    views = [EndpointView(**row) for row in rows[:limit]]
    return views, encode_cursor(views[-1].id) if len(rows) > limit else None


def lock_endpoint(subject: str, endpoint_id: str) -> EndpointView:
    """Lock one of the subject's endpoints. Needs an open transaction. Raises NotFound."""
    rows = fetch(
        f"""SELECT {ENDPOINT_COLUMNS} FROM endpoint
            WHERE id = %s AND created_by = %s AND deleted_at IS NULL FOR NO KEY UPDATE""",
        (endpoint_id, subject),
    )
    if not rows:
        raise NotFound(endpoint_id)
    return EndpointView(**rows[0])


def change_endpoint(subject: str, endpoint_id: str, changes: Mapping[str, Any]) -> EndpointView:
    """Set `url`, `event_types`, `description`, `language` or `enabled`; returns the endpoint.

    Enabling forgets what went wrong; disabling fails what is pending. Opens its own transaction.
    Raises NotFound.
    """
    columns = [name for name in CHANGEABLE if name in changes]
    with transaction():
        before = lock_endpoint(subject, endpoint_id)
        for name in columns:
            execute(
                f"""UPDATE endpoint SET {name} = %s, updated_at = clock_timestamp(), updated_by = %s
                    WHERE id = %s""",
                (changes[name], subject, endpoint_id),
            )
        if changes.get("url", before.url) != before.url:  # another server has not failed yet
            execute("UPDATE endpoint SET failing_since = NULL WHERE id = %s", (endpoint_id,))
        if before.enabled and changes.get("enabled") is False:
            disable(endpoint_id, "owner", actor=subject)
        elif not before.enabled and changes.get("enabled") is True:
            execute(
                """UPDATE endpoint SET enabled = true, disabled_at = NULL, disabled_reason = NULL,
                       failing_since = NULL, updated_at = clock_timestamp(), updated_by = %s
                   WHERE id = %s""",
                (subject, endpoint_id),
            )
        return lock_endpoint(subject, endpoint_id)


#: Columns that an owner may set as they are.
CHANGEABLE = ("url", "event_types", "description", "language")


def disable(endpoint_id: str, reason: str, *, actor: str) -> None:
    """Tell this endpoint nothing more; what is pending has failed. Needs the endpoint's lock."""
    execute(
        """UPDATE endpoint SET enabled = false, disabled_at = clock_timestamp(),
               disabled_reason = %s, updated_at = clock_timestamp(), updated_by = %s
           WHERE id = %s AND enabled""",
        (reason, actor, endpoint_id),
    )
    execute(
        """UPDATE delivery SET state = 'failed', error = 'endpoint_disabled', lease_until = NULL,
               ended_at = clock_timestamp(), updated_at = clock_timestamp(), updated_by = %s
           WHERE endpoint_id = %s AND state = 'pending'""",
        (actor, endpoint_id),
    )


def rotate_secret(subject: str, endpoint_id: str) -> tuple[EndpointView, str]:
    """Give an endpoint a new secret; the old one signs too for OVERLAP_HOURS.

    Returns the endpoint with the new secret, which is never shown again. Raises NotFound.
    """
    secret = new_secret()
    with transaction():
        lock_endpoint(subject, endpoint_id)
        execute(
            """UPDATE endpoint SET previous_secret = secret, secret = %s,
                   previous_until = clock_timestamp() + %s * interval '1 hour',
                   updated_at = clock_timestamp(), updated_by = %s WHERE id = %s""",
            (secret, OVERLAP_HOURS, subject, endpoint_id),
        )
        return lock_endpoint(subject, endpoint_id), secret


def delete_endpoint(subject: str, endpoint_id: str) -> None:
    """Delete an endpoint for good, forget its secrets, fail what is pending. Raises NotFound."""
    with transaction():
        lock_endpoint(subject, endpoint_id)
        disable(endpoint_id, "owner", actor=subject)
        execute(
            """UPDATE endpoint SET deleted_at = clock_timestamp(), deleted_by = %s, secret = '',
                   previous_secret = NULL, updated_at = clock_timestamp(), updated_by = %s
               WHERE id = %s""",
            (subject, subject, endpoint_id),
        )
