"""The breaker between the outbox and SQS; its state is one row of process_status.

    closed ──whole-request error──▶ open ──pause over──▶ half-open ──a send succeeded──▶ closed
                                     ▲                        │
                                     └──────still failing─────┘

While it is open nothing is claimed, so an outage burns no attempts. All schedulers share the row:
compare-and-swap lets one of them probe at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from models import status

ROW = "dispatch_breaker"
KIND = "breaker"
FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 60.0
#: A probe that has not ended by then died with its scheduler.
PROBE_SECONDS = 60.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class BreakerState:
    """`state` is closed, open or half_open; `failures` counts probes since it opened."""

    state: str = "closed"
    failures: int = 0
    reason: str = ""
    opened_at: float = 0.0

    def to_json(self) -> dict[str, object]:
        """Return the jsonb value of the row."""
        return {
            "state": self.state,
            "failures": self.failures,
            "reason": self.reason,
            "opened_at": self.opened_at,
        }

    def pause_seconds(self) -> float:
        """Return how long nothing is tried after the last failure."""
        if self.state == "half_open":
            return PROBE_SECONDS
        return float(min(FIRST_PAUSE_SECONDS * 2 ** min(self.failures, 10), LONGEST_PAUSE_SECONDS))


class Breaker:
    """Reads and moves the shared state. Every call is a short use of the database."""

    def read(self) -> tuple[BreakerState, float]:
        """Return the state and its age in seconds, both by the database."""
        row = status.get(ROW)
        if row is None:
            return BreakerState(), 0.0
        return BreakerState(**row.data), row.age_seconds

    def is_closed(self) -> bool:
        """Tell whether sending is open to everything."""
        return self.read()[0].state == "closed"

    def try_half_open(self) -> BreakerState | None:
        """Take the right to probe when the pause is over; None while it isn't or another has it."""
        state, age_seconds = self.read()
        if state.state == "closed" or age_seconds < state.pause_seconds():
            return None
        probing = BreakerState("half_open", state.failures, state.reason, state.opened_at)
        if state.state == "half_open":  # a dead prober's row looks the same: make it differ
            probing = BreakerState("half_open", state.failures + 1, state.reason, state.opened_at)
        won = status.swap(ROW, KIND, probing.to_json(), expected=state.to_json())
        return probing if won else None

    def trip(self, reason: str) -> None:
        """Open the breaker, or keep it open for longer."""
        state, _ = self.read()
        if state.state == "open":
            return
        opened_at = state.opened_at if state.state == "half_open" else status.database_epoch()
        failures = state.failures + 1 if state.state == "half_open" else 0
        opened = BreakerState("open", failures, reason, opened_at)
        if status.swap(ROW, KIND, opened.to_json(), expected=state.to_json()):
            log.warning("breaker_opened", reason=reason, failures=failures)

    def close(self) -> None:
        """Let everything through again."""
        state, _ = self.read()
        if state.state != "closed":
            status.put(ROW, KIND, BreakerState().to_json())
            log.info("breaker_closed")

    def open_for(self, state: BreakerState, seconds: float) -> bool:
        """Tell whether the outage behind `state` has lasted that long, by the database clock."""
        return status.database_epoch() - state.opened_at >= seconds
