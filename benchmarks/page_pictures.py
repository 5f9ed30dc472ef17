"""Measure the pictures of pages, apart from the text: `python -m benchmarks.page_pictures DIR`.

For all PDFs and images of a directory: pictures a second of processor time, kilobytes and peak
memory, beside what pdfium alone takes to draw the same pages at the same size.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium

from benchmarks.page_import import in_child
from jobs.parsing import ParseError, draw, preload
from jobs.parsing.page_import.pictures import MAX_SIDE, Picture


def main(arguments: list[str] | None = None) -> int:
    """Print a line a file and the totals; return 1 when nothing was drawn."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page_pictures", description=__doc__)
    parser.add_argument("directory", type=Path)
    chosen = parser.parse_args(arguments)
    preload("page_import")
    print(f"{'file':44} {'pages':>5} {'pictures/s':>10} {'kB a page':>9} {'MB':>5} {'of bare':>7}")
    pages, seconds, bare_seconds = 0, 0.0, 0.0
    for path in sorted(p for p in chosen.directory.rglob("*") if p.is_file()):
        run = in_child(lambda path=path: ours(path))
        if run.status != "ok" or not run.pages:
            continue
        size = int(run.text) / run.pages / 1000
        line = f"{path.name[:44]:44} {run.pages:5} {run.pages / run.cpu_seconds:10.1f} {size:9.0f}"
        line += f" {run.peak_megabytes:5.0f}"
        if path.suffix == ".pdf":
            alone = in_child(lambda path=path: bare(path)).cpu_seconds
            line += f" {alone / run.cpu_seconds:7.2f}"
            pages, seconds = pages + run.pages, seconds + run.cpu_seconds
            bare_seconds += alone
        print(line, flush=True)
    if not pages:
        return 1
    print(
        f"PDF: {pages / seconds:.1f} pictures a second, {1000 * seconds / pages:.0f} ms each; "
        f"pdfium alone takes {bare_seconds / seconds:.0%} of that time"
    )
    return 0


def ours(path: Path) -> dict[str, Any]:
    """Draw every page with the product; `text` carries the bytes."""
    try:
        drawn = list(
            draw(
                path,
                file_name=path.name,
                options={},
                first=1,
                cpu_seconds=1_000,
                progress=lambda _done, _total: None,
            )
        )
    except ParseError as error:
        return {"status": error.code}
    pictures = [one for one in drawn if isinstance(one, Picture)]
    return {
        "status": "ok",
        "pages": len(pictures),
        "text": str(sum(len(picture.data) for picture in pictures)),
    }


def bare(path: Path) -> dict[str, Any]:
    """Draw every page of a PDF with pdfium and throw it away."""
    with pdfium.PdfDocument(path) as document:
        for index in range(len(document)):
            page = document[index]
            page.render(scale=MAX_SIDE / max(page.get_size())).close()
            page.close()
    return {"status": "ok"}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    began = time.monotonic()
    status = main()
    print(f"{time.monotonic() - began:.0f} s in all")
    sys.exit(status)
