"""Private temporary directories: one per worker process, one per job inside, none left behind.

A worker holds a lock on a file in its directory for as long as it lives. A directory whose lock
can be had belongs to a worker that was killed, and goes.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import structlog

from jobs.worker.errors import DiskTrouble

_PREFIX = "torikomi-worker-"
_LOCK = "lock"
#: A directory without a lock file may be one that another worker is just making.
_YOUNG_SECONDS = 60

log = structlog.get_logger(__name__)


class TempRoot:
    """This process's directory, 0700."""

    def __init__(self, parent: Path | None) -> None:
        self._parent = parent or Path(tempfile.gettempdir())
        self._remove_stale()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self._parent))
        self._lock = _take_lock(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL)

    @contextmanager
    def job(self) -> Iterator[Path]:
        """Yield an empty directory that is gone afterwards. Raises DiskTrouble."""
        try:
            directory = Path(tempfile.mkdtemp(dir=self.path))
        except OSError as error:
            raise DiskTrouble(str(error.strerror)) from error
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def close(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _remove_stale(self) -> None:
        for path in self._parent.glob(f"{_PREFIX}*"):
            with suppress(OSError):
                if path.is_symlink() or path.stat().st_uid != os.geteuid():
                    continue
                if self._is_stale(path):
                    shutil.rmtree(path, ignore_errors=True)
                    log.info("stale_directory_removed", directory=path.name)

    @staticmethod
    def _is_stale(path: Path) -> bool:
        try:
            lock = _take_lock(path / _LOCK, os.O_RDWR)
        except FileNotFoundError:
            return time.time() - path.stat().st_mtime > _YOUNG_SECONDS
        if lock is None:
            return False
        os.close(lock)
        return True


def _take_lock(path: Path, flags: int) -> int | None:
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
