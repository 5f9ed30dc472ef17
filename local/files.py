"""Small files of the data directory, readable by the owner only and never half written."""

import os
from pathlib import Path


def read_text(path: Path) -> str | None:
    """Return the stripped content; None when there is no such file."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None


def read_int(path: Path) -> int | None:
    """Return the number in the file; None when it is missing or not a number."""
    text = read_text(path)
    return int(text) if text and text.isdigit() else None


def write_private(path: Path, text: str) -> None:
    """Replace the file at once, mode 0600."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(path)
