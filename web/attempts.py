"""How often signing in may fail, for one user name and from one address; see web.limits.

Each attempt is taken from both buckets before Cognito is asked, and given back when it succeeds:
who knows the password is not locked out by their own successes. The buckets are this process's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flask import request

from web.errors import WebError
from web.limits import RateLimit
from web.settings import WebSettings


class Attempts:
    """The attempts of one process; safe for all threads."""

    def __init__(self, settings: WebSettings) -> None:
        seconds = settings.sign_in_seconds
        self._names = RateLimit(settings.sign_in_name_attempts, seconds)
        self._addresses = RateLimit(settings.sign_in_address_attempts, seconds)
        self._proxies = settings.trusted_proxies

    @contextmanager
    def counted(self, username: str) -> Iterator[None]:
        """Count one attempt unless the block succeeds.

        Raises WebError("sign_in_limited") with Retry-After when there is none left.
        """
        places = ((self._names, username.casefold()), (self._addresses, self._address()))
        for limit, key in places:
            found = limit.take(key)
            if not found.allowed:
                seconds = str(max(1, found.next_seconds))
                raise WebError("sign_in_limited", headers={"Retry-After": seconds})
        yield
        for limit, key in places:
            limit.give_back(key)

    def _address(self) -> str:
        """Return the caller's address: as the outermost trusted proxy saw it."""
        direct = request.remote_addr or ""
        if not self._proxies:
            return direct
        seen = ",".join(request.headers.getlist("X-Forwarded-For")).split(",")
        return seen[-self._proxies].strip() if len(seen) >= self._proxies else direct
