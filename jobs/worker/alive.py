"""When a worker counts as alive: while each of its queues is looked at."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Mapping

from jobs.health import Health
from jobs.settings import WorkerSettings
from jobs.worker.consumer import LeasedConsumer
from jobs.worker.metrics import HELD, TEMP_FREE, TEMP_SIZE

#: A queue that was not looked at for this long has lost its thread; a long poll is far shorter.
_SILENT_SECONDS = 120


def health(settings: WorkerSettings, consumers: Mapping[str, LeasedConsumer]) -> Health:
    """Build what tells a worker's metrics and that it lives."""
    for queue, consumer in consumers.items():
        HELD.labels(queue).set_function(consumer.held)

    directory = settings.worker_temp_dir or tempfile.gettempdir()
    TEMP_FREE.set_function(lambda: shutil.disk_usage(directory).free)
    TEMP_SIZE.set_function(lambda: shutil.disk_usage(directory).total)

    def trouble() -> str | None:
        for queue, consumer in consumers.items():
            silent_seconds = time.monotonic() - consumer.last_look
            if silent_seconds > _SILENT_SECONDS:
                return f"nobody has looked at {queue} for {silent_seconds:.0f} s"
        return None

    return Health(settings, settings.worker_metrics_port, trouble)
