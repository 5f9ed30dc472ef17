"""Taking results in: a signed `completed` report with a result of 1, 100 and 5,000 pages.

The web process fetches the object, checks it through and writes all pages in one transaction. The
limit is the bare INSERT of the same rows by the same driver. Then reports of many workers at once.
"""

from __future__ import annotations

import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psycopg2
from psycopg2.extras import execute_values

from benchmarks.installation import client, scratch, stack
from benchmarks.latency import send
from benchmarks.measure import Options, Row, alternate, percentile
from jobs.messages import Report, ReportEvent, ResultRef
from jobs.results import pack_result
from jobs.settings import StorageSettings, WebhookSettings
from jobs.signing import sign
from jobs.storage import Storage
from jobs.worker.reporting import webhook_id
from local.stack import Stack

PAGES = (1, 100, 5000)
THREADS = 8
_TEXT = "吾輩は猫である。名前はまだ無い。" * 75  # a page of a novel
_VERSION = "benchmark"


def run(options: Options) -> list[Row]:
    """Measure each size, then the latency of reports under load."""
    seconds = 10 if options.quick else 30
    with scratch() as directory, stack(("web",)) as product, client(product) as web:
        taker = Taker(product, web, directory)
        rows = [taker.size(pages, options.rounds) for pages in PAGES]
        return [*rows, *taker.under_load(seconds)]


class Taker:
    """Sends signed reports as a worker does."""

    def __init__(self, product: Stack, web: httpx.Client, directory: Path) -> None:
        environment = product.env("worker")
        os.environ |= {name: environment[name] for name in environment if name.startswith("AWS_")}
        lowered = {name.lower(): value for name, value in environment.items()}
        self._secrets = WebhookSettings.model_validate(lowered).secrets()
        self._storage = Storage(StorageSettings.model_validate(lowered))
        self._url = product.database_url
        self._web, self._directory = web, directory

    def size(self, pages: int, rounds: int) -> Row:
        """Compare results of so many pages with the bare INSERT."""
        packed = self._packed(pages)
        found = alternate(
            {"ours": lambda: self.completed(packed, pages), "limit": lambda: self._insert(pages)},
            rounds,
        )
        return Row(
            what=f"completed report, {pages:,} pages",
            unit="ms",
            ours=found["ours"],
            limit=found["limit"],
            limit_name="bare INSERT of the pages",
        )

    def completed(self, packed: Path, pages: int) -> float:
        """Return the milliseconds of the last report of a fresh import."""
        child = send(self._web)
        run = int(self._report(child, ReportEvent.PROCESSING)["run"])
        sha256, size = self._storage.put_result(child, _VERSION, packed)
        result = ResultRef(
            parser_version=_VERSION,
            sha256=sha256,
            size_bytes=size,
            detected_type="text/plain",
            page_count=pages,
        )
        begun = time.perf_counter()
        answer = self._report(child, ReportEvent.COMPLETED, run=run, result=result)
        took = time.perf_counter() - begun
        if not answer["applied"]:
            raise SystemExit(f"the report was not applied: {answer}")
        return took * 1000

    def under_load(self, seconds: float) -> list[Row]:
        """Let threads report whole lives of imports as fast as they can."""
        packed = self._packed(1)
        times: dict[str, list[float]] = {"processing": [], "completed": []}
        stop = threading.Event()

        def live() -> None:
            while not stop.is_set():
                child = send(self._web)
                begun = time.perf_counter()
                self._report(child, ReportEvent.PROCESSING)
                times["processing"].append((time.perf_counter() - begun) * 1000)
                times["completed"].append(self.completed(packed, 1))

        begun = time.perf_counter()
        with ThreadPoolExecutor(THREADS) as pool:
            lives = [pool.submit(live) for _ in range(THREADS)]
            time.sleep(seconds)
            stop.set()
            for each in lives:
                each.result()
        took = time.perf_counter() - begun
        return [
            Row(
                what=f"{event} report, {THREADS} workers at full speed, p50",
                unit="ms",
                ours=[percentile(found, 0.5)],
                note=f"p95 {percentile(found, 0.95):.0f}, p99 {percentile(found, 0.99):.0f} ms of "
                f"{len(found)}, {len(found) / took:.0f} a second",
            )
            for event, found in times.items()
        ]

    def _report(self, child: str, event: ReportEvent, **more: Any) -> dict[str, Any]:
        body = Report(event=event, import_id=child, type="page_import", **more).to_bytes()
        headers = sign(self._secrets, webhook_id(child), int(time.time()), body)
        headers["content-type"] = "application/json"
        answer = self._web.post("/webhooks/page_import", content=body, headers=headers)
        if answer.status_code != 200:
            raise SystemExit(f"{answer.status_code} {answer.text[:300]}")
        return dict(answer.json())

    def _packed(self, pages: int) -> Path:
        lines = self._directory / f"lines-{pages}"
        document = {
            "schema": 1,
            "type": "page_import",
            "parser_version": _VERSION,
            "detected_type": "text/plain",
            "page_count": pages,
            "outline": [],
            "warnings": [],
        }
        with lines.open("w", encoding="utf-8") as file:
            file.write(json.dumps({"document": document}) + "\n")
            for number in range(1, pages + 1):
                file.write(json.dumps({"page": _page(number)}, ensure_ascii=False) + "\n")
        packed = self._directory / f"packed-{pages}"
        pack_result(lines, packed)
        return packed

    def _insert(self, pages: int) -> float:
        """Return the milliseconds of a transaction with the INSERT of such pages alone."""
        child = send(self._web)
        made = [_page(number) for number in range(1, pages + 1)]
        with psycopg2.connect(self._url) as connection, connection.cursor() as cursor:
            begun = time.perf_counter()
            execute_values(
                cursor,
                """INSERT INTO page (page_import_id, number, text, markdown, tables, warnings,
                       created_by, updated_by) VALUES %s""",
                [(child, each["number"], each["text"], each["markdown"]) for each in made],
                template="(%s, %s, %s, %s, '[]', '[]', 'benchmark', 'benchmark')",
                page_size=1000,
            )
            connection.commit()
            return (time.perf_counter() - begun) * 1000


def _page(number: int) -> dict[str, Any]:
    text = f"{number}\n{_TEXT}"
    return {"number": number, "text": text, "markdown": text, "tables": [], "warnings": []}
