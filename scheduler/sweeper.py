"""sweep(): imports that fell silent, and messages that were sent and then lost.

Level-triggered: every pass looks for everything older than its limit, never for a window. Three
sweepers at once are safe, each verdict locks and looks again.
"""

from __future__ import annotations

import structlog

from jobs.errors import QueueUnavailable
from jobs.metrics import TERMINAL
from jobs.queue import QueueClient
from models import status, verdicts
from models.states import ImportType
from models.verdicts import Suspect
from scheduler.metrics import SWEPT
from scheduler.settings import SchedulerSettings

log = structlog.get_logger(__name__)


class Sweeper:
    """Starts new runs for lost work; after three runs an import is called failed."""

    def __init__(self, queue: QueueClient, settings: SchedulerSettings) -> None:
        self._queue = queue
        self._settings = settings

    def sweep(self) -> int:
        """Look at both types once; returns how many imports it moved."""
        return sum(self._sweep_type(import_type) for import_type in ImportType)

    def _sweep_type(self, import_type: ImportType) -> int:
        settings = self._settings
        silent = verdicts.silent_children(
            import_type, stall_seconds=settings.stall_after_seconds, limit=settings.sweep_limit
        )
        patience = self._patience_seconds(import_type)
        lost = (
            verdicts.unstarted_children(
                import_type, waited_seconds=patience, limit=settings.sweep_limit
            )
            if patience is not None
            else []
        )
        return (
            sum(_restart(suspect, "silent") for suspect in silent)
            + sum(_restart(suspect, "message_lost") for suspect in lost)
            + self._expire(import_type)
        )

    def _expire(self, import_type: ImportType) -> int:
        """Give up what is left of a queue that has not moved for a day: nothing waits for ever."""
        settings, name = self._settings, f"moved:{import_type}"
        movement = {"mark": verdicts.last_movement(import_type)}
        seen = status.get(name)
        if seen is None or seen.data != movement:
            status.put(name, "movement", movement)
            return 0
        if seen.age_seconds < settings.expire_after_hours * 3600:
            return 0
        aged = verdicts.aged_children(
            import_type, hours=settings.expire_after_hours, limit=settings.sweep_limit
        )
        expired = [suspect for suspect in aged if verdicts.expire(suspect)]
        for suspect in expired:
            SWEPT.labels("expired").inc()
            TERMINAL.labels("failed", "expired").inc()
            log.error("import_expired", import_id=suspect.child_id)
        return len(expired)

    def _patience_seconds(self, import_type: ImportType) -> float | None:
        """Return how long a sent message may wait: a minute when SQS says that nothing waits.

        With a backlog it is twice the wait that lately started imports saw, and never less than
        the stall limit. When nothing was started lately it is for ever: a deep queue without
        workers is no loss.
        """
        settings = self._settings
        try:
            depth = self._queue.depths(import_type)
        except QueueUnavailable as error:
            log.warning("depths_unknown", queue=str(import_type), reason=str(error))
            return None
        sample = {"visible": depth.visible, "in_flight": depth.in_flight, "dead": depth.dead}
        status.put(f"queue:{import_type}", "queue", sample)
        if depth.visible + depth.in_flight + depth.delayed == 0:
            return settings.unstarted_after_seconds
        observed = verdicts.observed_wait(import_type)
        return None if observed is None else max(settings.stall_after_seconds, 2 * observed)


def _restart(suspect: Suspect, reason: str) -> int:
    verdict = verdicts.start_new_run(suspect, reason=reason)
    if verdict is None:
        return 0
    SWEPT.labels(f"{reason}_{verdict}").inc()
    if verdict == "failed":
        TERMINAL.labels("failed", "stalled").inc()
    log.warning("import_swept", import_id=suspect.child_id, reason=reason, verdict=verdict)
    return 1
