"""Idempotency-Key around one request: take it, keep it while bytes move, give it back on failure.

https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/07/
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from models import database, idempotency
from models.errors import DatabaseUnavailable, KeyInProgress
from models.idempotency import Completed, Reservation
from web.errors import WebError

log = structlog.get_logger(__name__)

_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_PAUSE_SECONDS = 0.2
#: A third of the lease, so that two renewals may fail.
RENEW_SECONDS = idempotency.LEASE_SECONDS / 3


def parse_key(values: list[str]) -> str | None:
    """Return the key of the header: a structured-field string, or the bare token many send."""
    if not values:
        return None
    text = values[0].strip()
    if len(text) >= 2 and text.startswith('"') and text.endswith('"'):
        text = re.sub(r'\\(["\\])', r"\1", text[1:-1])
    if len(values) != 1 or not _KEY.fullmatch(text):
        raise WebError("idempotency_key_invalid")
    return text


@contextmanager
def reserved(
    subject: str, key: str | None, *, wait_seconds: float = 0
) -> Iterator[Reservation | Completed | None]:
    """Hold the key for the block; whatever the block raises gives it back.

    Reaches PostgreSQL before the block in any case, so a request is refused before it streams.
    `wait_seconds` is how long a running twin is waited for. Raises KeyInProgress,
    DatabaseUnavailable.
    """
    if key is None:
        database.ping()
        yield None
        return
    held = _reserve(subject, key, time.monotonic() + wait_seconds)
    try:
        yield held
    except BaseException:
        if isinstance(held, Reservation):
            _release(held)
        raise


def _reserve(subject: str, key: str, deadline: float) -> Reservation | Completed:
    while True:
        try:
            return idempotency.reserve(subject, key)
        except KeyInProgress:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_PAUSE_SECONDS)


def _release(held: Reservation) -> None:
    try:
        idempotency.release(held)
    except DatabaseUnavailable:  # the lease runs out by itself
        log.warning("reservation_not_released")


class Renewal:
    """Renews a reservation now and then while a request streams."""

    def __init__(self, held: Reservation | None) -> None:
        self._held = held
        self._due = time.monotonic() + RENEW_SECONDS

    def tick(self) -> None:
        """Renew when a third of the lease has passed. Raises ReservationLost."""
        if self._held is None or time.monotonic() < self._due:
            return
        self._due = time.monotonic() + RENEW_SECONDS
        try:
            idempotency.renew(self._held)
        except DatabaseUnavailable:  # the next renewal, or the final transaction, will tell
            log.warning("reservation_not_renewed")
