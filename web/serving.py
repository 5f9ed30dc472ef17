"""Gunicorn's own settings and hooks (`--config python:web.serving`): how its processes count.

Nothing of the product is imported: this module is loaded once, in the process that forks.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

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


raw_env = _room_for_counts()


def post_worker_init(worker: Any) -> None:  # gunicorn ships no types
    """Listen for scrapes in this process or, when another one does already, after it."""
    worker.wsgi.extensions[WIRE].begin(worker)
    worker.wsgi.extensions[LISTENER].start()


def on_exit(_server: Any) -> None:
    """Delete the counts."""
    for setting in raw_env:
        shutil.rmtree(Path(setting.partition("=")[2]), ignore_errors=True)
