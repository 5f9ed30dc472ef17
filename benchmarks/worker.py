"""The worker: what surrounds a parse, and how parsing scales with cores.

Overhead: the worker's own Runner takes the messages of small files one after another, with real
object store, sandbox and web process; the bare parser call on the same file, in turns with it, is
taken off. Speed: pages a second through the sandbox against bare PDFium and markitdown, on one
core and on all.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import statistics
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import psycopg2
import pypdfium2

from benchmarks.installation import client, scratch, stack
from benchmarks.latency import send
from benchmarks.measure import Bar, Options, Row, alternate, percentile
from benchmarks.page_import import bare
from jobs.parsing import parse, preload
from jobs.settings import WorkerSettings
from jobs.storage import Storage
from jobs.worker.boot import Process
from jobs.worker.reporting import Reporter
from jobs.worker.runner import Runner
from jobs.worker.sandbox import ParseJob, Sandbox
from jobs.worker.walls import Limits
from local.stack import Stack

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "tests" / "corpus" / "files" / "pdf"
#: PDFs of several pages that every contender reads.
_PAGES_OF = ("jsverb.pdf", "word365_structure.pdf", "REPAIR-2022-INV-001_multipage.pdf")
_LIMITS = Limits(cpu_seconds=300, memory_bytes=1 << 30, output_bytes=512 << 20)
_MILLISECONDS = 1000.0


def run(options: Options) -> list[Row]:
    """Measure overhead, then speed."""
    preload("page_import")
    with stack(("web",)) as product, client(product) as web, ExitStack() as parts:
        rows = overhead(product, web, parts, 40 if options.quick else 100)
    return [*rows, *speed(options)]


def overhead(product: Stack, web: httpx.Client, parts: ExitStack, files: int) -> list[Row]:
    """Measure what one small file costs beside its parse."""
    line = parts.enter_context(scratch()) / "line.txt"
    line.write_text("一行だけの本文\n", encoding="utf-8")
    runner, stages = timed_runner(product, parts)
    whole, bare_parse = [], []
    for number in range(files + 5):
        child = send(web)
        message = message_of(product, child)
        begun = time.perf_counter()
        runner.work(message, 1)
        took = time.perf_counter() - begun
        if web.get(f"/api/v1/imports/{child}").json()["status"] != "completed":
            raise SystemExit("the runner did not complete the import")
        parsed = parse_seconds(line)
        if number >= 5:
            whole.append((took - parsed) * _MILLISECONDS)
            bare_parse.append(parsed * _MILLISECONDS)
        else:
            stages.clear()
    each = "; ".join(
        f"{name} {statistics.median(times) * _MILLISECONDS:.1f}" for name, times in stages.items()
    )
    return [
        Row(
            what="around the parse of a small file, p50 (fetch, sandbox, store, two reports)",
            unit="ms",
            ours=[percentile(whole, 0.5)],
            bars=[Bar(of="value", at_most=60)],
            note=f"p95 {percentile(whole, 0.95):.0f} ms of {files}; medians: {each}; "
            f"the parse itself {statistics.median(bare_parse):.1f}",
        )
    ]


def parse_seconds(path: Path) -> float:
    """Return the time of the bare parser call."""
    begun = time.perf_counter()
    parsed = parse(
        "page_import", path, file_name=path.name, options={}, progress=lambda _done, _total: None
    )
    for _ in parsed:
        pass
    return time.perf_counter() - begun


def message_of(product: Stack, child: str) -> dict[str, Any]:
    """Return the message that the scheduler would send."""
    with psycopg2.connect(product.database_url) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT message FROM batch_item WHERE job_id = %s", (child,))
        (message,) = cursor.fetchone() or (None,)
    return dict(message)


def timed_runner(product: Stack, parts: ExitStack) -> tuple[Runner, dict[str, list[float]]]:
    """Build the worker's Runner as its boot does, what it calls under a stop watch."""
    environment = product.env("worker")
    os.environ |= {name: environment[name] for name in environment if name.startswith("AWS_")}
    settings = WorkerSettings.model_validate(
        {name.lower(): value for name, value in environment.items()}
        | {"worker_temp_dir": str(parts.enter_context(scratch()))}
    )
    stages: dict[str, list[float]] = {}
    for owner, name in _WATCHED:
        own = getattr(owner, name)
        setattr(owner, name, _watched(own, name, stages))
        parts.callback(setattr, owner, name, own)
    process = Process(settings, "jobs.parsing")
    runner = process._runner(process._test_sandbox())
    parts.callback(process._sandbox.close)
    parts.callback(process._reporter.close)
    parts.callback(process._temp_root.close)
    return runner, stages


_WATCHED = (
    (Reporter, "send"),
    (Storage, "find_result"),
    (Storage, "fetch_source"),
    (Sandbox, "parse"),
    (Storage, "put_result"),
)


def _watched(
    method: Callable[..., Any], name: str, stages: dict[str, list[float]]
) -> Callable[..., Any]:
    def call(*args: Any, **keywords: Any) -> Any:
        begun = time.perf_counter()
        try:
            return method(*args, **keywords)
        finally:
            stages.setdefault(name, []).append(time.perf_counter() - begun)

    return call


def speed(options: Options) -> list[Row]:
    """Measure pages a second: the parser against engine and peer, the sandbox on 1 and all cores.

    Engines are compared by processor time, which a neighbour cannot take away.
    """
    cores = os.cpu_count() or 1
    with scratch() as directory:
        book = directory / "book.pdf"
        pages = bind(book, 40 if options.quick else 120)
        sandbox = Sandbox(["page_import"], _LIMITS, wall_seconds=600)
        peer = markitdown()
        engines: dict[str, Callable[[], float]] = {
            "ours": lambda: pages / spent(lambda: parse_seconds(book)),
            "bare": lambda: pages / spent(lambda: bare(book)),
        }
        if peer is not None:
            few = directory / "few.pdf"
            few_pages = bind(few, 12)
            engines["peer"] = lambda: few_pages / spent(lambda: peer(few))
        boxes: dict[str, Callable[[], float]] = {
            "one": lambda: _rate(pages, lambda: _sandboxed(sandbox, book, directory, 1)),
            "all": lambda: _rate(
                pages * cores, lambda: _sandboxed(sandbox, book, directory, cores)
            ),
        }
        for contender in (*engines.values(), *boxes.values()):
            contender()
        found = alternate(engines, options.rounds) | alternate(boxes, options.rounds)
        sandbox.close()
    return [
        Row(
            what=f"PDF of {pages} pages, the parser, per second of processor",
            unit="pages/s",
            ours=found["ours"],
            peer=found.get("peer", ()),
            peer_name="markitdown",
            limit=found["bare"],
            limit_name="bare PDFium",
            bars=[Bar(of="limit", at_least=0.8)],
            note="" if peer else "markitdown is not installed: see benchmarks/README.md",
        ),
        Row(
            what=f"the same through the sandbox, {cores} files at a time on {cores} cores",
            unit="pages/s",
            ours=found["all"],
            limit=found["one"],
            limit_name="one file at a time",
        ),
    ]


def bind(path: Path, pages: int) -> int:
    """Write one PDF with at least so many pages, taken in turns from the corpus."""
    sources = [pypdfium2.PdfDocument(CORPUS / name) for name in _PAGES_OF]
    with pypdfium2.PdfDocument.new() as book:
        while len(book) < pages:
            for source in sources:
                book.import_pages(source)
        book.save(path)
        return len(book)


def spent(work: Callable[[], object]) -> float:
    """Return the seconds of processor that something took here."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _rate(pages: int, work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return pages / (time.perf_counter() - begun)


def _sandboxed(sandbox: Sandbox, path: Path, directory: Path, threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(lambda _: parse_in(sandbox, path, directory), range(threads)):
            pass


def parse_in(sandbox: Sandbox, path: Path, directory: Path) -> None:
    """Parse one file in the sandbox."""
    own = directory / f"{threading.get_ident()}"
    own.mkdir(exist_ok=True)
    job = ParseJob(type="page_import", source=path, directory=own, file_name=path.name)
    lines = sandbox.parse(job, on_progress=lambda _d, _t: None, should_stop=lambda: False)
    if not isinstance(lines, Path):
        raise SystemExit(f"{path.name}: {lines}")


def markitdown() -> Callable[[Path], object] | None:
    """Return the peer's converter, None when it is not installed."""
    if importlib.util.find_spec("markitdown") is None:
        return None
    converter = importlib.import_module("markitdown").MarkItDown(enable_plugins=False)
    return lambda path: converter.convert(str(path))
