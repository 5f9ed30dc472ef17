"""One batch of 100,000 items through the running web process: making it, its status, its items.

The uploads are verified beforehand, as a client does while it sends them: their rows are written
straight into the database. Every time is that of a whole HTTP request, the median of many.
"""

from __future__ import annotations

import statistics
import time

import httpx
import psycopg2
from psycopg2.extras import execute_values

from benchmarks.installation import client, stack
from benchmarks.measure import Bar, Options, Row
from local.stack import Stack
from models.ids import uuid7
from models.states import ItemState

ITEMS = 100_000
_CALLS = 11
_MILLISECONDS = 1000.0


def run(options: Options) -> list[Row]:
    """Make one batch and look at it in rounds."""
    with stack(("web",)) as product, client(product) as web:
        upload_ids = _verified_uploads(product)
        body = {
            "type": "page_import",
            "items": [
                {"upload_id": each, "custom_id": f"row-{n}"} for n, each in enumerate(upload_ids)
            ],
        }
        begun = time.perf_counter()
        answer = web.post("/api/v1/batches", json=body)
        made = time.perf_counter() - begun
        if answer.status_code != 202:
            raise SystemExit(f"{answer.status_code} {answer.text[:300]}")
        links = answer.json()["links"]
        counts = web.get(links["self"]).json()["counts"]
        if not counts["total"] == counts["queued"] == ITEMS:
            raise SystemExit(f"the batch counts {counts}")
        bars = [Bar(of="value", at_most=30)]
        row = Row(what=f"making a batch of {ITEMS:,} items", unit="s", ours=[made], bars=bars)
        return [row, *look(web, links, options.rounds)]


def _verified_uploads(product: Stack) -> list[str]:
    ids = [uuid7() for _ in range(ITEMS)]
    sub = product.provisioned.sub
    with psycopg2.connect(product.database_url) as connection, connection.cursor() as cursor:
        execute_values(
            cursor,
            """INSERT INTO upload (id, file_name, content_type, size_bytes, sha256, object_version,
                   verified_at, expires_at, created_by, updated_by) VALUES %s""",
            [(each, sub) for each in ids],
            template=f"""(%s, '設計書.pdf', 'application/pdf', 10000, '{"0" * 64}', 'v', now(),
                          now() + interval '1 hour', %s, '{sub}')""",
            page_size=5000,
        )
    return ids


def look(web: httpx.Client, links: dict[str, str], rounds: int) -> list[Row]:
    """Measure the reads, an empty request in turns with them."""
    cursor = web.get(f"{links['items']}?limit=100").json()["next_cursor"]
    reads = {
        "status": (links["self"], 50),
        "items, first page": (links["items"], 20),
        "items, second page of 100": (f"{links['items']}?limit=100&cursor={cursor}", 20),
        **{f"items, {state}": (f"{links['items']}?state={state}", 20) for state in ItemState},
        "an empty request": ("/livez", None),
    }
    found: dict[str, list[float]] = {name: [] for name in reads}
    for _ in range(rounds):
        for name, (path, _) in reads.items():
            found[name].append(timed(web, path))
    return [
        Row(
            what=f"{ITEMS:,} items over HTTP: {name}",
            unit="ms",
            ours=found[name],
            limit=found["an empty request"],
            limit_name="an empty request",
            bars=[Bar(of="value", at_most=at_most)],
        )
        for name, (_, at_most) in reads.items()
        if at_most is not None
    ]


def timed(web: httpx.Client, path: str) -> float:
    """Return the median milliseconds of a GET."""
    times = []
    for _ in range(_CALLS):
        begun = time.perf_counter()
        if web.get(path).status_code != 200:
            raise SystemExit(path)
        times.append((time.perf_counter() - begun) * _MILLISECONDS)
    return statistics.median(times)
