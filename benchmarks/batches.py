"""One batch of 100,000 items through the running web process: making it, its status, its items.

    python -m benchmarks.batches [ITEMS]

The uploads are verified beforehand, as a client does while it sends them: their rows are written
straight into the database. Every time is that of a whole HTTP request, the median of many; beside
each stands its ratio to the target.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import httpx
import psycopg2
from psycopg2.extras import execute_values

from local.provision import access_token
from local.stack import Stack
from models.ids import uuid7

ROUNDS = 21


def main(items: int) -> None:
    """Print the figures."""
    directory = Path(tempfile.mkdtemp(prefix="torikomi-bench-"))
    directory.chmod(0o711)
    stack = Stack(directory / "stack", processes=("web",))
    stack.start()
    try:
        measure(stack, items)
    finally:
        stack.destroy()


def measure(stack: Stack, items: int) -> None:
    """Make one batch and look at it."""
    ids = [uuid7() for _ in range(items)]
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{items} items, {os.cpu_count()} cores, load before {load}")
    with psycopg2.connect(stack.database_url) as connection, connection.cursor() as cursor:
        sub = stack.provisioned.sub
        execute_values(
            cursor,
            """INSERT INTO upload (id, file_name, content_type, size_bytes, sha256, object_version,
                   verified_at, expires_at, created_by, updated_by) VALUES %s""",
            [(each, sub) for each in ids],
            template=f"""(%s, '設計書.pdf', 'application/pdf', 10000, '{"0" * 64}', 'v', now(),
                          now() + interval '1 hour', %s, '{sub}')""",
            page_size=5000,
        )
    headers = {"Authorization": f"Bearer {access_token(stack.account, stack.provisioned)}"}
    body = {
        "type": "page_import",
        "items": [{"upload_id": each, "custom_id": f"row-{n}"} for n, each in enumerate(ids)],
    }
    with httpx.Client(base_url=stack.url, headers=headers, timeout=600) as client:
        started = time.monotonic()
        answer = client.post("/api/v1/batches", json=body)
        tell("making it", time.monotonic() - started, 30)
        assert answer.status_code == 202, answer.text[:500]
        links = answer.json()["links"]
        look(client, links, items)


def look(client: httpx.Client, links: dict[str, str], items: int) -> None:
    """Measure the reads."""
    first = timed(client, links["self"], 1)
    print(f"{'status, the first look':28} {first * 1000:9.1f} ms")
    tell("status", timed(client, links["self"]), 0.050)
    tell("items, first page", timed(client, links["items"]), 0.020)
    middle = client.get(f"{links['items']}?limit=100").json()["next_cursor"]
    tell(
        "items, second page of 100",
        timed(client, f"{links['items']}?limit=100&cursor={middle}"),
        0.020,
    )
    counts = client.get(links["self"]).json()["counts"]
    assert counts["total"] == counts["queued"] == items
    floor = timed(client, "/livez")
    print(f"{'(an empty request)':28} {floor * 1000:9.1f} ms")


def timed(client: httpx.Client, path: str, rounds: int = ROUNDS) -> float:
    """Return the median seconds of a GET."""
    times = []
    for _ in range(rounds):
        started = time.monotonic()
        assert client.get(path).status_code == 200
        times.append(time.monotonic() - started)
    return statistics.median(times)


def tell(what: str, seconds: float, target: float) -> None:
    """Print one figure with its target."""
    kept = "kept" if seconds <= target else "MISSED"
    print(f"{what:28} {seconds * 1000:9.1f} ms   {seconds / target:5.2f} x the target   {kept}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
