"""The actors: one per import type, each the same work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import dramatiq

from jobs.messages import ACTORS
from jobs.worker.broker import LeasedBroker
from jobs.worker.errors import LeaveMessage
from jobs.worker.metrics import counted

#: What an actor is called with: the message as JSON, and SQS's receive count.
Work = Callable[[Mapping[str, Any], int], None]


def declare_actors(broker: LeasedBroker, queues: list[str], work: Work) -> None:
    """Declare the actor of each import type on this broker, never on Dramatiq's global one."""
    for queue in queues:
        dramatiq.Actor(
            counted(work, queue),
            broker=broker,
            actor_name=ACTORS[queue],
            queue_name=queue,
            priority=0,
            options={"max_retries": 0, "throws": (LeaveMessage,)},
        )
