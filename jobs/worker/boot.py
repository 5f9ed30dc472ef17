"""Start, run and stop one worker process: no Dramatiq CLI, no second process but the parsers'.

SIGTERM or SIGINT, however often: parsers are killed, what is held becomes visible again, exit 0
within 20 seconds.
"""

from __future__ import annotations

import os
import platform
import signal
import socket
import threading
import time

import dramatiq
import structlog
from pydantic import SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from jobs import logs, tracing
from jobs.errors import JobsError, QueueUnavailable
from jobs.messages import ACTORS
from jobs.settings import LogSettings, WorkerSettings
from jobs.storage import Storage
from jobs.worker import alive, walls
from jobs.worker.actors import declare_actors
from jobs.worker.broker import LeasedBroker
from jobs.worker.drawing import Drawing
from jobs.worker.equipment import find_recognition, note_japanese_font
from jobs.worker.gate import Gate
from jobs.worker.patience import Patience
from jobs.worker.reading import Reader
from jobs.worker.reporting import Reporter
from jobs.worker.runner import Runner
from jobs.worker.sandbox import Sandbox, SelfTest
from jobs.worker.tempdirs import TempRoot
from jobs.worker.watchdog import Watchdog

#: Dramatiq's threads look this often whether they should stop; no message waits for it.
_THREAD_WAKE_MILLISECONDS = 500
#: After this the process ends whatever still hangs.
_LAST_SECONDS = 19

log = structlog.get_logger(__name__)


class RefusedToStart(JobsError):
    """The worker cannot run like this; the message is one sentence for the operator."""

    code = "refused_to_start"


class ForeignSettings(BaseSettings):
    """What must not be in a worker's environment."""

    model_config = SettingsConfigDict(
        extra="ignore", hide_input_in_errors=True, env_ignore_empty=True
    )

    database_url: SecretStr | None = None


def main(parsers: str = "jobs.parsing") -> int:
    """Run a worker until it is told to stop; return the exit status.

    `parsers` names the module that the sandbox loads.
    """
    try:
        logs.configure("worker", LogSettings())
        settings = _settings()
        tracing.configure("worker", settings)
        return Process(settings, parsers).run()
    except JobsError as error:
        log.critical("worker_refused_to_start", reason=str(error))
        return 1


def _settings() -> WorkerSettings:
    if ForeignSettings().database_url is not None:
        raise RefusedToStart(
            "DATABASE_URL is set, but a worker must not know PostgreSQL: "
            "start it with env -u DATABASE_URL."
        )
    try:
        settings = WorkerSettings()
    except ValidationError as error:
        names = ", ".join(sorted({str(e["loc"][0]).upper() for e in error.errors() if e["loc"]}))
        raise RefusedToStart(f"these settings are missing or wrong: {names}.") from error
    unknown = sorted(set(settings.queues()) - set(ACTORS))
    if unknown or not settings.queues():
        raise RefusedToStart(
            f"WORKER_QUEUES may name {', '.join(ACTORS)}; it names {', '.join(unknown) or 'none'}."
        )
    return settings


class Process:
    """The parts of one worker process, wired together."""

    def __init__(self, settings: WorkerSettings, parsers: str) -> None:
        self._settings = settings
        self._stop = threading.Event()
        self._status = 0
        self._gate = Gate()
        try:
            self._temp_root = TempRoot(settings.worker_temp_dir)
        except OSError as error:
            raise RefusedToStart(
                f"No temporary directory can be made ({error.strerror}): set WORKER_TEMP_DIR."
            ) from error
        limits = walls.Limits(
            cpu_seconds=settings.parse_cpu_seconds,
            memory_bytes=settings.parse_memory_bytes,
            output_bytes=settings.parse_output_bytes,
        )
        self._sandbox = Sandbox(
            settings.queues(), limits, wall_seconds=settings.parse_wall_seconds, parsers=parsers
        )
        self._reporter = Reporter(settings)
        self._broker = LeasedBroker(settings, self._gate, self._stop)
        self._health = alive.health(settings, self._broker.consumers)

    def run(self) -> int:
        """Start everything, wait for a signal or a stall, stop everything."""
        self._listen_to_signals()
        try:
            tested = self._test_sandbox()
            walls.hide_from_children()
            self._health.start()
            if not self._open_queues():
                return self._status
            self._work(tested)
        finally:
            self._health.stop()
            self._sandbox.close()
            self._reporter.close()
            self._temp_root.close()
        log.info("worker_stopped", exit=self._status)
        return self._status

    def _listen_to_signals(self) -> None:
        """Turn signals into `_stop` in a thread of its own.

        Setting an event inside a handler deadlocks when a second signal interrupts the first.
        """
        here, there = socket.socketpair()
        there.setblocking(False)

        def listen() -> None:
            with here, there:
                here.recv(1)
                self._stop.set()
                while here.recv(64):
                    log.info("signal_ignored")

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(there.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=listen, name="signals", daemon=True).start()

    def _on_stall(self) -> None:
        self._status = 1
        self._stop.set()

    def _test_sandbox(self) -> SelfTest:
        if platform.system() != "Linux":
            raise RefusedToStart("Files are parsed in a sandbox that only Linux has.")
        with self._temp_root.job() as directory:
            secret = directory / "secret"
            secret.write_text("a parser must not read this")
            tested = self._sandbox.self_test(secret)
        log.info("sandbox_tested", walls=tested.walls, parser_version=tested.parser_version)
        if "page_import" in self._settings.queues():
            note_japanese_font(tested.japanese_font)
        if not set(tested.walls) - {"rlimits"}:
            raise RefusedToStart(
                "This machine offers none of seccomp, Landlock and namespaces, and files are not "
                "parsed without a sandbox."
            )
        if tested.unreadable:
            raise RefusedToStart(
                f"The sandbox cannot read {tested.unreadable[0]}: run the worker as the user that "
                "owns the installation."
            )
        return tested

    def _open_queues(self) -> bool:
        """Look all queues up, waiting for an SQS that does not answer; False when stopped."""
        for queue in self._settings.queues():
            while True:
                try:
                    self._broker.open_queue(queue)
                    break
                except QueueUnavailable as error:
                    if "NonExistentQueue" in error.reason or "QueueDoesNotExist" in error.reason:
                        raise RefusedToStart(
                            f"The queue {self._settings.queue_namespace}_{queue} does not exist."
                        ) from error
                    log.warning("queue_unavailable", queue=queue, reason=error.reason)
                if self._stop.wait(self._settings.probe_seconds):
                    return False
        return True

    def _work(self, tested: SelfTest) -> None:
        declare_actors(self._broker, self._settings.queues(), self._runner(tested).work)
        threads = self._settings.worker_threads * len(self._settings.queues())
        worker = dramatiq.Worker(
            self._broker, worker_timeout=_THREAD_WAKE_MILLISECONDS, worker_threads=threads
        )
        consumers = self._broker.consumers
        watchdog = Watchdog(
            consumers.values(),
            self._broker.leases,
            self._gate,
            self._on_stall,
            after_seconds=self._settings.watchdog_seconds,
        )
        worker.start()
        watchdog.start()
        log.info("worker_started", queues=list(consumers), threads=threads, pid=os.getpid())
        self._stop.wait()
        log.info("worker_stopping", held=sum(consumer.held() for consumer in consumers.values()))
        watchdog.stop()
        self._shut_down(worker)

    def _shut_down(self, worker: dramatiq.Worker) -> None:
        """Stop receiving and working at once; give back what is held within the time.

        Other workers may have been stopped at the same moment, and their polls take what is given
        back too early: each deploy is to cost one receive.
        """
        last = threading.Timer(_LAST_SECONDS, os._exit, (self._status,))
        last.daemon = True
        last.start()
        polls_end = time.monotonic() + self._settings.long_poll_seconds
        deadline = time.monotonic() + self._settings.stop_seconds
        for consumer in self._broker.consumers.values():
            consumer.wake()
        for receiving in worker.consumers.values():
            receiving.stop()
        for working in worker.workers:
            working.stop()
        for thread in (*worker.workers, *worker.consumers.values()):
            thread.join(max(deadline - time.monotonic(), 0))
        worker.stop(timeout=1)
        if any(consumer.held() for consumer in self._broker.consumers.values()):
            time.sleep(max(min(polls_end, deadline) - time.monotonic(), 0))
        for consumer in self._broker.consumers.values():
            consumer.abandon()
        last.cancel()

    def _runner(self, tested: SelfTest) -> Runner:
        settings = self._settings
        patience = Patience(
            self._gate,
            self._stop,
            probe_seconds=settings.probe_seconds,
            deadline_seconds=settings.job_deadline_seconds,
            unknown_import_seconds=settings.unknown_import_seconds,
            touch=self._touch,
        )
        storage = Storage(settings)
        drawing = Drawing(self._sandbox, storage, patience, seconds=settings.image_seconds)
        return Runner(
            storage,
            self._reporter,
            Reader(
                self._sandbox,
                drawing,
                find_recognition(self._sandbox, self._temp_root, patience, settings),
                patience,
                self._stop,
                touch=self._touch,
            ),
            self._temp_root,
            patience,
            self._stop,
            parser_version=tested.parser_version,
            progress_seconds=settings.progress_seconds,
            private_keys=settings.private_keys(),
            touch=self._touch,
        )

    def _touch(self) -> None:
        for consumer in self._broker.consumers.values():
            consumer.touch()
