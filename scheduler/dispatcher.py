"""dispatch_due(): claim → send → mark, until nothing is due.

A claim is counted before its send and never given back. What SQS acknowledged is marked, what it
refused comes due again soon, and what nobody knows keeps its full lease and is sent again, byte
for byte the same.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event

import structlog

from jobs import tracing
from jobs.errors import MessageInvalid, QueueUnavailable
from jobs.messages import JobMessage, encode_message
from jobs.metrics import TERMINAL, reason
from jobs.queue import MAX_BATCH_ENTRIES, OutgoingMessage, QueueClient, SendOutcome
from models import outbox, verdicts
from models.outbox import Claimed, Fence
from models.states import ImportType
from scheduler import metrics
from scheduler.breaker import Breaker, BreakerState
from scheduler.settings import SchedulerSettings

#: A definite rejection comes due again after this, from its second claim on after the longer one.
FIRST_RETRY_SECONDS = 15
LATER_RETRY_SECONDS = 60
#: The longest a send can take: two attempts of connect 3 s and read 10 s, and their back-off.
WORST_SEND_SECONDS = 30
#: Rows on their last claim are no probes of a broken queue before the outage has lasted this long.
LAST_CLAIM_WAITS_SECONDS = 600
EXHAUST_LIMIT = 500

log = structlog.get_logger(__name__)


@dataclass
class _Outage:
    """Why the queue as a whole does not answer, as soon as one request has found out."""

    reason: str | None = None


@dataclass
class _Round:
    """One claim round: what was claimed, until when sends may start, what SQS answered."""

    claims: dict[str, Claimed]
    last_start: float
    outage: _Outage
    began_ns: int = field(default_factory=time.time_ns)
    sends: list[Future[None]] = field(default_factory=list)
    sent: list[Claimed] = field(default_factory=list)
    refused: list[Claimed] = field(default_factory=list)
    hopeless: list[tuple[Claimed, str]] = field(default_factory=list)


class Dispatcher:
    """Owns the sending threads; one per scheduler process."""

    def __init__(
        self, queue: QueueClient, breaker: Breaker, settings: SchedulerSettings, stop: Event
    ) -> None:
        self._queue = queue
        self._breaker = breaker
        self._limit = settings.claim_limit
        self._stop = stop
        self._threads = ThreadPoolExecutor(settings.send_threads, thread_name_prefix="send")

    def close(self) -> None:
        """Wait for the sends under way and end the threads."""
        self._threads.shutdown(wait=True)

    def dispatch_due(self) -> int:
        """Send all that is due and fail what is exhausted; returns how many items were sent.

        Raises DatabaseUnavailable; the next tick goes on. An SQS outage is no error here: it
        opens the breaker.
        """
        self._exhaust()
        sent, under_way, outage = 0, None, _Outage()
        while not self._stop.is_set() and outage.reason is None:
            if not self._breaker.is_closed():
                probing = self._breaker.try_half_open()
                if probing is None or not self._probe(probing):
                    break
            last_start = _last_start()
            claims = outbox.claim(self._limit)
            following = self._begin(claims, last_start, outage) if claims else None
            if under_way is not None:  # settled while the following round is being sent
                sent += self._finish(under_way)
            under_way = following
            if under_way is None:
                break
        if under_way is not None:
            sent += self._finish(under_way)
        return sent

    def _probe(self, state: BreakerState) -> bool:
        """Try a half-open queue with as little as possible; tells whether the breaker closed.

        Untried items first, then items tried once. Items on their last claim are spared until the
        outage has lasted LAST_CLAIM_WAITS_SECONDS; then, or with nothing to send at all, it is
        enough that SQS answers: nothing may wait for ever.
        """
        last_start = _last_start()
        claims = outbox.claim(MAX_BATCH_ENTRIES, max_attempts=0) or outbox.claim(
            MAX_BATCH_ENTRIES, min_attempts=1, max_attempts=1
        )
        if claims:
            outage = _Outage()
            self._finish(self._begin(claims, last_start, outage))
            if outage.reason is not None:
                return False
        elif not self._answers(state):
            return False
        self._breaker.close()
        return True

    def _answers(self, state: BreakerState) -> bool:
        try:
            for queue in ImportType:
                self._queue.depths(queue)
        except QueueUnavailable as error:
            self._breaker.trip(str(error))
            return False
        if outbox.has_pending() and not self._breaker.open_for(state, LAST_CLAIM_WAITS_SECONDS):
            self._breaker.trip(state.reason)
            return False
        return True

    def _begin(self, claims: Sequence[Claimed], last_start: float, outage: _Outage) -> _Round:
        """Encode what was claimed and hand it to the sending threads."""
        round_ = _Round({claim.child_id: claim for claim in claims}, last_start, outage)
        by_queue: dict[str, list[OutgoingMessage]] = defaultdict(list)
        for claim in claims:
            try:
                message = JobMessage.from_json(claim.message)
                body = encode_message(message)
            except MessageInvalid as error:
                round_.hopeless.append((claim, str(error)))
                continue
            by_queue[message.type].append(OutgoingMessage(claim.child_id, body, claim.subject))
        round_.sends = [
            self._threads.submit(self._send, round_, queue, batch)
            for queue, messages in by_queue.items()
            for batch in _batches(messages)
        ]
        return round_

    def _finish(self, round_: _Round) -> int:
        """Wait for a round's sends and write down what became of it; returns how many were sent."""
        for send in round_.sends:
            send.result()
        self._settle(round_)
        return len(round_.sent)

    def _send(self, round_: _Round, queue: str, batch: Sequence[OutgoingMessage]) -> None:
        """Send one batch and sort its entries; runs in a sending thread, touches no database."""
        claims = {entry.id: round_.claims[entry.id] for entry in batch}
        if round_.outage.reason is not None or time.monotonic() > round_.last_start:
            round_.refused.extend(claims.values())  # never left this process
            metrics.ATTEMPTS.labels("not_sent").inc(len(claims))
            return
        try:
            outcome = self._queue.send_batch(queue, batch)
        except QueueUnavailable as error:
            round_.outage.reason = str(error)
            metrics.ENQUEUE_FAILURES.labels(reason(str(error))).inc()
            metrics.ATTEMPTS.labels("unknown").inc(len(claims))
            return
        _sort(round_, claims, outcome)

    def _settle(self, round_: _Round) -> None:
        """Write down what became of a round."""
        marked = outbox.mark_dispatched(_fences(round_.sent))
        outbox.record_failure(
            _fences(round_.refused),
            first_seconds=FIRST_RETRY_SECONDS,
            later_seconds=LATER_RETRY_SECONDS,
        )
        for claim in round_.sent:
            attempt = claim.fence.dispatch_attempts
            trace = claim.message.get("traceparent")
            log.info(
                "message_sent",
                import_id=claim.child_id,
                attempt=attempt,
                trace_id=tracing.trace_id(trace),
            )
            tracing.note("dispatch", trace, round_.began_ns, time.time_ns(), attempt=attempt)
        metrics.ATTEMPTS.labels("accepted").inc(marked)
        metrics.ATTEMPTS.labels("lease_lost").inc(len(round_.sent) - marked)
        for claim, why in round_.hopeless:
            log.error("message_unsendable", import_id=claim.child_id, reason=why)
            if verdicts.reject(claim.fence, why):
                TERMINAL.labels("failed", "dispatch_rejected").inc()
        if round_.outage.reason is not None:
            self._breaker.trip(round_.outage.reason)
        log.info(
            "outbox_dispatched",
            claimed=len(round_.claims),
            sent=len(round_.sent),
            lease_lost=len(round_.sent) - marked,
            refused=len(round_.refused),
            hopeless=len(round_.hopeless),
            outage=round_.outage.reason,
        )

    def _exhaust(self) -> None:
        for item_id in outbox.exhausted_ids(EXHAUST_LIMIT):
            child_id = verdicts.exhaust(item_id)
            if child_id is not None:
                metrics.EXHAUSTED.inc()
                TERMINAL.labels("failed", "exhausted").inc()
                log.error("dispatch_exhausted", import_id=child_id)


def _last_start() -> float:
    """Return the monotonic time after which a send could outlive a lease taken from now on."""
    return time.monotonic() + outbox.LEASE_SECONDS - WORST_SEND_SECONDS


def _fences(claims: Iterable[Claimed]) -> list[Fence]:
    return [claim.fence for claim in claims]


def _batches(messages: Sequence[OutgoingMessage]) -> Iterable[Sequence[OutgoingMessage]]:
    for start in range(0, len(messages), MAX_BATCH_ENTRIES):
        yield messages[start : start + MAX_BATCH_ENTRIES]


def _sort(round_: _Round, claims: dict[str, Claimed], outcome: SendOutcome) -> None:
    round_.sent.extend(claims[child_id] for child_id in outcome.sent)
    metrics.ATTEMPTS.labels("rejected").inc(len(outcome.rejected))
    metrics.ATTEMPTS.labels("unknown").inc(len(outcome.unknown))
    for child_id, rejection in outcome.rejected.items():
        metrics.ENQUEUE_FAILURES.labels(reason(rejection.code)).inc()
        if rejection.permanent:
            round_.hopeless.append((claims[child_id], rejection.code))
        else:
            log.warning("message_refused", import_id=child_id, reason=rejection.code)
            round_.refused.append(claims[child_id])
    for child_id in outcome.unknown:
        log.warning("send_unknown", import_id=child_id)
