"""Browser sessions: an opaque token in the cookie, its SHA-256 in PostgreSQL."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from models.database import connection, execute, fetch


@dataclass(frozen=True, kw_only=True)
class Session:
    """Who is signed in. `csrf_seed` keys this session's form tokens."""

    subject: str
    username: str
    csrf_seed: str


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def create_session(subject: str, username: str, *, idle_seconds: int, absolute_seconds: int) -> str:
    """Open a session and return its token (43 characters); only its hash is stored."""
    token = secrets.token_urlsafe(32)
    with connection():
        execute(
            """INSERT INTO session (token_hash, subject, username, csrf_seed, idle_until,
                                    expires_at, created_by, updated_by)
               VALUES (%s, %s, %s, %s, clock_timestamp() + %s * interval '1 second',
                       clock_timestamp() + %s * interval '1 second', %s, %s)""",
            (
                _hash(token),
                subject,
                username,
                secrets.token_hex(32),
                idle_seconds,
                absolute_seconds,
                subject,
                subject,
            ),
        )
    return token


def read_session(token: str, *, idle_seconds: int) -> Session | None:
    """Return the live session and push its idle limit out; None when unknown or expired."""
    with connection():
        rows = fetch(
            """UPDATE session SET idle_until = clock_timestamp() + %s * interval '1 second',
                   updated_at = clock_timestamp()
               WHERE token_hash = %s AND idle_until > clock_timestamp()
                 AND expires_at > clock_timestamp()
               RETURNING subject, username, csrf_seed""",
            (idle_seconds, _hash(token)),
        )
    return Session(**rows[0]) if rows else None


def delete_session(token: str) -> None:
    """Close the session. Repeatable."""
    with connection():
        execute("DELETE FROM session WHERE token_hash = %s", (_hash(token),))


def forget_expired(limit: int = 1000) -> int:
    """Delete sessions past their limits; returns how many. Safe to repeat."""
    with connection():
        return execute(
            """DELETE FROM session WHERE token_hash IN (
                   SELECT token_hash FROM session
                   WHERE expires_at < clock_timestamp() OR idle_until < clock_timestamp()
                   LIMIT %s)""",
            (limit,),
        )
