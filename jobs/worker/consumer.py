"""Our consumer in place of dramatiq-sqs's: holds messages by lease, deletes only finished ones.

What the stock consumer does on SQS and must not happen here: a failed delete leaks a slot until
nothing is received any more; a receive error restarts the count of held messages; a failed
message is deleted; an idle one sleeps; nothing extends the visibility.
"""

from __future__ import annotations

import base64
import binascii
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

import dramatiq
import structlog
from dramatiq.errors import DecodeError
from dramatiq_sqs.broker import SQSConsumer

from jobs.errors import MessageInvalid, QueueUnavailable
from jobs.settings import WorkerSettings
from jobs.worker.gate import Gate
from jobs.worker.heartbeat import Heartbeat
from jobs.worker.leases import Delivery, Leases, ReceiptLost
from jobs.worker.metrics import note_failure, note_receive

#: Tries to tell SQS the end of a message, and the pause before the next one.
_ATTEMPTS = 5
_RETRY_SECONDS = 1.0
_STOPPING_ATTEMPTS = 2
#: The longest a consumer thread waits without looking whether it should stop.
_IDLE_SECONDS = 1.0

log = structlog.get_logger(__name__)


class HeldMessage(dramatiq.MessageProxy):
    """A received message with its receipt and its heartbeat."""

    def __init__(
        self, message: dramatiq.Message[None], delivery: Delivery, heartbeat: Heartbeat
    ) -> None:
        super().__init__(message)
        self.delivery = delivery
        self.heartbeat = heartbeat


class LeasedConsumer(SQSConsumer):
    """One queue: at most `slots` messages held, each under its own heartbeat.

    Lives as long as the broker, so the count of held messages survives every error. Once `stop`
    is set, what is left stays held until `abandon`: a poll that is still under way would take it
    again, and each stop would cost two receives.
    """

    def __init__(
        self,
        queue: str,
        url: str,
        leases: Leases,
        *,
        settings: WorkerSettings,
        gate: Gate,
        stop: threading.Event,
    ) -> None:
        # Not SQSConsumer's own: that one wants a boto3 resource, which threads must not share.
        self.queue_name = queue
        self.url = url
        self.slots = settings.worker_threads
        self.last_activity = time.monotonic()
        #: when a thread last asked for a message; None before the first time
        self.last_look: float | None = None
        self._leases = leases
        self._settings = settings
        self._gate = gate
        self._held: dict[str, HeldMessage] = {}
        self._changed = threading.Condition()
        self._ready: deque[HeldMessage] = deque()
        self._stop = stop

    def __next__(self) -> HeldMessage | None:
        """Return the next message, or None after waiting for a while; never raises."""
        self.last_look = time.monotonic()
        if not self._ready and (free := self._wait_for_slot()) > 0:
            self._receive(free)
        return self._ready.popleft() if self._ready and not self._stop.is_set() else None

    def ack(self, message: HeldMessage) -> None:
        """Delete a finished message, trying again for a while; the slot is free afterwards."""
        try:
            message.heartbeat.stop()
            self._repeat("delete", message, lambda: self._delete(message))
        finally:
            self._let_go(message)

    def nack(self, message: HeldMessage) -> None:
        """Leave a failed message in the queue, visible after its back-off."""
        self._give_back(message, self.backoff_seconds(message.delivery))

    def requeue(self, messages: Iterable[HeldMessage]) -> None:
        """Make messages that were not started visible again at once."""
        for message in messages:
            self._give_back(message, 0)

    def close(self) -> None:
        """Return what was received but not handed on. The consumer can go on afterwards."""
        while self._ready:
            self._give_back(self._ready.popleft(), 0)

    def wake(self) -> None:
        """Have a waiting consumer thread look at the stop event."""
        with self._changed:
            self._changed.notify_all()

    def abandon(self) -> None:
        """Make everything still held visible again at once; no poll is under way any more."""
        with self._changed:
            held = list(self._held.values())
        for message in held:
            self._release_held(message, 0)

    def held(self) -> int:
        """Return how many messages are held now."""
        with self._changed:
            return len(self._held)

    def touch(self) -> None:
        """Note that work is going on (for the watchdog)."""
        self.last_activity = time.monotonic()

    def backoff_seconds(self, delivery: Delivery) -> int:
        """Return the visibility back-off after this receive."""
        backoffs = self._settings.backoffs()
        return backoffs[min(max(delivery.receive_count, 1), len(backoffs)) - 1]

    def _wait_for_slot(self) -> int:
        with self._changed:
            free = self.slots - len(self._held)
            if free > 0 and self._gate.is_open() and not self._stop.is_set():
                return free
            self._changed.wait(_IDLE_SECONDS)
            return 0

    def _receive(self, free: int) -> None:
        try:
            deliveries = self._leases.receive(self.url, free)
        except (QueueUnavailable, ReceiptLost) as error:
            log.warning("receive_failed", queue=self.queue_name, reason=str(error))
            with self._changed:
                self._changed.wait(_IDLE_SECONDS)
            return
        for delivery in deliveries:
            self._hold(delivery)

    def _hold(self, delivery: Delivery) -> None:
        self.touch()
        note_receive(self.queue_name, delivery.receive_count, delivery.sent_at)
        try:
            message = self._decode(delivery)
        except MessageInvalid as error:
            self._leave_undecodable(delivery, error)
            return
        heartbeat = Heartbeat(
            lambda: self._extend(delivery),
            period_seconds=self._settings.heartbeat_seconds,
            deadline_seconds=self._settings.job_deadline_seconds,
            import_id=message.message_id,
        )
        held = HeldMessage(message, delivery, heartbeat)
        # First: a thread that cannot start must not cost a slot.
        heartbeat.start()
        with self._changed:
            self._held[delivery.receipt] = held
        self._ready.append(held)

    def _decode(self, delivery: Delivery) -> dramatiq.Message[None]:
        """Decode an envelope, refusing all that could make Dramatiq retry, delay or misroute it."""
        try:
            message = dramatiq.Message.decode(base64.b64decode(delivery.body, validate=True))
        except (binascii.Error, ValueError, DecodeError, RecursionError) as error:
            raise MessageInvalid("body is not a Dramatiq envelope") from error
        if message.queue_name != self.queue_name or message.args or message.options:
            raise MessageInvalid("envelope is not one of ours")
        if not isinstance(message.kwargs, dict) or set(message.kwargs) != {"message"}:
            raise MessageInvalid("envelope is not one of ours")
        if not isinstance(message.message_id, str) or not isinstance(message.actor_name, str):
            raise MessageInvalid("envelope is not one of ours")
        kwargs = {**message.kwargs, "receive_count": delivery.receive_count}
        return message.copy(kwargs=kwargs)

    def _leave_undecodable(self, delivery: Delivery, error: MessageInvalid) -> None:
        note_failure("message_undecodable")
        log.error(
            "message_undecodable",
            queue=self.queue_name,
            message_id=delivery.message_id,
            receive_count=delivery.receive_count,
            body_bytes=len(delivery.body),
            reason=str(error),
        )
        try:
            self._release(delivery, self.backoff_seconds(delivery))
        except (QueueUnavailable, ReceiptLost) as problem:
            log.warning("release_failed", message_id=delivery.message_id, reason=str(problem))

    def _extend(self, delivery: Delivery) -> None:
        try:
            self._release(delivery, self._settings.visibility_seconds)
        except ReceiptLost as error:
            raise QueueUnavailable("receipt_lost") from error

    def _release(self, delivery: Delivery, seconds: int) -> None:
        self._leases.set_visibility(self.url, delivery.receipt, seconds)

    def _delete(self, message: HeldMessage) -> None:
        self._leases.delete(self.url, message.delivery.receipt)

    def _give_back(self, message: HeldMessage, seconds: int) -> None:
        if not self._stop.is_set():
            self._release_held(message, seconds)

    def _release_held(self, message: HeldMessage, seconds: int) -> None:
        try:
            message.heartbeat.stop()
            self._repeat("release", message, lambda: self._release(message.delivery, seconds))
            log.info(
                "message_left",
                import_id=message.message_id,
                receive_count=message.delivery.receive_count,
                visible_after_seconds=seconds,
            )
        finally:
            self._let_go(message)

    def _repeat(self, what: str, message: HeldMessage, call: Callable[[], None]) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            if self._stop.is_set() and attempt > _STOPPING_ATTEMPTS:
                return
            try:
                call()
                return
            except ReceiptLost:
                log.info("receipt_lost", import_id=message.message_id, operation=what)
                return
            except QueueUnavailable as error:
                log.warning(
                    f"{what}_failed",
                    import_id=message.message_id,
                    attempt=attempt,
                    reason=error.reason,
                )
            if attempt < _ATTEMPTS:
                time.sleep(0.1 if self._stop.is_set() else _RETRY_SECONDS)

    def _let_go(self, message: HeldMessage) -> None:
        self.touch()
        with self._changed:
            self._held.pop(message.delivery.receipt, None)
            self._changed.notify_all()
