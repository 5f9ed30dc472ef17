"""drain(): what SQS moved to a dead-letter queue gets its verdict in PostgreSQL, then goes.

The copy in the DLQ is deleted only after the verdict's commit; batch_item.message stays the
durable copy. What does not decode or is unknown stays where it is, counted and alarmed.
"""

from __future__ import annotations

import structlog

from jobs.errors import QueueUnavailable
from jobs.queue import DeadLetter, QueueClient
from models import verdicts
from models.errors import NotFound
from models.states import ImportType

log = structlog.get_logger(__name__)


class DeadLetters:
    """Drains both dead-letter queues. Safe in many schedulers at once: verdicts are guarded."""

    def __init__(self, queue: QueueClient) -> None:
        self._queue = queue

    def drain(self) -> int:
        """Settle one receive of each DLQ; returns how many copies were deleted.

        An SQS outage ends the pass; the next one goes on.
        """
        settled = 0
        for import_type in ImportType:
            try:
                letters = self._queue.receive_dead(import_type)
                settled += sum(self._settle(import_type, letter) for letter in letters)
            except QueueUnavailable as error:
                log.warning("dead_letters_unreadable", queue=str(import_type), reason=str(error))
        return settled

    def _settle(self, import_type: ImportType, letter: DeadLetter) -> int:
        if letter.message is None or letter.message.type != import_type:
            log.error("dead_letter_unknown", import_id=letter.import_id, queue=str(import_type))
            return 0
        try:
            verdict = verdicts.settle_dead_letter(import_type, letter.message.import_id)
        except NotFound:
            log.error("dead_letter_unknown", import_id=letter.import_id, queue=str(import_type))
            return 0
        self._queue.delete_dead(import_type, letter.receipt)
        log.warning("dead_letter_settled", import_id=letter.import_id, verdict=verdict)
        return 1
