"""pgqueuer, the fastest queue in PostgreSQL for Python, given the best that it has.

The asyncpg driver, one statement for all inserts, rounds of 1,000 for fetching and finishing.
Installed for benchmarks only (`--extra bench`); `connect` returns None when it is absent.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import time
from datetime import timedelta
from typing import Any
from uuid import uuid4

from local.postgres import PostgresServer
from tests.builders import new_import

_ROUND = 1000


def connect(server: PostgresServer) -> Peer | None:
    """Install pgqueuer's tables in a database of the same server."""
    if importlib.util.find_spec("pgqueuer") is None or importlib.util.find_spec("asyncpg") is None:
        return None
    server.create_database("peer")
    return Peer(server.url("peer"))


class Peer:
    """One connection to one queue."""

    def __init__(self, url: str) -> None:
        self._loop = asyncio.new_event_loop()
        asyncpg = importlib.import_module("asyncpg")
        drivers = importlib.import_module("pgqueuer.adapters.drivers.asyncpg")
        queries = importlib.import_module("pgqueuer.adapters.persistence.queries")
        ports = importlib.import_module("pgqueuer.ports.repository")
        self._connection: Any = self._loop.run_until_complete(asyncpg.connect(url))
        self._queries = queries.Queries(drivers.AsyncpgDriver(self._connection))
        self._entrypoints = {"page_import": ports.EntrypointExecutionParameter(0)}
        self._manager = uuid4()
        self._loop.run_until_complete(self._queries.install())

    def defer(self, items: int) -> float:
        """Return the seconds to enqueue messages like ours with one call."""
        message = json.dumps(dict(new_import().message)).encode()
        begun = time.perf_counter()
        self._loop.run_until_complete(
            self._queries.enqueue(["page_import"] * items, [message] * items, [0] * items)
        )
        return time.perf_counter() - begun

    def fetch(self, items: int) -> float:
        """Return the seconds to fetch and finish all of them."""
        begun = time.perf_counter()
        done = self._loop.run_until_complete(self._drain())
        if done != items:
            raise SystemExit(f"pgqueuer gave {done} of {items} items")
        return time.perf_counter() - begun

    async def _drain(self) -> int:
        done = 0
        while jobs := await self._queries.dequeue(
            batch_size=_ROUND,
            entrypoints=self._entrypoints,
            queue_manager_id=self._manager,
            global_concurrency_limit=None,
            heartbeat_timeout=timedelta(seconds=30),
        ):
            await self._queries.log_jobs([(job, "successful", None) for job in jobs])
            done += len(jobs)
        return done

    def close(self) -> None:
        """Close the connection."""
        self._loop.run_until_complete(self._connection.close())
        self._loop.close()
