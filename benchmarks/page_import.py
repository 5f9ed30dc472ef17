"""Measure Page Import on a directory: `python -m benchmarks.page_import DIR [--repeat N]`.

One line a file: status, pages a second of processor time, peak memory, and how much of the text a
reference finds is in ours (recall). The reference is pdfminer.six for PDF, and for Office files a
count of the text in the XML that knows nothing of our walkers. Every parse runs in a forked child.
At the end: PDF speed against bare pdfium, the cost of the sandbox, and markitdown as a peer.

pdfminer.six and markitdown are no dependencies; what is absent is said.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import re
import resource
import statistics
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lxml.etree
import pypdfium2 as pdfium

from jobs import logs
from jobs.parsing import ParseError, parse, preload
from jobs.settings import LogSettings
from jobs.worker.sandbox import ParseJob, Sandbox
from jobs.worker.walls import Limits

_TOKEN = re.compile("[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]|[0-9a-z\u00c0-\u024f]+")
#: what pdfminer.six writes for a glyph whose character it does not know
_UNKNOWN_GLYPH = re.compile(r"\(cid:\d+\)")
_PARTS = {
    ".docx": r"word/(document|footnotes|endnotes|comments)\.xml",
    ".pptx": r"ppt/(slides/slide|notesSlides/notesSlide)\d+\.xml",
    ".xlsx": r"xl/sharedStrings\.xml",
}
_UNSEEN = ("Fallback", "del", "moveFrom", "rPh")
#: footers and slide numbers, which we leave out on purpose
_FURNITURE = ("dt", "ftr", "sldNum", "hdr")
_SPEED_ROUNDS = 9
_OVERHEAD_RUNS = 30


@dataclass(frozen=True)
class Run:
    """What one parse in a child gave and cost."""

    status: str
    pages: int = 0
    text: str = ""
    cpu_seconds: float = 0.0
    peak_megabytes: float = 0.0


def main(arguments: list[str] | None = None) -> int:
    """Print the table; return 1 when a file that was parsed misses text."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page_import", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--repeat", type=int, default=3, help="parses per file; the best counts")
    chosen = parser.parse_args(arguments)
    files = sorted(p for p in chosen.directory.rglob("*") if p.is_file() and p.suffix != "")
    logs.configure("benchmark", LogSettings(log_level="ERROR"))
    preload("page_import")
    peer = _peer()
    gc.freeze()  # else the children pay for what is loaded here
    head = f"{'file':44} {'status':14} {'pages':>5} {'pages/s':>8} {'MB':>5} {'recall':>7}"
    print(head + (f" {'peer pages/s':>12} {'peer recall':>11}" if peer else ""))
    low = 0
    for path in files:
        runs = [in_child(lambda path=path: ours(path)) for _ in range(chosen.repeat)]
        best = min(runs, key=lambda run: run.cpu_seconds)
        wanted = reference(path) if best.status == "ok" else None
        recall = recall_of(best.text, wanted)
        low += recall is not None and recall < 0.99
        line = row(path, best, recall)
        if peer:
            other = in_child(lambda path=path: peer(path))
            rate = best.pages / other.cpu_seconds if other.status == "ok" else 0.0
            line += f" {rate:12.1f} {shown(recall_of(other.text, wanted)):>11}"
        print(line, flush=True)
    print_pdf_speed(files, chosen.repeat)
    print_overhead()
    if not peer:
        print("markitdown is not installed: no peer to compare with.")
    if importlib.util.find_spec("pdfminer") is None:
        print("pdfminer.six is not installed: no recall for PDF.")
    return 1 if low else 0


def row(path: Path, run: Run, recall: float | None) -> str:
    """Return the line of one file."""
    rate = run.pages / run.cpu_seconds if run.pages and run.cpu_seconds else 0.0
    return (
        f"{path.name[:44]:44} {run.status:14} {run.pages:5} {rate:8.1f} "
        f"{run.peak_megabytes:5.0f} {shown(recall):>7}"
    )


def shown(recall: float | None) -> str:
    """Return a recall as text."""
    return "-" if recall is None else f"{recall:.4f}"


def ours(path: Path) -> dict[str, Any]:
    """Parse with the product."""
    try:
        lines = list(
            parse(
                "page_import",
                path,
                file_name=path.name,
                options={},
                progress=lambda _done, _total: None,
            )
        )
    except ParseError as error:
        return {"status": error.code}
    return {
        "status": "ok",
        "pages": len(lines) - 1,
        "text": "\n".join(line["page"]["text"] for line in lines[1:]),
    }


def _peer() -> Callable[[Path], dict[str, Any]] | None:
    if importlib.util.find_spec("markitdown") is None:
        return None
    module = importlib.import_module("markitdown")
    converter = module.MarkItDown(enable_plugins=False)

    def convert(path: Path) -> dict[str, Any]:
        return {"status": "ok", "text": str(converter.convert(str(path)).text_content)}

    return convert


def in_child(work: Callable[[], dict[str, Any]]) -> Run:
    """Run `work` in a fork and measure it there."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as answer:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                began = time.process_time()
                found = work()
                found["cpu_seconds"] = time.process_time() - began
                text = json.dumps(found)
                answer.write(text)
                answer.flush()
                status = 0
            finally:
                os._exit(status)
        _, ended, usage = os.wait4(pid, 0)
        answer.seek(0)
        content = answer.read()
    if ended or not content:
        return Run("crashed", cpu_seconds=usage.ru_utime + usage.ru_stime)
    return Run(**json.loads(content), peak_megabytes=usage.ru_maxrss / 1024)


def reference(path: Path) -> Counter[str] | None:
    """Return the words that a reader of its own finds in the file; None when there is none."""
    if path.suffix == ".pdf" and importlib.util.find_spec("pdfminer") is not None:
        extract = importlib.import_module("pdfminer.high_level").extract_text
        return tokens(_UNKNOWN_GLYPH.sub("", extract(str(path))))
    pattern = _PARTS.get(path.suffix)
    if pattern is None:
        return None
    found: Counter[str] = Counter()
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if re.fullmatch(pattern, name):
                found.update(xml_tokens(archive.read(name)))
    return found


def xml_tokens(data: bytes) -> Counter[str]:
    """Count the words of every text element that a reader would see."""
    root = lxml.etree.fromstring(data)
    for name in _UNSEEN:
        for element in root.iter(f"{{*}}{name}"):
            for text in element.iter("{*}t"):
                text.text = ""
    for holder in root.iter("{*}ph"):
        if holder.get("type") in _FURNITURE:
            for text in holder.getparent().getparent().getparent().iter("{*}t"):
                text.text = ""
    paragraphs = [*root.iter("{*}p"), *root.iter("{*}si")]
    found: Counter[str] = Counter()
    for paragraph in paragraphs:
        own = (
            text.text or ""
            for text in paragraph.iter("{*}t")
            if next(text.iterancestors("{*}p", "{*}si")) is paragraph
        )
        found.update(tokens("".join(own)))
    return found


def tokens(text: str) -> Counter[str]:
    """Count words, each CJK character being one."""
    return Counter(_TOKEN.findall(text.lower()))


def recall_of(text: str, wanted: Counter[str] | None) -> float | None:
    """Return the share of the wanted words that the text has."""
    if not wanted:
        return None
    return (wanted & tokens(text)).total() / wanted.total()


def bare(path: Path) -> None:
    """Read the text of a PDF with pdfium and nothing else."""
    with pdfium.PdfDocument(path) as document:
        for index in range(len(document)):
            page = document[index]
            textpage = page.get_textpage()
            textpage.get_text_range()
            textpage.close()
            page.close()


def print_pdf_speed(files: list[Path], repeat: int) -> None:
    """Print our speed as a part of bare pdfium's, over all PDFs that both can read.

    Both take turns file by file, so that what else the machine does falls on both; the figure is
    the median of the rounds' ratios.
    """
    readable = [p for p in files if p.suffix == ".pdf" and ours(p)["status"] == "ok"]
    ratios = []
    for _ in range(_SPEED_ROUNDS):
        spent = Counter[str]()
        for path in readable:
            for _ in range(repeat):
                for name, work in (("bare", bare), ("ours", ours)):
                    began = time.process_time_ns()
                    work(path)
                    spent[name] += time.process_time_ns() - began
        if spent["ours"]:
            ratios.append(spent["bare"] / spent["ours"])
    if ratios:
        spread = f"{min(ratios):.2f}–{max(ratios):.2f}"
        median = statistics.median(ratios)
        print(f"PDF: {median:.2f} ({spread}) of bare pdfium's pages a second")


def print_overhead() -> None:
    """Print what the sandbox adds to a file of a few bytes."""
    limits = Limits(cpu_seconds=30, memory_bytes=1 << 30, output_bytes=1 << 20)
    sandbox = Sandbox(["page_import"], limits, wall_seconds=30)
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "source"
        source.write_text("本文\n", encoding="utf-8")
        job = ParseJob(type="page_import", source=source, directory=Path(name), file_name="a.txt")
        spent = []
        for _ in range(_OVERHEAD_RUNS):
            began = time.perf_counter()
            sandbox.parse(job, on_progress=lambda _d, _t: None, should_stop=lambda: False)
            spent.append(time.perf_counter() - began)
    sandbox.close()
    print(f"sandbox: {1000 * statistics.median(spent[3:]):.1f} ms a file (median)")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
