"""The secrets of one embedded installation: made once, kept in its data directory, mode 0600."""

import base64
import secrets
from dataclasses import dataclass
from pathlib import Path

from jobs.sealing import new_pair
from local.files import read_text, write_private

USERNAME = "demo"


@dataclass(frozen=True)
class Keys:
    """What the processes share and what the first user signs in with."""

    session_secret: str
    webhook_secret: str
    password: str
    aws_secret: str
    sealing_public_key: str
    sealing_private_key: str


def load_keys(data_dir: Path) -> Keys:
    """Read the secrets, making those that do not exist yet."""
    folder = data_dir / "secrets"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    pair = _once(folder / "sealing_pair", " ".join(new_pair()))
    sealing_public_key, sealing_private_key = pair.split()
    return Keys(
        session_secret=_once(folder / "session_secret", secrets.token_urlsafe(48)),
        webhook_secret=_once(
            folder / "webhook_secret",
            "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode(),
        ),
        # A user pool asks for upper and lower case, a digit and a symbol.
        password=_once(folder / "password", f"Torikomi-{secrets.token_hex(5)}1"),
        aws_secret=_once(folder / "aws_secret", secrets.token_urlsafe(30)),
        sealing_public_key=sealing_public_key,
        sealing_private_key=sealing_private_key,
    )


def _once(path: Path, fresh: str) -> str:
    kept = read_text(path)
    if not kept:
        write_private(path, fresh)
    return kept or fresh
