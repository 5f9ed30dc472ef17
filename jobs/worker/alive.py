"""When a worker counts as alive: while each of its queues is looked at."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Mapping
from functools import partial

from jobs.health import Health
from jobs.settings import WorkerSettings
from jobs.worker.consumer import LeasedConsumer
from jobs.worker.metrics import HELD, TEMP_FREE, TEMP_SIZE

#: A queue that was not looked at for this long has lost its thread; a long poll is far shorter.
_SILENT_SECONDS = 120


def health(settings: WorkerSettings, consumers: Mapping[str, LeasedConsumer]) -> Health:
    """Build what tells a worker's metrics and that it lives.

    `consumers` may still be empty and fill up later: a worker that waits for SQS is alive.
    """

    def held(queue: str) -> int:
        consumer = consumers.get(queue)
        return consumer.held() if consumer is not None else 0

    for queue in settings.queues():
        HELD.labels(queue).set_function(partial(held, queue))

    directory = settings.worker_temp_dir or tempfile.gettempdir()
    TEMP_FREE.set_function(lambda: shutil.disk_usage(directory).free)
    TEMP_SIZE.set_function(lambda: shutil.disk_usage(directory).total)

    def trouble() -> str | None:
        for queue, consumer in list(consumers.items()):
            now = time.monotonic()
            silent_seconds = now - (consumer.last_look or now)
            if silent_seconds > _SILENT_SECONDS:
                return f"nobody has looked at {queue} for {silent_seconds:.0f} s"
        return None

    return Health(settings, settings.worker_metrics_port, trouble)
