"""The whole product with its real commands, every way of every process through a proxy of its own.

A process is killed, stopped and started again from here; what SQS took is written down; leases
are aged by SQL instead of being waited for.
"""

import json
import os
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import psycopg2
import psycopg2.extras

from jobs.messages import decode_message
from local.processes import Child, spawn
from local.procfile import read_procfile
from local.provision import access_token, client
from local.stack import Stack
from tests.faults.http_proxy import HttpProxy
from tests.faults.invariants import CLAIM_WITNESS, CLAIMS_SEEN, Witness, violations
from tests.faults.postgres_proxy import PostgresProxy
from tests.faults.proxy import Exchange

ROOT = Path(__file__).parents[2]
PROCESSES = ("web", "scheduler", "worker")

#: Everything that takes minutes in earnest takes seconds.
QUICK = {
    "VISIBILITY_SECONDS": "2",
    "HEARTBEAT_SECONDS": "0.5",
    "BACKOFF_SECONDS": "1,1,2,2",
    "LONG_POLL_SECONDS": "1",
    "PROGRESS_SECONDS": "0.5",
    "PROBE_SECONDS": "0.3",
    "UNKNOWN_IMPORT_SECONDS": "1",
    "SWEEP_PERIOD_SECONDS": "1",
    "DEAD_LETTER_PERIOD_SECONDS": "1",
    "STALL_AFTER_SECONDS": "40",
    "UNSTARTED_AFTER_SECONDS": "5",
    "WATCHDOG_SECONDS": "30",
    "TICK_LIMIT_SECONDS": "30",
    "WEB_THREADS": "8",
}
_READY = {"scheduler": b'"scheduler_started"', "worker": b'"worker_started"'}
#: A claim older than this was not left by a send that is still under way.
_CLAIM_SECONDS = 6

AGE = (
    f"""UPDATE batch_item SET lease_until = clock_timestamp() - interval '1 second'
        WHERE dispatched_at IS NULL AND lease_until > clock_timestamp()
          AND updated_at < clock_timestamp() - interval '{_CLAIM_SECONDS} seconds'""",
    """UPDATE idempotency_key SET lease_until = clock_timestamp() - interval '1 second'
       WHERE response IS NULL AND updated_at < clock_timestamp() - interval '3 seconds'""",
    """UPDATE process_status SET seen_at = seen_at - interval '1 minute'
       WHERE kind = 'breaker' AND data->>'state' <> 'closed'
         AND seen_at > clock_timestamp() - interval '1 minute'""",
)


class Product:
    """One installation whose processes this object owns; use as a context."""

    def __init__(self, directory: Path, **settings: str) -> None:
        # Durable: with synchronous_commit off a SIGKILL of PostgreSQL takes commits back.
        self.stack = Stack(directory, processes=())
        self.settings = {**QUICK, **settings}
        self.sent: dict[str, list[str]] = defaultdict(list)
        #: child → the sends that were tried, each by its invocation ID
        self.sends: dict[str, set[str]] = defaultdict(set)
        self.sent_too_early: set[str] = set()
        self._children: dict[str, Child] = {}
        self._special: set[str] = set()
        self._lock = threading.RLock()
        self._open = ExitStack()
        self._local = threading.local()

    def __enter__(self) -> "Product":
        self.stack.start()
        self._open.callback(self.stack.destroy)
        services = self.stack.services
        aws = lambda: ("127.0.0.1", services.emulator.port)  # noqa: E731
        postgres = lambda: ("127.0.0.1", services.postgres.port)  # noqa: E731
        web = lambda: ("127.0.0.1", self.stack.port)  # noqa: E731
        enter = self._open.enter_context
        self.aws = {name: enter(HttpProxy(aws)) for name in PROCESSES}
        self.postgres = {name: enter(PostgresProxy(postgres)) for name in ("web", "scheduler")}
        self.reports, self.door = enter(HttpProxy(web)), enter(HttpProxy(web))
        self._open.callback(self._end_all)
        self.aws["scheduler"].seen.append(self._write_down)
        token = access_token(self.stack.account, self.stack.provisioned)
        self.api = enter(
            httpx.Client(
                base_url=self.door.url, headers={"Authorization": f"Bearer {token}"}, timeout=30
            )
        )
        self.sqs, self.s3 = (client(name, self.stack.account) for name in ("sqs", "s3"))
        self.sql(CLAIM_WITNESS)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def proxies(self) -> list[Any]:
        """Every proxy there is."""
        return [*self.aws.values(), *self.postgres.values(), self.reports, self.door]

    def env(self, process: str) -> dict[str, str]:
        """Return the environment of a process: the product's own, led through the proxies."""
        env = {**self.stack.env(process), **self.settings}
        env["AWS_ENDPOINT_URL"] = self.aws[process].url
        env["WEB_URL"] = self.reports.url
        if "DATABASE_URL" in env:
            env["DATABASE_URL"] = self.postgres[process].url(env["DATABASE_URL"])
        return env

    def log(self, process: str) -> Path:
        """Return the log file of a process."""
        return self.stack.data_dir / "logs" / f"{process}.log"

    def start(self, *processes: str, wait: bool = True, command: str = "", **settings: str) -> None:
        """Start processes with the commands of the Procfile, and wait until they work.

        `scheduler:2` is a second scheduler. One with a `command` or `settings` of its own is
        replaced by an ordinary one before the next test.
        """
        commands = read_procfile(ROOT / "Procfile")
        begun = {}
        for name in processes:
            kind, path = name.partition(":")[0], self.log(name)
            begun[name] = path.stat().st_size if path.exists() else 0
            argv = ["/bin/sh", "-c", command or commands[kind]]
            env = {**self.env(kind), **settings}
            with self._lock:
                self._children[name] = spawn(argv, env=env, cwd=ROOT, log=path)
                (self._special.add if command or settings else self._special.discard)(name)
        for name, offset in begun.items() if wait else ():
            until(lambda name=name, offset=offset: self._is_ready(name, offset), 40, f"{name} up")

    def renew(self) -> None:
        """Have exactly the ordinary processes running."""
        for name in list(self._children):
            if name in self._special or name not in PROCESSES:
                self.kill(name)
                self._special.discard(name)
        self.start(*[name for name in PROCESSES if not self.alive(name)])

    def _is_ready(self, name: str, offset: int) -> bool:
        kind = name.partition(":")[0]
        if kind != "web":
            return _READY[kind] in self.log(name).read_bytes()[offset:]
        try:
            url = f"http://127.0.0.1:{self.stack.port}/readyz"
            return httpx.get(url, timeout=2).status_code == 200
        except httpx.HTTPError:
            return False

    def kill(self, process: str) -> None:
        """SIGKILL a process with its whole group, and wait until it is gone. Any thread may."""
        with self._lock:
            self._children[process].kill()

    def signal(self, process: str, number: int) -> None:
        """Send a signal to a process and its group."""
        with self._lock:
            if self._children[process].alive():
                os.killpg(self._children[process].pid, number)

    def alive(self, process: str) -> bool:
        """Say whether a process runs."""
        with self._lock:
            return process in self._children and self._children[process].alive()

    def stop(self, process: str) -> bool:
        """SIGTERM a process; say whether it ended by itself within 20 seconds."""
        with self._lock:
            return self._children[process].stop(signal.SIGTERM, 20)

    def _end_all(self) -> None:
        for name in self._children:
            self.kill(name)

    def exit_code(self, process: str) -> int | None:
        """Return how a process ended, or None while it runs."""
        return None if self.alive(process) else self._children[process].process.returncode

    def events(self, process: str) -> list[str]:
        """Return the names of the events that a process has logged."""
        lines = self.log(process).read_text("utf-8").splitlines()
        return [json.loads(line)["event"] for line in lines if line.startswith("{")]

    def queue_depth(self, name: str) -> int:
        """Count the messages of a queue, visible or held."""
        url = self.sqs.get_queue_url(QueueName=f"torikomi_{name}")["QueueUrl"]
        numbers = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        kinds = ("", "NotVisible", "Delayed")
        return sum(int(numbers[f"ApproximateNumberOfMessages{kind}"]) for kind in kinds)

    def sql(self, statement: str, params: Any = ()) -> list[dict[str, Any]]:
        """Look into, or age, the database; each thread has a connection, made anew when lost."""
        for attempt in range(40):
            connection = getattr(self._local, "connection", None)
            try:
                if connection is None or connection.closed:
                    connection = psycopg2.connect(self.stack.database_url, connect_timeout=3)
                    connection.autocommit = True
                    self._local.connection = connection
                    self._open.callback(connection.close)
                with connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
                    cursor.execute(statement, params or None)
                    return [dict(r) for r in cursor.fetchall()] if cursor.description else []
            except psycopg2.OperationalError:
                if attempt == 39:
                    raise
                if connection is not None:
                    connection.close()
                time.sleep(0.25)
        raise AssertionError("not reached")

    def upload(self, content: bytes, name: str = "memo.txt", key: str = "") -> httpx.Response:
        """Send one file to the API."""
        headers = {"Idempotency-Key": key} if key else {}
        return self.api.post("/api/v1/imports", files={"file": (name, content)}, headers=headers)

    def age(self) -> None:
        """Let the leases that nobody holds any more run out now."""
        for statement in AGE:
            self.sql(statement)

    def unfinished(self) -> list[dict[str, Any]]:
        """Return the live imports."""
        return self.sql(
            """SELECT i.job_id, i.dispatched_at, i.dispatch_attempts, i.lease_until, c.status,
                      c.run, c.last_report_at
               FROM batch_item i JOIN (SELECT id, status, run, last_report_at FROM page_import
                                       UNION ALL
                                       SELECT id, status, run, last_report_at FROM code2des) c
                    ON c.id = i.job_id
               WHERE i.cancelled_at IS NULL AND i.error_message IS NULL
                 AND c.status IN ('queued', 'processing')"""
        )

    def drain(self, seconds: float = 60) -> None:
        """Be honest, and wait until nothing is unfinished and the queues are empty."""
        for proxy in self.proxies:
            proxy.clear()
        deadline = time.monotonic() + seconds
        while left := self.unfinished():
            assert time.monotonic() < deadline, f"not drained: {len(left)} of them {left[:3]}"
            self.age()
            time.sleep(0.2)

    def violations(self, *, accepted: Any = (), only_accepted: bool = False) -> list[str]:
        """Check all invariants after a drain."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket="torikomi")
        witness = Witness(
            accepted=accepted,
            only_accepted=only_accepted,
            sent=self.sent,
            sends={child_id: len(each) for child_id, each in self.sends.items()},
            claims=self.sql(CLAIMS_SEEN),
            sent_too_early=self.sent_too_early,
            objects=[o["Key"] for page in pages for o in page.get("Contents", [])],
            secrets=[self.stack.account.secret_access_key, self.stack.services.keys.session_secret],
        )
        return violations(self.sql, witness, drained=True)

    def forget(self) -> None:
        """Delete all rows, messages and objects, for the next test."""
        for proxy in self.proxies:
            proxy.clear()
        self.sql("TRUNCATE batch CASCADE")
        self.sql("TRUNCATE idempotency_key, process_status, seen_claim")
        for name in ("page_import", "page_import_dlq", "code2des", "code2des_dlq"):
            url = self.sqs.get_queue_url(QueueName=f"torikomi_{name}")["QueueUrl"]
            self.sqs.purge_queue(QueueUrl=url)
        self.sent.clear()
        self.sends.clear()
        self.sent_too_early.clear()

    def _write_down(self, exchange: Exchange) -> None:
        if exchange.name != "sqs SendMessageBatch":
            return
        entries = {e["Id"]: e["MessageBody"] for e in json.loads(exchange.body)["Entries"]}
        if exchange.status == 0:
            ids = [decode_message(body).import_id for body in entries.values()]
            for child_id in ids:
                self.sends[child_id].add(exchange.invocation)
            rows = self.sql("SELECT job_id FROM batch_item WHERE job_id = ANY(%s)", (ids,))
            self.sent_too_early |= set(ids) - {row["job_id"] for row in rows}
        elif exchange.status == 200:
            for entry in json.loads(exchange.reply).get("Successful", []):
                body = entries[entry["Id"]]
                self.sent[decode_message(body).import_id].append(body)


def until(check: Callable[[], Any], seconds: float, what: str = "") -> Any:
    """Return the first true value of `check` within the time; fail otherwise."""
    deadline = time.monotonic() + seconds
    while True:
        value = check()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.03)
