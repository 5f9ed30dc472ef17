"""The whole product on one machine: what `python3 run.py` runs and the tests drive.

One thread of its own owns every process, since a process here dies with the thread that started
it. Several stacks may run at once, each with its own data directory and port.
"""

import queue
import shutil
import threading
import time
import traceback
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from local.claim import Claim
from local.errors import LocalError
from local.operate import remember_environment
from local.plan import Plan
from local.processes import port_is_free
from local.provision import Account, Provisioned
from local.services import Services
from local.supervisor import Supervisor
from local.tasks import ROOT, note, programs, run_task

ALL = ("web", "scheduler", "worker")
_READY_SECONDS = 60.0
_STOP_SECONDS = 19.0


class Stopped(LocalError):
    """Somebody asked for a stop while the start was still going on."""


class Stack:
    """One installation of the product on one data directory."""

    def __init__(
        self,
        data_dir: Path,
        port: int | None = None,
        processes: Sequence[str] = ALL,
        *,
        durable: bool = True,
        given: Mapping[str, str] | None = None,
    ) -> None:
        self.data_dir = data_dir.absolute()
        self.plan = Plan(self.data_dir, port, given or {})
        self.services = Services(self.plan, durable=durable)
        self._processes = tuple(processes)
        self._claim = Claim(self.data_dir)
        self.stop_asked = False
        self._requests: queue.Queue[tuple[Callable[[], Any], Future[Any]]] = queue.Queue()
        self._thread: threading.Thread | None = None
        self.supervisor = Supervisor(
            programs(),
            env=self.env,
            cwd=ROOT,
            logs=self.data_dir / "logs",
            on_change=self._remember,
        )

    @property
    def port(self) -> int:
        """The port of the web process."""
        return self.plan.port

    @property
    def url(self) -> str:
        """The address of the web process."""
        return self.plan.web_url

    @property
    def database_url(self) -> str:
        """The DSN of the product's database."""
        return self.services.database_url

    @property
    def account(self) -> Account:
        """The AWS account the product works in."""
        return self.services.account

    @property
    def provisioned(self) -> Provisioned:
        """The user pool and its first user. Raises LocalError when Cognito is not embedded."""
        return self.services.provisioned

    def start(self) -> None:
        """Start everything and return when the web process answers that it is ready.

        Raises LocalError when something cannot start (what did start is stopped again), or
        Stopped when stop() was called meanwhile.
        """
        self._claim.take()
        self.stop_asked = False
        self._thread = threading.Thread(target=self._own, name="stack", daemon=True)
        self._thread.start()
        try:
            self._call(self._start)
        except BaseException:
            self.stop()
            raise

    def ask_to_stop(self) -> None:
        """Let a start that still goes on end early. Safe in a signal handler."""
        self.stop_asked = True

    def stop(self) -> None:
        """Stop all in order within 20 seconds; may be called at any time, and again."""
        self.stop_asked = True
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._claim.release()

    def destroy(self) -> None:
        """Stop and delete every trace of this installation."""
        self.stop()
        self.services.destroy()
        shutil.rmtree(self.data_dir)

    def env(self, process: str) -> dict[str, str]:
        """Return the whole environment of one process type."""
        return self.plan.env(process, self.services.variables())

    def kill(self, process: str) -> int:
        """SIGKILL one process and return its old number; the supervisor will start it again."""
        return int(self._call(lambda: self._kill(process)))

    def restart(self, process: str) -> None:
        """Stop one process in an orderly way and start it again."""
        self._call(lambda: self._restart(process))

    def pause(self, process: str) -> None:
        """Stop one process and leave it stopped until restart()."""
        self._call(lambda: self._pause(process))

    def pid(self, process: str) -> int | None:
        """Return the number of a running process (also `postgres`, `aws`)."""
        identity = self.identities().get(process)
        return identity.pid if identity else None

    def identities(self) -> dict[str, Any]:
        """Return who runs now."""
        return {**self.services.identities(), **self.supervisor.identities()}

    # What follows runs on the owning thread only.

    def _own(self) -> None:
        while not self.stop_asked:
            try:
                work, future = self._requests.get(timeout=0.1)
            except queue.Empty:
                self._watch_safely()
                continue
            _settle(future, work)
        self._stop_in_order()
        while not self._requests.empty():
            _, future = self._requests.get()
            future.set_exception(Stopped("stopped"))

    def _call(self, work: Callable[[], Any]) -> Any:
        future: Future[Any] = Future()
        self._requests.put((work, future))
        return future.result()

    def _start(self) -> None:
        if not port_is_free(self.plan.port):
            raise LocalError(
                f"Port {self.plan.port} is taken by another program: stop that one, "
                "or choose another port with PORT=8001."
            )
        steps: list[Callable[[], None]] = [
            self.services.start,
            lambda: remember_environment(self.data_dir, self.env("web")),
            lambda: self._run_task("release"),
            self._resume,
            *(lambda name=name: self.supervisor.start(name) for name in self._processes),
        ]
        self.services.on_change = self._remember
        for step in steps:
            try:
                step()
            finally:
                if self.stop_asked:
                    raise Stopped("stopped")
        if "web" in self._processes:
            self._wait_for_web()

    def _resume(self) -> None:
        """Begin a new run for all that was in flight when the last run was killed."""
        if self.services.was_killed:
            self._run_resume()

    def _run_task(self, name: str) -> None:
        run_task(name, self.env("release"), self.data_dir, is_unwanted=lambda: self.stop_asked)

    def _run_resume(self) -> None:
        try:
            self._run_task("resume")
        except LocalError as error:
            # The stall sweep finds the same imports later: no reason not to start.
            note(self.data_dir, str(error))

    def _wait_for_web(self) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while not self._web_is_ready():
            self._watch()
            if self.stop_asked:
                raise Stopped("stopped")
            if time.monotonic() > deadline:
                log = self.data_dir / "logs" / "web.log"
                raise LocalError(f"The web process is not ready; the reason is in {log}.")
            time.sleep(0.05)

    def _web_is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:  # noqa: S310
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _watch_safely(self) -> None:
        try:
            self._watch()
        except Exception:  # the edge: this thread must live, every process hangs on it
            note(self.data_dir, traceback.format_exc())

    def _watch(self) -> None:
        self.supervisor.watch()
        if self.services.watch():
            # The emulator's queues went back to an older state: begin anew what they lost.
            self._run_resume()

    def _kill(self, process: str) -> int:
        child = self.supervisor.programs[process].child
        if child is None:
            raise LocalError(f"{process} does not run")
        child.process.kill()
        return child.pid

    def _pause(self, process: str) -> None:
        self.supervisor.stop([process], _STOP_SECONDS)

    def _restart(self, process: str) -> None:
        self._pause(process)
        self.supervisor.start(process)

    def _remember(self) -> None:
        self.services.remember(self.identities())

    def _stop_in_order(self) -> None:
        """Users of a part before the part, all against one deadline."""
        end = time.monotonic() + _STOP_SECONDS
        clean = self.supervisor.stop(["worker", "scheduler"], _STOP_SECONDS - 3.5)
        clean &= self.supervisor.stop(["web"], max(1.0, end - 2.5 - time.monotonic()))
        self.services.stop(until=end, clean=clean)


def _settle(future: "Future[Any]", work: Callable[[], Any]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # handed to the thread that asked
        future.set_exception(error)
