"""The table of periods, and what keeps one bad tick from stopping the others.

APScheduler calls each tick in its own thread. A tick holds one database connection, logs its own
failure and never raises. Dispatch also runs when PostgreSQL notifies; a wake-up that comes during
a tick makes that tick go round once more.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from models import database, status
from models.errors import ModelsError
from scheduler.deadletters import DeadLetters
from scheduler.dispatcher import Dispatcher
from scheduler.janitor import Janitor
from scheduler.metrics import LAST_SUCCESS, TICK_SECONDS, TICKS
from scheduler.notifier import Notifier
from scheduler.sampler import Sampler
from scheduler.settings import SchedulerSettings
from scheduler.sweeper import Sweeper

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Tick:
    """One repeated job: its name, its period, and what it does."""

    name: str
    period_seconds: float
    run: Callable[[], object]


class DispatchTick:
    """Runs the dispatcher for polls and for wake-ups, one at a time, missing none."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._running = threading.Lock()
        self._again = threading.Event()

    def run(self) -> None:
        """Dispatch until nothing is due; when a tick is already at it, let that one look again."""
        self._again.set()
        while self._again.is_set() and self._running.acquire(blocking=False):
            try:
                self._again.clear()
                self._dispatcher.dispatch_due()
            finally:
                self._running.release()


class Watch:
    """Knows since when each tick has been running, for the watchdog."""

    def __init__(self) -> None:
        self._started: dict[int, tuple[str, float]] = {}
        self._ended_at = time.monotonic()
        self._lock = threading.Lock()

    def guard(self, tick: Tick) -> Callable[[], None]:
        """Wrap a tick: connection, timing, and its failures logged once."""

        def run() -> None:
            key, began, outcome = threading.get_ident(), time.monotonic(), "failed"
            with self._lock:
                self._started[key] = (tick.name, began)
            try:
                with database.connection():
                    tick.run()
                outcome = "ok"
                LAST_SUCCESS.labels(tick.name).set_to_current_time()
            except ModelsError as error:
                log.error("tick_failed", tick=tick.name, error=error.code)
            except Exception:  # the edge: a bug in one tick must not end the scheduler
                log.exception("tick_crashed", tick=tick.name)
            finally:
                with self._lock:
                    self._started.pop(key, None)
                    self._ended_at = time.monotonic()
                TICKS.labels(tick.name, outcome).inc()
                TICK_SECONDS.labels(tick.name).observe(time.monotonic() - began)

        return run

    def idle_seconds(self) -> float:
        """Return since when no tick at all has ended, well or not."""
        return time.monotonic() - self._ended_at

    def hung(self, longer_than_seconds: float) -> str | None:
        """Return the name of a tick that has been running for too long, or None."""
        now = time.monotonic()
        with self._lock:
            started = list(self._started.values())
        return next((name for name, since in started if now - since > longer_than_seconds), None)


def table(
    settings: SchedulerSettings,
    dispatch: DispatchTick,
    sweeper: Sweeper,
    dead: DeadLetters,
    janitor: Janitor,
    notifier: Notifier,
) -> list[Tick]:
    """Return every tick of the process with its period."""
    return [
        Tick("dispatch", settings.dispatch_period_seconds, dispatch.run),
        Tick("sweep", settings.sweep_period_seconds, sweeper.sweep),
        Tick("dead_letters", settings.dead_letter_period_seconds, dead.drain),
        Tick("heartbeat", settings.heartbeat_period_seconds, _heartbeat),
        Tick("sample", settings.sample_period_seconds, Sampler(settings).sample),
        Tick("housekeeping", settings.housekeeping_period_seconds, janitor.clean),
        Tick("notify", settings.notify_period_seconds, notifier.deliver_due),
    ]


def _heartbeat() -> None:
    name = f"scheduler:{socket.gethostname()}:{os.getpid()}"
    status.put(name, "scheduler", {"pid": os.getpid()})
