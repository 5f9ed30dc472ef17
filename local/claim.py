"""One data directory belongs to one running stack: the lock, and the memory of what ran."""

import fcntl
import json
import os
import signal
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from local.errors import LocalError
from local.files import read_text, write_private
from local.processes import Identity, kill_identity

_GRACE_SECONDS = 5.0


class Claim:
    """Holds the lock of a data directory from take() to release(), or until we die."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._descriptor: int | None = None

    def take(self) -> None:
        """Make the directory and lock it. Raises LocalError with the remedy."""
        try:
            # Root's PostgreSQL, another user, has to pass through to its files.
            mode = 0o711 if os.geteuid() == 0 else 0o700
            self._data_dir.mkdir(mode=mode, parents=True, exist_ok=True)
            descriptor = os.open(self._data_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise LocalError(
                f"The data directory {self._data_dir} cannot be written ({error.strerror}): "
                "make it writable for you, or choose another with TORIKOMI_DATA=/some/directory."
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise LocalError(self._already_running()) from None
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the directory free; harmless when it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _already_running(self) -> str:
        where = f" at {url}" if (url := read_run(self._data_dir).get("web_url")) else ""
        return (
            f"Torikomi already runs{where} on the data directory {self._data_dir}: use that one, "
            "stop it with Ctrl-C, or choose another directory with TORIKOMI_DATA and another PORT."
        )


def is_running(data_dir: Path) -> bool:
    """Say whether a stack holds the directory now. Changes nothing."""
    try:
        descriptor = os.open(data_dir / "lock", os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def read_run(data_dir: Path) -> dict[str, str]:
    """Return what the running (or last) stack said about itself."""
    loaded = json.loads(read_text(data_dir / "run.json") or "{}")
    return {str(name): str(value) for name, value in loaded.items()}


def write_run(data_dir: Path, facts: Mapping[str, str]) -> None:
    """Remember the addresses of this run, for `token` and for a second start's message."""
    write_private(data_dir / "run.json", json.dumps(dict(facts)))


def remember(data_dir: Path, identities: Mapping[str, Identity]) -> None:
    """Write down who runs, before we may be killed."""
    rows = {name: asdict(identity) for name, identity in identities.items()}
    write_private(data_dir / "processes.json", json.dumps(rows))


def clear_orphans(data_dir: Path, order: Iterable[str]) -> None:
    """Stop what an earlier, killed run left behind; a stranger with a reused number is spared."""
    loaded = json.loads(read_text(data_dir / "processes.json") or "{}")
    identities = {name: Identity(**row) for name, row in loaded.items()}
    for name in order:
        if name in identities:
            kill_identity(identities[name], _GRACE_SECONDS, signal.SIGTERM)
    (data_dir / "processes.json").unlink(missing_ok=True)
