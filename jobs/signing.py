"""Sign and verify reports: Standard Webhooks 1.0, both ends.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import time
from collections.abc import Mapping, Sequence

from jobs.errors import SignatureInvalid

ID_HEADER = "webhook-id"
TIMESTAMP_HEADER = "webhook-timestamp"
SIGNATURE_HEADER = "webhook-signature"

TOLERANCE_SECONDS = 300

_TIMESTAMP = re.compile(r"[0-9]{1,12}")
#: No dot: it separates the signed parts.
_MESSAGE_ID = re.compile(r"[\x21-\x2d\x2f-\x7e]{1,256}")
#: More signatures than any rotation needs; bounds the work of one request.
_MAX_SIGNATURES = 16


def sign(secrets: Sequence[bytes], message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the three headers for `body`; the first secret signs. `timestamp` is Unix seconds."""
    digest = _digest(secrets[0], message_id, str(timestamp), body)
    return {
        ID_HEADER: message_id,
        TIMESTAMP_HEADER: str(timestamp),
        SIGNATURE_HEADER: "v1," + base64.b64encode(digest).decode("ascii"),
    }


def verify(
    secrets: Sequence[bytes],
    headers: Mapping[str, Sequence[str] | str],
    body: bytes,
    *,
    now: float | None = None,
) -> str:
    """Return the webhook id of a request that a holder of one of `secrets` signed.

    `headers` maps any-case names to one value or to all values received. `now` is Unix seconds,
    the clock when None. Raises SignatureInvalid and nothing else, whatever was received.
    """
    message_id = _single(headers, ID_HEADER)
    timestamp = _single(headers, TIMESTAMP_HEADER)
    signatures = _single(headers, SIGNATURE_HEADER)
    if not _MESSAGE_ID.fullmatch(message_id) or not _TIMESTAMP.fullmatch(timestamp):
        raise SignatureInvalid("webhook id or timestamp is malformed", reason="id_or_timestamp")
    current = time.time() if now is None else now
    if abs(current - int(timestamp)) > TOLERANCE_SECONDS:
        raise SignatureInvalid("webhook timestamp is outside the tolerance", reason="clock")
    candidates = _candidates(signatures)
    matches = 0
    for secret in secrets:
        expected = base64.b64encode(_digest(secret, message_id, timestamp, body))
        for candidate in candidates:
            matches |= hmac.compare_digest(expected, candidate)
    if not matches:
        raise SignatureInvalid("no signature matches")
    return message_id


def _digest(secret: bytes, message_id: str, timestamp: str, body: bytes) -> bytes:
    content = f"{message_id}.{timestamp}.".encode() + body
    return hmac.new(secret, content, hashlib.sha256).digest()


def _single(headers: Mapping[str, Sequence[str] | str], name: str) -> str:
    found: list[str] = []
    for key, value in headers.items():
        if key.lower() == name:
            found.extend([value] if isinstance(value, str) else value)
    if len(found) != 1 or not found[0].isascii():
        raise SignatureInvalid(f"exactly one {name} header is needed", reason="header")
    return found[0]


def _candidates(signatures: str) -> list[bytes]:
    parts = signatures.split(" ")
    if len(parts) > _MAX_SIGNATURES:
        raise SignatureInvalid("too many signatures")
    return [part[3:].encode("ascii") for part in parts if part.startswith("v1,")]
