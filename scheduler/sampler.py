"""sample(): the gauges. A failing sample leaves the last one and the time of the last success."""

from __future__ import annotations

from models import outbox, samples, status
from models.states import ImportType
from scheduler import metrics
from scheduler.breaker import Breaker
from scheduler.settings import SchedulerSettings


class Sampler:
    """Measures the outbox, the live imports, the queues and the breaker."""

    def __init__(self, settings: SchedulerSettings) -> None:
        self._stuck_after_seconds = settings.stuck_after_seconds
        self._breaker = Breaker()

    def sample(self) -> None:
        """Set every gauge that comes from the database. Raises DatabaseUnavailable."""
        pending = outbox.pending_summary()
        metrics.PENDING.set(pending["pending"])
        metrics.OLDEST_PENDING.set(pending["oldest_age_seconds"])
        metrics.BREAKER_OPEN.set(not self._breaker.is_closed())
        metrics.WITHOUT_RESULT.set(sum(map(samples.completed_without_result, ImportType)))
        self._sample_imports(self._sample_queues())

    def _sample_queues(self) -> dict[str, int]:
        """Tell the depths that a sweep last saw; return how many messages each queue holds."""
        held = {}
        for row in status.list_kind("queue"):
            queue = row.name.partition(":")[2]
            metrics.VISIBLE.labels(queue).set(row.data["visible"])
            metrics.IN_FLIGHT.labels(queue).set(row.data["in_flight"])
            metrics.DEAD.labels(queue).set(row.data["dead"])
            held[queue] = row.data["visible"] + row.data["in_flight"]
        ages = samples.dead_letter_ages()
        for queue in ImportType:
            metrics.OLDEST_DEAD.labels(queue).set(ages.get(queue, 0))
        return held

    def _sample_imports(self, held: dict[str, int]) -> None:
        counts = {"queued": 0, "processing": 0}
        stuck = {"queued": 0, "processing": 0}
        for queue in ImportType:
            live = samples.live(queue, stuck_after_seconds=self._stuck_after_seconds)
            metrics.OLDEST_QUEUED.labels(queue).set(live.oldest_queued_seconds)
            counts["queued"] += live.queued
            counts["processing"] += live.processing
            stuck["processing"] += live.silent
            stuck["queued"] += live.unstarted if held.get(queue) == 0 else 0
        for state, count in counts.items():
            metrics.CHILDREN.labels(state).set(count)
            metrics.STUCK.labels(state).set(stuck[state])
