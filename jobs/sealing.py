"""Seal a short secret so that only a worker opens it: HPKE (RFC 9180), bound to one import.

The web process holds the public key and cannot open what it has sealed; PostgreSQL, SQS, logs and
back-ups see the sealed form alone. `python -m jobs.sealing` prints a new pair of keys.
"""

from __future__ import annotations

import base64
import binascii
import sys
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from jobs.errors import SealInvalid

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
_PREFIX = "sealed1."


def new_pair() -> tuple[str, str]:
    """Return a new public key and its private key, both as text for the settings."""
    private = X25519PrivateKey.generate()
    return _text(private.public_key().public_bytes_raw()), _text(private.private_bytes_raw())


def seal(public_key: bytes, secret: str, import_id: str) -> str:
    """Return `secret` sealed to the holder of the private key, for this import only."""
    key = X25519PublicKey.from_public_bytes(public_key)
    return _PREFIX + _text(_SUITE.encrypt(secret.encode(), key, info=import_id.encode()))


def unseal(private_keys: Sequence[bytes], sealed: str, import_id: str) -> str:
    """Return the secret; every key is tried. Raises SealInvalid when none opens it."""
    try:
        content = base64.b64decode(sealed.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SealInvalid("the sealed text is broken") from error
    for raw in private_keys:
        key = X25519PrivateKey.from_private_bytes(raw)
        try:
            return _SUITE.decrypt(content, key, info=import_id.encode()).decode()
        except (InvalidTag, ValueError):
            continue
    raise SealInvalid("no key opens the sealed text")


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


if __name__ == "__main__":
    public, private = new_pair()
    sys.stdout.write(f"SEALING_PUBLIC_KEY={public}\nSEALING_PRIVATE_KEYS={private}\n")
