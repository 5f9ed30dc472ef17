"""What a scheduler counts besides its calls to S3, and what it samples; see jobs.metrics.

Ages are seconds by the database clock, sampled every few seconds, so they survive a restart.
Several schedulers tell the same of the database: take the maximum, never the sum.
"""

from __future__ import annotations

from jobs.metrics import TYPES, counter, gauge, histogram

PENDING = gauge("import_outbox_pending", "Items that still have to reach SQS.")
OLDEST_PENDING = gauge(
    "import_outbox_oldest_age_seconds", "Since the oldest item that has to reach SQS was accepted."
)
BREAKER_OPEN = gauge("import_breaker_open", "1 while nothing is sent because SQS does not answer.")
CHILDREN = gauge("import_children", "Imports that have not ended, at most 100,000.", "state")
OLDEST_QUEUED = gauge(
    "import_queue_oldest_age_seconds",
    "Since the oldest message that no worker has started was sent.",
    "queue",
)
STUCK = gauge(
    "import_stuck",
    "Imports that ought to move and do not: queued in an empty queue, processing in silence.",
    "state",
)
WITHOUT_RESULT = gauge(
    "import_completed_without_result", "Imports completed just now that have no result: always 0."
)
VISIBLE = gauge("import_queue_visible", "Messages that wait in SQS.", "queue")
IN_FLIGHT = gauge("import_queue_in_flight", "Messages that workers hold.", "queue")
DEAD = gauge("import_queue_dead", "Messages in the dead-letter queue.", "queue")
OLDEST_DEAD = gauge(
    "import_queue_dead_oldest_age_seconds",
    "Since the oldest message that the drain had to leave in the dead-letter queue was first sent.",
    "queue",
)

ATTEMPTS = counter(
    "import_dispatch_attempts_total",
    "Claims by their end: not_sent never left the process, lease_lost was accepted but not marked.",
    {"outcome": ("accepted", "rejected", "unknown", "lease_lost", "not_sent")},
)
ENQUEUE_FAILURES = counter(
    "import_enqueue_failures_total",
    "Requests and entries that SQS did not take, by its or the client's own word.",
    {"reason": ()},
)
EXHAUSTED = counter("import_outbox_exhausted_total", "Items given up after their last claim.")
SWEPT = counter(
    "import_sweeper_actions_total",
    "What was done about imports that fell silent, whose message was lost or that died.",
    {
        "action": (
            *("silent_new_run", "silent_failed", "message_lost_new_run", "message_lost_failed"),
            *("expired", "dead_letter_settled", "dead_letter_left"),
        )
    },
)
COLLECTED = counter(
    "import_gc_objects_total",
    "Objects that were deleted, by why.",
    {"outcome": ("orphan", "source_expired", "result_expired", "upload_unused")},
)

DELIVERIES = counter(
    "import_event_deliveries_total",
    "Attempts to deliver an event to a subscriber's endpoint.",
    {"outcome": ("delivered", "failed")},
)

TICKS = counter("import_scheduler_ticks_total", "Ticks by their end.", {"tick": (), "outcome": ()})
TICK_SECONDS = histogram(
    "import_scheduler_tick_duration_seconds",
    "Time of one tick.",
    (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 180),
    "tick",
)
LAST_SUCCESS = gauge(
    "import_scheduler_last_success_timestamp_seconds",
    "When a tick last ended well, in seconds since 1970.",
    "tick",
)

for _queue in TYPES:
    OLDEST_DEAD.labels(_queue).set(0)
