"""Gunicorn's own settings and hooks (`--config python:web.serving`): how it logs and counts.

Loaded once, in the process that forks: nothing that counts or connects is imported here.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from gunicorn.glogging import Logger

from jobs import logs
from jobs.settings import LogSettings

#: Where create_app leaves what is started here.
LISTENER = "torikomi_listener"
WIRE = "torikomi_wire"


def _room_for_counts() -> list[str]:
    """Make the directory that all processes count in, anew at each start, as counters begin at 0.

    Without one each process would tell its own counts.
    """
    with suppress(OSError):
        return [f"PROMETHEUS_MULTIPROC_DIR={tempfile.mkdtemp(prefix='torikomi-web-')}"]
    return []


class OwnLogger(Logger):
    """Gunicorn's words go the way of all others: one JSON object a line."""

    def setup(self, cfg: Any) -> None:
        """Give up gunicorn's own handlers for the root logger's."""
        super().setup(cfg)
        logs.configure("web", LogSettings())
        self.error_log.handlers.clear()
        self.error_log.propagate = True


logger_class = OwnLogger
raw_env = _room_for_counts()


def post_worker_init(worker: Any) -> None:  # gunicorn ships no types
    """Listen for scrapes in this process or, when another one does already, after it."""
    worker.wsgi.extensions[WIRE].begin(worker)
    worker.wsgi.extensions[LISTENER].start()


def on_exit(_server: Any) -> None:
    """Delete the counts."""
    for setting in raw_env:
        shutil.rmtree(Path(setting.partition("=")[2]), ignore_errors=True)
