"""Idempotency keys (IETF draft-ietf-httpapi-idempotency-key-header-07), scoped to a subject.

A running request holds a reservation: an owner token and a 2-minute lease on the database clock,
renewed while it streams. An expired reservation may be taken over. A finished request leaves its
fingerprint and its response for 24 hours; a refused or failed one leaves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.database import connection, execute, fetch, transaction
from models.errors import KeyInProgress, ReservationLost
from models.ids import uuid7

LEASE_SECONDS = 120
KEEP_HOURS = 24


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """The right to finish one keyed request."""

    subject: str
    key: str
    token: str


@dataclass(frozen=True, kw_only=True)
class Completed:
    """What the first request with this key was (its fingerprint) and what it was answered."""

    fingerprint: str
    response: dict[str, Any]


def reserve(subject: str, key: str) -> Reservation | Completed:
    """Take the key, or return what its first request was answered.

    Opens its own transaction. Raises KeyInProgress while another request holds a live lease.
    """
    token = uuid7()
    with transaction():
        taken = fetch(
            """INSERT INTO idempotency_key AS k
                   (subject, key, owner_token, lease_until, created_by, updated_by)
               VALUES (%(subject)s, %(key)s, %(token)s,
                       clock_timestamp() + %(lease)s * interval '1 second',
                       %(subject)s, %(subject)s)
               ON CONFLICT (subject, key) DO UPDATE
                   SET owner_token = excluded.owner_token, lease_until = excluded.lease_until,
                       fingerprint = NULL, response = NULL, updated_at = clock_timestamp(),
                       created_at = clock_timestamp()
                   WHERE (k.response IS NULL AND k.lease_until < clock_timestamp())
                      OR k.created_at < clock_timestamp() - %(keep)s * interval '1 hour'
               RETURNING owner_token""",
            {
                "subject": subject,
                "key": key,
                "token": token,
                "lease": LEASE_SECONDS,
                "keep": KEEP_HOURS,
            },
        )
        if taken:
            return Reservation(subject=subject, key=key, token=token)
        held = fetch(
            "SELECT fingerprint, response FROM idempotency_key WHERE subject = %s AND key = %s",
            (subject, key),
        )
    if not held or held[0]["response"] is None:
        raise KeyInProgress(key)
    return Completed(fingerprint=held[0]["fingerprint"], response=held[0]["response"])


def renew(reservation: Reservation) -> None:
    """Extend the lease from now. Raises ReservationLost when another request has taken over."""
    with transaction():
        kept = execute(
            """UPDATE idempotency_key SET lease_until = clock_timestamp() + %s * interval '1 second'
               WHERE subject = %s AND key = %s AND owner_token = %s AND response IS NULL""",
            (LEASE_SECONDS, reservation.subject, reservation.key, reservation.token),
        )
    if kept != 1:
        raise ReservationLost(reservation.key)


def release(reservation: Reservation) -> None:
    """Give the key back after a refused or failed request, so that it never freezes. Repeatable."""
    with connection():
        execute(
            """DELETE FROM idempotency_key
               WHERE subject = %s AND key = %s AND owner_token = %s AND response IS NULL""",
            (reservation.subject, reservation.key, reservation.token),
        )


def complete(reservation: Reservation, *, fingerprint: str, response: Mapping[str, Any]) -> None:
    """Keep the answer, in the transaction that makes it true.

    Raises ReservationLost, which must roll that transaction back.
    """
    kept = execute(
        """UPDATE idempotency_key
           SET fingerprint = %s, response = %s::jsonb, lease_until = NULL, updated_at = now()
           WHERE subject = %s AND key = %s AND owner_token = %s AND response IS NULL""",
        (
            fingerprint,
            json.dumps(response),
            reservation.subject,
            reservation.key,
            reservation.token,
        ),
    )
    if kept != 1:
        raise ReservationLost(reservation.key)


def forget_expired(limit: int = 1000) -> int:
    """Delete keys older than 24 hours; returns how many. Safe to repeat."""
    with connection():
        return execute(
            """DELETE FROM idempotency_key WHERE ctid IN (
                   SELECT ctid FROM idempotency_key
                   WHERE created_at < clock_timestamp() - %s * interval '1 hour' LIMIT %s)""",
            (KEEP_HOURS, limit),
        )
