"""Notice a worker that looks alive but does nothing, so that its supervisor can replace it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

import structlog

from jobs.errors import QueueUnavailable
from jobs.worker.consumer import LeasedConsumer
from jobs.worker.gate import Gate
from jobs.worker.leases import Leases, ReceiptLost

log = structlog.get_logger(__name__)


class Watchdog:
    """Call `on_stall` when messages are visible but none was taken or worked on for long.

    A closed gate is not a stall: then nothing is received on purpose.
    """

    def __init__(
        self,
        consumers: Iterable[LeasedConsumer],
        leases: Leases,
        gate: Gate,
        on_stall: Callable[[], None],
        *,
        after_seconds: float,
    ) -> None:
        self._consumers = list(consumers)
        self._leases = leases
        self._gate = gate
        self._on_stall = on_stall
        self._after_seconds = after_seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self._after_seconds / 10):
            if not self._gate.is_open():
                for consumer in self._consumers:
                    consumer.touch()
            stalled = [consumer for consumer in self._consumers if self._is_stalled(consumer)]
            if stalled and not self._stopped.is_set():
                names = [consumer.queue_name for consumer in stalled]
                log.critical("worker_stalled", queues=names, after_seconds=self._after_seconds)
                self._on_stall()
                return

    def _is_stalled(self, consumer: LeasedConsumer) -> bool:
        if time.monotonic() - consumer.last_activity < self._after_seconds:
            return False
        try:
            waiting = self._leases.visible(consumer.url)
        except (QueueUnavailable, ReceiptLost) as error:
            log.warning("queue_depth_unknown", queue=consumer.queue_name, reason=str(error))
            return False
        if waiting == 0:
            consumer.touch()
        return waiting > 0
