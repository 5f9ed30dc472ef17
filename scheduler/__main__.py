"""The scheduler process: `python -m scheduler`. SIGTERM finishes the ticks at work and exits 0."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

import structlog
from apscheduler.schedulers.background import BackgroundScheduler
from pydantic import ValidationError

from jobs import logs, tracing
from jobs.health import Health
from jobs.queue import QueueClient
from jobs.storage import Storage
from models import database
from models.errors import DatabaseUnavailable
from models.outbox import CHANNEL
from scheduler.breaker import Breaker
from scheduler.deadletters import DeadLetters
from scheduler.dispatcher import Dispatcher
from scheduler.janitor import Janitor
from scheduler.notifier import Notifier
from scheduler.posting import Poster
from scheduler.settings import SchedulerSettings
from scheduler.sweeper import Sweeper
from scheduler.ticks import DispatchTick, Tick, Watch, table
from web import outgoing

#: The listener looks up from its wait this often to see whether the process is stopping.
LISTEN_SECONDS = 1.0
#: A scheduler none of whose ticks has ended for this long does no work.
SILENT_SECONDS = 60.0
#: EX_SOFTWARE: the supervisor restarts the process.
HUNG_EXIT_CODE = 70

log = structlog.get_logger(__name__)


def main() -> int:
    """Run until SIGTERM or SIGINT; returns the exit code."""
    try:
        settings = SchedulerSettings()
    except ValidationError as error:
        missing = ", ".join(str(problem["loc"][0]).upper() for problem in error.errors())
        sys.stderr.write(f"scheduler: set {missing} in the environment\n")
        return 1
    logs.configure("scheduler", settings)
    logging.getLogger("apscheduler").setLevel(logging.ERROR)  # "maximum instances" is normal
    tracing.configure("scheduler", settings)
    database.configure(settings)
    stop = threading.Event()
    _stop_on_signals(stop)

    queue, storage = QueueClient(settings), Storage(settings)
    dispatcher = Dispatcher(queue, Breaker(), settings, stop)
    dispatch = DispatchTick(dispatcher)
    poster = Poster(settings, timeout_seconds=settings.delivery_timeout_seconds)
    notifier = Notifier(poster, outgoing.event, settings, stop)
    watch = Watch()
    scheduler = BackgroundScheduler(
        job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
    )
    ticks = table(
        settings,
        dispatch,
        Sweeper(queue, settings),
        DeadLetters(queue, storage),
        Janitor(storage, settings),
        notifier,
    )
    for tick in ticks:
        scheduler.add_job(watch.guard(tick), "interval", seconds=tick.period_seconds, id=tick.name)
    scheduler.start()
    wake = watch.guard(Tick("dispatch_wake", 0, dispatch.run))
    listening = threading.Thread(target=_listen, args=(settings, stop, wake), name="listen")
    listening.start()
    health = _health(settings, watch)
    health.start()
    log.info("scheduler_started", ticks=[tick.name for tick in ticks])
    code = _wait(stop, watch, settings.tick_limit_seconds)
    scheduler.shutdown(wait=True)
    listening.join()
    health.stop()
    notifier.close()
    dispatcher.close()
    log.info("scheduler_stopped")
    return code


def _health(settings: SchedulerSettings, watch: Watch) -> Health:
    """Build what tells metrics and liveness: alive while ticks end and none is hung."""

    def trouble() -> str | None:
        hung = watch.hung(settings.tick_limit_seconds)
        if hung is not None:
            return f"the tick {hung} hangs"
        idle_seconds = watch.idle_seconds()
        return f"no tick for {idle_seconds:.0f} s" if idle_seconds > SILENT_SECONDS else None

    return Health(settings, settings.scheduler_metrics_port, trouble)


def _stop_on_signals(stop: threading.Event) -> None:
    def handle(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)


def _listen(settings: SchedulerSettings, stop: threading.Event, wake: Callable[[], None]) -> None:
    """Dispatch on each notification; the one-second poll covers whatever is missed here."""
    listener = database.Listener(settings, CHANNEL)
    while not stop.is_set():
        try:
            if listener.wait(LISTEN_SECONDS):
                wake()
        except DatabaseUnavailable:
            stop.wait(LISTEN_SECONDS)
    listener.close()


def _wait(stop: threading.Event, watch: Watch, limit_seconds: float) -> int:
    """Wait for the signal; a hung tick ends the process at once, for its supervisor to restart."""
    while not stop.wait(1.0):
        hung = watch.hung(limit_seconds)
        if hung is not None:
            log.critical("scheduler_hung", tick=hung)
            os._exit(HUNG_EXIT_CODE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
