"""Uploads that clients put into S3 themselves: promised, verified, used once, or forgotten.

promised ──verified──▶ verified ──used──▶ used        at 12 h: promised and verified are gone,
                                                      at 24 h: used ones too (the child remains)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from models.database import connection, execute, fetch, transaction
from models.errors import Conflict
from models.tables import Upload, insert_rows

KEEP_HOURS = 12
#: A used upload is remembered this much longer, so that a second use is called by its name.
REMEMBER_USED_HOURS = 12


@dataclass(frozen=True, kw_only=True)
class NewUpload:
    """What a client promises to send."""

    id: str
    file_name: str
    content_type: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class UploadView(NewUpload):
    """One upload of a subject that has not expired."""

    object_version: str | None
    verified_at: datetime | None
    used_at: datetime | None
    expires_at: datetime


def promise(subject: str, uploads: Sequence[NewUpload]) -> datetime:
    """Record what will be sent and return until when it must be used. Opens its transaction."""
    with transaction():
        expires_at: datetime = fetch(
            "SELECT clock_timestamp() + %s * interval '1 hour' AS at", (KEEP_HOURS,)
        )[0]["at"]
        insert_rows(
            Upload,
            (
                {
                    "id": upload.id,
                    "file_name": upload.file_name,
                    "content_type": upload.content_type,
                    "size_bytes": upload.size_bytes,
                    "sha256": upload.sha256,
                    "expires_at": expires_at,
                    "created_by": subject,
                    "updated_by": subject,
                }
                for upload in uploads
            ),
        )
    return expires_at


def find_uploads(subject: str, ids: Sequence[str]) -> dict[str, UploadView]:
    """Return the subject's uploads among `ids` by ID; expired and foreign ones are missing."""
    with connection():
        rows = fetch(
            """SELECT id, file_name, content_type, size_bytes, sha256, object_version,
                      verified_at, used_at, expires_at
               FROM upload WHERE id = ANY(%s) AND created_by = %s
                 AND (used_at IS NOT NULL OR expires_at > clock_timestamp())""",
            (list(ids), subject),
        )
    return {row["id"]: UploadView(**row) for row in rows}


def mark_verified(subject: str, versions: Mapping[str, str | None]) -> None:
    """Pin the object version that each upload was verified with. Repeatable; the first one stays.

    Opens its own transaction.
    """
    with transaction():
        execute(
            """UPDATE upload u SET verified_at = clock_timestamp(), object_version = v.version,
                   updated_at = clock_timestamp(), updated_by = %(subject)s
               FROM unnest(%(ids)s::text[], %(versions)s::text[]) AS v (id, version)
               WHERE u.id = v.id AND u.created_by = %(subject)s AND u.verified_at IS NULL""",
            {
                "subject": subject,
                "ids": list(versions),
                "versions": list(versions.values()),
            },
        )


def use(subject: str, ids: Sequence[str]) -> None:
    """Take verified uploads for a batch, in the transaction that makes the batch true.

    Raises Conflict("upload_used") when one was taken, or ran out, meanwhile.
    """
    taken = execute(
        """UPDATE upload SET used_at = clock_timestamp(), updated_at = clock_timestamp(),
               updated_by = %s
           WHERE id = ANY(%s) AND created_by = %s AND used_at IS NULL
             AND verified_at IS NOT NULL AND expires_at > clock_timestamp()""",
        (subject, list(ids), subject),
    )
    if taken != len(ids):
        raise Conflict("upload_used")


def forget_expired(limit: int = 1000) -> list[str]:
    """Delete uploads past their time; returns those whose objects nobody will use.

    Safe to repeat. An object that a crash leaves behind is an orphan like any other.
    """
    with connection():
        rows = fetch(
            """DELETE FROM upload WHERE id IN (
                   SELECT id FROM upload
                   WHERE expires_at + (CASE WHEN used_at IS NULL THEN 0 ELSE %s END)
                         * interval '1 hour' < clock_timestamp()
                   ORDER BY expires_at LIMIT %s FOR UPDATE SKIP LOCKED)
               RETURNING id, used_at IS NULL AS unused""",
            (REMEMBER_USED_HOURS, limit),
        )
    return [row["id"] for row in rows if row["unused"]]
