"""UUIDv7 identifiers (RFC 9562, section 5.7), made by the backend only.

They sort by creation time within a millisecond and carry 74 random bits. They are names, not
capabilities: every read checks the owner.
"""

from __future__ import annotations

import re
import secrets
import time
import uuid
from datetime import UTC, datetime

_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def uuid7() -> str:
    """Return a new UUIDv7 in the usual lower-case text form."""
    milliseconds = time.time_ns() // 1_000_000
    rand_a, rand_b = secrets.randbits(12), secrets.randbits(62)
    value = (milliseconds & (2**48 - 1)) << 80 | 0x7 << 76 | rand_a << 64 | 0b10 << 62 | rand_b
    return str(uuid.UUID(int=value))


def uuid7_time(identifier: str) -> datetime:
    """Return the creation time (UTC, millisecond resolution) that a UUIDv7 carries."""
    return datetime.fromtimestamp((uuid.UUID(identifier).int >> 80) / 1000, tz=UTC)


def is_id(text: str) -> bool:
    """Tell whether `text` is a UUIDv7 in the form that `uuid7` makes."""
    return _UUID7.fullmatch(text) is not None
