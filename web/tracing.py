"""W3C trace context: taken over from the caller when well-formed, else begun here.

https://www.w3.org/TR/trace-context/#traceparent-header
"""

from __future__ import annotations

import re
import secrets

_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def traceparent(header: str | None) -> str:
    """Return the caller's traceparent, or a new sampled one."""
    if header is not None and _TRACEPARENT.fullmatch(header):
        return header
    return f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"


def trace_id(header: str | None) -> str | None:
    """Return the trace id of a well-formed traceparent, for the log."""
    return header.split("-")[1] if header is not None and _TRACEPARENT.fullmatch(header) else None
