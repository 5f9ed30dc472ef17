"""How many requests one subject may make in a while; told on every answer of the API.

Each subject has a bucket that holds `quota` requests and fills up evenly within the window. The
buckets are this process's own: with several web processes a subject has as many quotas. A shared
count would cost a write to PostgreSQL a request, to keep out what one process withstands.
https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

from flask import after_this_request
from werkzeug.wrappers import Response

from web.errors import WebError

NAME = "requests"
#: Subjects remembered; who has been away longest is forgotten first, with a full bucket anew.
_MAX_SUBJECTS = 10_000


@dataclass(frozen=True)
class Allowance:
    """What is left after one request: whole requests, seconds until one more, until all."""

    allowed: bool
    remaining: int
    next_seconds: int
    full_seconds: int


class RateLimit:
    """The buckets of one process; safe for all threads."""

    def __init__(self, quota: int, window_seconds: int) -> None:
        self.quota, self.window_seconds = quota, window_seconds
        self._rate = quota / window_seconds
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, subject: str) -> Allowance:
        """Take one request out of the subject's bucket, if there is one."""
        now = time.monotonic()
        with self._lock:
            level, at = self._buckets.pop(subject, (float(self.quota), now))
            level = min(self.quota, level + (now - at) * self._rate)
            allowed = level >= 1
            level -= allowed
            self._buckets[subject] = (level, now)
            if len(self._buckets) > _MAX_SUBJECTS:
                self._buckets.popitem(last=False)
        return Allowance(
            allowed,
            int(level),
            math.ceil(max(0.0, 1 - level) / self._rate),
            math.ceil((self.quota - level) / self._rate),
        )

    def give_back(self, subject: str) -> None:
        """Put one request back that was not to count."""
        with self._lock:
            if subject in self._buckets:
                level, at = self._buckets[subject]
                self._buckets[subject] = (min(float(self.quota), level + 1), at)

    def check(self, subject: str) -> None:
        """Count the current request and tell on its answer. Raises WebError("rate_limited")."""
        found = self.take(subject)

        @after_this_request
        def tell(response: Response) -> Response:
            policy = f'"{NAME}";q={self.quota};w={self.window_seconds}'
            response.headers["RateLimit-Policy"] = policy
            response.headers["RateLimit"] = f'"{NAME}";r={found.remaining};t={found.full_seconds}'
            return response

        if not found.allowed:
            seconds = str(max(1, found.next_seconds))
            raise WebError("rate_limited", headers={"Retry-After": seconds})
