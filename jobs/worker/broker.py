"""Our broker on dramatiq-sqs: looks queues up, never creates them, never sends.

Middleware is Retries with no retries and nothing else: without it Dramatiq counts a failure as
done and deletes it; AgeLimit and TimeLimit would delete or interrupt messages behind our back.
"""

from __future__ import annotations

import threading
from typing import Any, NoReturn

import dramatiq
from dramatiq.middleware import Retries
from dramatiq_sqs import SQSBroker

from jobs.errors import PermanentError
from jobs.queue import queue_name
from jobs.settings import WorkerSettings
from jobs.worker.consumer import LeasedConsumer
from jobs.worker.gate import Gate
from jobs.worker.leases import Leases


class NothingIsSent(PermanentError):
    """A worker tried to send a message; retries are SQS's business alone."""

    code = "nothing_is_sent"


class LeasedBroker(SQSBroker):
    """Gives each queue one LeasedConsumer for the life of the process.

    Once `stop` is set nothing is received, and what is left is visible again at once.
    """

    def __init__(self, settings: WorkerSettings, gate: Gate, stop: threading.Event) -> None:
        super().__init__(
            namespace=settings.queue_namespace,
            middleware=[Retries(max_retries=0)],
            region_name=settings.aws_region,
            endpoint_url=settings.aws_endpoint_url,
        )
        self.leases = Leases(settings)
        self.consumers: dict[str, LeasedConsumer] = {}
        self._settings = settings
        self._gate = gate
        self._stop = stop

    def open_queue(self, queue: str) -> LeasedConsumer:
        """Look a queue up and make its consumer. Raises QueueUnavailable."""
        if queue not in self.consumers:
            url = self.leases.url(queue_name(self._settings.queue_namespace, queue))
            self.consumers[queue] = LeasedConsumer(
                queue,
                url,
                self.leases,
                settings=self._settings,
                gate=self._gate,
                stop=self._stop,
            )
        return self.consumers[queue]

    def consume(
        self,
        queue_name: str,
        prefetch: int = 1,  # noqa: ARG002 - Dramatiq's signature
        timeout: int = 0,  # noqa: ARG002 - Dramatiq's signature
    ) -> LeasedConsumer:
        """Return the queue's consumer; its own limits replace Dramatiq's."""
        return self.open_queue(queue_name)

    def enqueue(
        self,
        message: dramatiq.Message[Any],
        *,
        delay: int | None = None,  # noqa: ARG002 - Dramatiq's signature
    ) -> NoReturn:
        """Refuse: a stock retry whose send fails would be deleted and lost."""
        raise NothingIsSent(f"message {message.message_id} was not sent")
