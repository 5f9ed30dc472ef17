"""What the scheduler process may know."""

from __future__ import annotations

from pydantic import Field, field_validator

from jobs.addresses import EndpointSettings
from jobs.settings import LogSettings, MetricsSettings, QueueSettings, StorageSettings
from models.settings import DatabaseSettings


class SchedulerSettings(
    LogSettings,
    MetricsSettings,
    QueueSettings,
    StorageSettings,
    EndpointSettings,
    DatabaseSettings,
):
    """Periods, limits and patience, all in seconds unless named otherwise."""

    #: 0: no listener
    scheduler_metrics_port: int = Field(default=9465, ge=0, le=65_535)
    #: period of the samples behind the gauges
    sample_period_seconds: float = Field(default=10.0, gt=0)
    #: a running import without a report for this long, or a sent one in an empty queue, is stuck
    stuck_after_seconds: float = Field(default=1200.0, gt=0)
    #: items leased in one claim round; also the unit of fairness between subjects
    claim_limit: int = Field(default=1000, ge=10, le=5000)
    #: SendMessageBatch requests under way at once
    send_threads: int = Field(default=16, ge=1, le=64)
    #: how often the outbox is looked at when nothing wakes the scheduler
    dispatch_period_seconds: float = Field(default=1.0, gt=0)
    #: how often lost work is looked for
    sweep_period_seconds: float = Field(default=15.0, gt=0)
    #: how often the dead-letter queues are drained
    dead_letter_period_seconds: float = Field(default=15.0, gt=0)
    #: how often a scheduler says that it is alive
    heartbeat_period_seconds: float = Field(default=5.0, gt=0)
    #: how often retention and the collection of orphans go on
    housekeeping_period_seconds: float = Field(default=600.0, gt=0)
    #: silence of a running import after which its run counts as lost; above the longest back-off
    stall_after_seconds: float = Field(default=3600.0, gt=0)
    #: a sent message that no worker started counts as lost after this, if the queue is empty
    unstarted_after_seconds: float = Field(default=60.0, gt=0)
    #: rows looked at by one sweep
    sweep_limit: int = Field(default=500, ge=1)
    #: days that a source is kept after its import ended, and a result after it was completed
    keep_source_days: float = Field(default=30.0, gt=0)
    #: days that a result and the pictures of its pages are kept after it was completed
    keep_result_days: float = Field(default=90.0, gt=0)
    #: objects that one orphan pass looks at
    orphan_limit: int = Field(default=10_000, ge=1)
    #: hours without any movement of a queue after which what is left of it is called failed
    expire_after_hours: float = Field(default=24.0, gt=0)
    #: a tick that takes longer than this is hung: the process exits and is restarted
    tick_limit_seconds: float = Field(default=180.0, gt=0)
    #: how often outgoing events are looked at when nothing wakes the scheduler
    notify_period_seconds: float = Field(default=1.0, gt=0)
    #: outgoing events under way at once
    notify_threads: int = Field(default=16, ge=1, le=64)
    #: how long one attempt to deliver an event may take in all; well below its lease of 90 s
    delivery_timeout_seconds: float = Field(default=15.0, gt=0, le=30)
    #: pauses after the first, second … failed attempt; after the last one an event has failed
    delivery_backoff_seconds: str = "5,60,300,1800,3600,10800,21600,43200"
    #: days of nothing but failures after which an endpoint is disabled
    endpoint_failing_days: float = Field(default=3.0, gt=0)
    #: days that an outgoing event and the log of its deliveries are kept
    keep_delivery_days: float = Field(default=30.0, gt=0)

    def delivery_backoffs(self) -> list[int]:
        """Return the pauses in seconds."""
        return [int(part) for part in self.delivery_backoff_seconds.split(",")]

    @field_validator("delivery_backoff_seconds")
    @classmethod
    def _backoffs_are_numbers(cls, value: str) -> str:
        if not all(part.strip().isdigit() for part in value.split(",")):
            raise ValueError("DELIVERY_BACKOFF_SECONDS is a comma separated list of whole seconds")
        return value
