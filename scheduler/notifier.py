"""deliver_due(): outgoing events on their way to endpoints, until nothing is due.

Each delivery has a thread of its own, a bounded number at once and few of one endpoint, so a slow
server holds up nobody else. The tick only claims, starts and settles. What a crash leaves comes
due again when its lease is over, under the same webhook-id.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any

import structlog

from jobs.settings import decode_secrets
from jobs.signing import SIGNATURE_HEADER, sign
from models import deliveries
from models.deliveries import Attempt, Claimed
from scheduler.metrics import DELIVERIES
from scheduler.posting import Poster
from scheduler.settings import SchedulerSettings

#: A tick ends after this, whatever is still under way; the next one goes on with it.
TICK_SECONDS = 30.0
#: How long a tick with something under way waits before it looks for more.
LOOK_SECONDS = 0.5
#: How long a stop waits for what is under way; the rest is sent again by whoever comes next.
CLOSE_SECONDS = 5.0
USER_AGENT = "Torikomi/1"

#: (event ID, its type, when, what is remembered, language) → the body of the API.
Render = Callable[[str, str, datetime, Mapping[str, Any], str], Mapping[str, Any]]

log = structlog.get_logger(__name__)


class Notifier:
    """Owns the sending threads; one per scheduler process."""

    def __init__(
        self, poster: Poster, render: Render, settings: SchedulerSettings, stop: Event
    ) -> None:
        self._poster = poster
        self._render = render
        self._places = settings.notify_threads
        self._backoffs = settings.delivery_backoffs()
        self._failing_days = settings.endpoint_failing_days
        self._stop = stop
        self._under_way = 0
        self._done: SimpleQueue[tuple[Claimed, Attempt]] = SimpleQueue()

    def deliver_due(self) -> int:
        """Send what is due and settle what has come back; returns how many were settled.

        Raises DatabaseUnavailable; the next tick goes on.
        """
        deliveries.fail_exhausted(self._most_attempts)
        until, settled = time.monotonic() + TICK_SECONDS, self._settle_done()
        while not self._stop.is_set() and time.monotonic() < until:
            started = self._start_due()
            if not self._under_way:
                break
            settled += self._settle_done(0 if started else LOOK_SECONDS)
        return settled

    def close(self) -> None:
        """Give what is under way a moment to come back, and settle that."""
        until = time.monotonic() + CLOSE_SECONDS
        while self._under_way and time.monotonic() < until:
            self._settle_done(LOOK_SECONDS)

    @property
    def _most_attempts(self) -> int:
        return len(self._backoffs) + 1

    def _start_due(self) -> int:
        free = self._places - self._under_way
        claims = deliveries.claim(free, max_attempts=self._most_attempts) if free > 0 else []
        for claimed in claims:
            self._under_way += 1
            name = f"notify-{claimed.event_id}"
            threading.Thread(target=self._send, args=(claimed,), name=name, daemon=True).start()
        return len(claims)

    def _send(self, claimed: Claimed) -> None:
        try:
            body = self._body(claimed)
            attempt = self._poster.post(claimed.url, body, _headers(claimed, body))
        except Exception:  # the edge: the tick counts on an answer of every thread
            log.exception("delivery_crashed", event_id=claimed.event_id)
            attempt = Attempt(status=None, error="internal_error", duration_ms=0)
        self._done.put((claimed, attempt))

    def _body(self, claimed: Claimed) -> bytes:
        """Return the bytes to send: the same for every attempt, so is what they are made of."""
        value = self._render(
            claimed.event_id,
            claimed.type,
            claimed.occurred_at,
            claimed.snapshot,
            claimed.language,
        )
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

    def _settle_done(self, wait_seconds: float = 0) -> int:
        settled = 0
        while True:
            try:
                claimed, attempt = self._done.get(block=wait_seconds > 0, timeout=wait_seconds)
            except Empty:
                return settled
            self._under_way -= 1
            self._settle(claimed, attempt)
            settled, wait_seconds = settled + 1, 0

    def _settle(self, claimed: Claimed, attempt: Attempt) -> None:
        state = deliveries.settle(
            claimed,
            attempt,
            retry_seconds=self._pause(claimed, attempt),
            failing_days=self._failing_days,
        )
        DELIVERIES.labels("delivered" if attempt.delivered else "failed").inc()
        (log.info if attempt.delivered else log.warning)(
            "event_delivered" if attempt.delivered else "event_not_delivered",
            endpoint_id=claimed.endpoint_id,
            event_id=claimed.event_id,
            event_type=claimed.type,
            attempt=claimed.attempts,
            status=attempt.status,
            error=attempt.error,
            duration_ms=attempt.duration_ms,
            state=state or "lease_lost",
        )

    def _pause(self, claimed: Claimed, attempt: Attempt) -> float | None:
        if claimed.attempts > len(self._backoffs):
            return None
        pause = self._backoffs[claimed.attempts - 1] * random.uniform(0.8, 1.2)
        return max(pause, attempt.retry_after_seconds or 0)


def _headers(claimed: Claimed, body: bytes) -> dict[str, str]:
    """Sign with every secret that is valid now: a receiver may know either."""
    timestamp = int(time.time())
    signed = [
        sign(decode_secrets(secret), claimed.event_id, timestamp, body)
        for secret in claimed.secrets
    ]
    signatures = " ".join(each[SIGNATURE_HEADER] for each in signed)
    return {
        **signed[0],
        SIGNATURE_HEADER: signatures,
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
    }
