"""`Prefer: wait=N` (RFC 7240): hold an answer until something has changed, for at most 30 seconds.

A waiting request sleeps between short looks and holds no database connection meanwhile. It does
hold a thread, so only a few may wait in one process; the others are answered at once, without
`Preference-Applied`. When the process is told to stop, all are answered with what there is.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from flask import request
from werkzeug.wrappers import Response

from web.answers import etag_of, json_answer
from web.services import services

MAX_WAIT_SECONDS = 30
_LOOK_SECONDS = 0.5
_WAIT = re.compile(r'(?:^|[,;])\s*wait\s*=\s*"?(\d{1,6})"?\s*(?=$|[,;])', re.IGNORECASE)

Body = Mapping[str, Any]


class Waiters:
    """Counts who waits in this process."""

    def __init__(self, most: int) -> None:
        #: Whether the process is told to stop; then nobody waits any longer.
        self.stopping: Callable[[], bool] = lambda: False
        self._slots = threading.BoundedSemaphore(most)

    @contextmanager
    def slot(self) -> Iterator[bool]:
        """Take a place for the block, or say that there is none."""
        taken = self._slots.acquire(blocking=False)
        try:
            yield taken
        finally:
            if taken:
                self._slots.release()


def preferred_seconds() -> int:
    """Return how long the caller would wait; 0 when it does not say, or not in this form."""
    found = _WAIT.search(",".join(request.headers.getlist("Prefer")))
    return min(int(found[1]), MAX_WAIT_SECONDS) if found else 0


def status_answer(look: Callable[[], Body], *, ended: Callable[[Body], bool]) -> Response:
    """Answer with the body that `look` returns, after the wait that the caller prefers.

    With If-None-Match the wait is for a change, without for the end. `look` opens and closes its
    own database connection.
    """
    body = look()
    seconds = preferred_seconds()
    if not seconds or _worth_telling(body, ended):
        return json_answer(body)
    with services().waiters.slot() as taken:
        if not taken:
            return json_answer(body)
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and not _worth_telling(body, ended):
            if services().waiters.stopping():
                break
            time.sleep(min(_LOOK_SECONDS, left))
            body = look()
    response = json_answer(body)
    response.headers["Preference-Applied"] = f"wait={seconds}"
    return response


def _worth_telling(body: Body, ended: Callable[[Body], bool]) -> bool:
    known = request.if_none_match
    return not known.contains(etag_of(body)) if known else ended(body)
