"""Latency of one small file: commit → sent to SQS → worker started → result readable.

The whole product runs on the emulator. The stages come from the product's own history in
PostgreSQL, all on its clock; "readable" is what a client sees that asks every 10 ms.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx
import psycopg2

from benchmarks.installation import client, stack
from benchmarks.measure import Bar, Options, Row, percentile
from local.provision import client as sqs_client
from local.stack import Stack

_STAGES = """
    SELECT extract(epoch FROM i.dispatched_at - i.created_at),
           extract(epoch FROM e.created_at - i.created_at),
           extract(epoch FROM c.completed_at - i.created_at)
    FROM batch_item i JOIN page_import c ON c.id = i.job_id
    JOIN job_event e ON e.child_id = c.id AND e.event = 'started'
    WHERE c.id = ANY(%s) AND c.status = 'completed'"""
_LOAD_SHARE = 0.7
_RAW = "bare SendMessage → ReceiveMessage (the emulator looks every 100 ms)"
_MILLISECONDS = 1000.0


def run(options: Options) -> list[Row]:
    """Measure idle, then at 70 % of what the installation was just seen to do."""
    files = 40 if options.quick else 100
    seconds = 15 if options.quick else 40
    with stack() as product, client(product) as web:
        idle(product, web, 5)
        raw = [raw_milliseconds(product, number) for number in range(files)]
        rows = _rows("idle", *idle(product, web, files), raw=raw)
        capacity = burst(product, web, 100)
        loaded = steady(product, web, rate=capacity * _LOAD_SHARE, seconds=seconds)
        called = f"at {capacity * _LOAD_SHARE:.0f} files/s, 70 % of capacity"
        return [
            *rows,
            Row(what="capacity, files of one line", unit="files/s", ours=[capacity]),
            *_rows(called, *loaded),
        ]


def _rows(
    called: str,
    stages: Sequence[Sequence[float]],
    readable: list[float],
    *,
    raw: Sequence[float] = (),
) -> list[Row]:
    names = ("commit → marked as sent", "commit → worker started", "commit → completed")
    columns = zip(*stages, strict=True)
    series = [*zip(names, columns, strict=True), ("request sent → result readable", readable)]
    rows = []
    for name, seconds in series:
        times = [each * _MILLISECONDS for each in seconds]
        p50, p95, p99 = (percentile(times, share) for share in (0.5, 0.95, 0.99))
        note = f"p95 {p95:.0f}, p99 {p99:.0f} ms of {len(times)}"
        barred = bool(raw) and "started" in name
        bars = [Bar(of="value", at_most=100)] if barred else []
        limit: dict[str, Any] = {}
        if barred:
            limit = {"limit": [percentile(raw, 0.5)], "limit_name": _RAW}
        row = Row(what=f"{called}: {name}, p50", unit="ms", ours=[p50], bars=bars, note=note)
        rows.append(replace(row, **limit))
        if barred:
            limit["limit"] = [percentile(raw, 0.99)]
            row = Row(what=f"{called}: {name}, p99", unit="ms", ours=[p99])
            rows.append(replace(row, bars=[Bar(of="value", at_most=1500)], **limit))
    return rows


def raw_milliseconds(product: Stack, number: int) -> float:
    """Return the time from SendMessage to the end of a long poll that was open before it."""
    sqs = sqs_client("sqs", product.account)
    url = sqs.create_queue(QueueName="benchmark-raw")["QueueUrl"]
    arrived: list[float] = []

    def receive() -> None:
        while not arrived:
            answer = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=2)
            arrived.extend(time.perf_counter() for _ in answer.get("Messages", []))
            for message in answer.get("Messages", []):
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    waiting = threading.Thread(target=receive)
    waiting.start()
    time.sleep(0.1 + 0.013 * (number % 10))
    begun = time.perf_counter()
    sqs.send_message(QueueUrl=url, MessageBody="x" * 800)
    waiting.join()
    return (arrived[0] - begun) * _MILLISECONDS


def idle(
    product: Stack, web: httpx.Client, files: int
) -> tuple[list[tuple[float, ...]], list[float]]:
    """Send files one at a time, with pauses that fall anywhere in the scheduler's period."""
    ids, readable = [], []
    for number in range(files):
        begun = time.perf_counter()
        child = send(web)
        while web.get(f"/api/v1/imports/{child}").json()["status"] != "completed":
            time.sleep(0.01)
        readable.append(time.perf_counter() - begun)
        ids.append(child)
        time.sleep(0.05 + 0.037 * (number % 10))
    return stages(product, ids), readable


def burst(product: Stack, web: httpx.Client, files: int) -> float:
    """Return the files a second of many at once, from the first request to the last result."""
    begun = time.perf_counter()
    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(lambda _: send(web), range(files)))
    wait_for(product, ids)
    return files / (time.perf_counter() - begun)


def steady(
    product: Stack, web: httpx.Client, *, rate: float, seconds: float
) -> tuple[list[tuple[float, ...]], list[float]]:
    """Send files at a fixed rate, late ones at once; every tenth is watched until readable."""
    ids: list[str] = []
    readable: list[float] = []

    def one(number: int) -> None:
        begun = time.perf_counter()
        child = send(web)
        ids.append(child)
        if number % 10 == 0:
            while web.get(f"/api/v1/imports/{child}").json()["status"] != "completed":
                time.sleep(0.02)
            readable.append(time.perf_counter() - begun)

    start = time.monotonic()
    with ThreadPoolExecutor(16) as pool:
        for number in range(int(rate * seconds)):
            time.sleep(max(0.0, start + number / rate - time.monotonic()))
            pool.submit(one, number)
    wait_for(product, ids)
    return stages(product, ids), readable


def send(web: httpx.Client) -> str:
    """Upload one line and return the import's id."""
    answer = web.post(
        "/api/v1/imports?filename=line.txt",
        content="一行だけの本文\n".encode(),
        headers={"Content-Type": "text/plain"},
    )
    if answer.status_code != 202:
        raise SystemExit(f"{answer.status_code} {answer.text[:300]}")
    return str(answer.json()["import_id"])


def stages(product: Stack, ids: list[str]) -> list[tuple[float, ...]]:
    """Return the seconds from commit to each stage of every import."""
    with psycopg2.connect(product.database_url) as connection, connection.cursor() as cursor:
        cursor.execute(_STAGES, (ids,))
        return [tuple(float(value) for value in row) for row in cursor.fetchall()]


def wait_for(product: Stack, ids: list[str], limit_seconds: float = 300) -> None:
    """Wait until all imports have ended."""
    end = time.monotonic() + limit_seconds
    with psycopg2.connect(product.database_url) as connection, connection.cursor() as cursor:
        connection.autocommit = True
        while time.monotonic() < end:
            cursor.execute(
                "SELECT count(*) FROM page_import WHERE id = ANY(%s) AND status = 'completed'",
                (ids,),
            )
            if cursor.fetchone() == (len(ids),):
                return
            time.sleep(0.05)
    raise SystemExit("the imports did not end in time")
