"""Draw the pages of one document, after its text is safe: each picture on its own, in order."""

from __future__ import annotations

import importlib
import io
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from PIL import Image

from jobs.parsing.budget import Budget
from jobs.parsing.errors import ParseError
from jobs.parsing.page_import.document import Source
from jobs.parsing.page_import.formats import PAINTERS
from jobs.parsing.page_import.pictures import MAX_PICTURES, Flaw, Picture
from jobs.parsing.page_import.sniffing import detect

#: 300 dots an inch on A4, what text recognition is trained on
_SCAN_SIDE = 3_508


def draw(
    path: Path,
    *,
    file_name: str,
    options: Mapping[str, Any],
    first: int,
    cpu_seconds: float,
    progress: Callable[[int, int | None], None],
) -> Iterator[Picture | Flaw]:
    """Yield a picture or a flaw for each page from `first` on; nothing for other formats.

    Ends with a flaw of page 0 when not every page has its turn. Raises ParseError.
    """
    budget = Budget(cpu_seconds)
    with ExitStack() as closing:
        source = _source(path, file_name, options, budget, closing)
        if source is None:
            return
        painter = importlib.import_module(PAINTERS[source.detected_type])
        wanted = source.wanted.among(painter.page_count(source))
        last = max(wanted[:MAX_PICTURES], default=0)
        numbers = [number for number in wanted if first <= number <= last]
        for drawn in painter.draw(source, numbers):
            yield drawn
            progress(bisect_right(wanted, drawn.number), len(wanted))
            try:
                budget.check()
            except ParseError:
                last = drawn.number
                break
        if wanted and last < wanted[-1]:
            yield Flaw(0, f"images_limited: pages after page {last} have no pictures.")


def scan(path: Path, *, file_name: str, options: Mapping[str, Any], number: int) -> bytes:
    """Return one page as a grey PGM for text recognition. Raises ParseError file_corrupt."""
    with ExitStack() as closing:
        source = _source(path, file_name, options, Budget(), closing)
        if source is None:
            raise ParseError("type_unsupported", "This format has no pictures of its pages.")
        painter = importlib.import_module(PAINTERS[source.detected_type])
        buffer = io.BytesIO()
        painter.scan(source, number, _SCAN_SIDE).convert("L").save(buffer, "PPM")
        return buffer.getvalue()


def preload() -> None:
    """Load Pillow's codecs, which it would otherwise look for in each child."""
    Image.init()


def _source(
    path: Path,
    file_name: str,
    options: Mapping[str, Any],
    budget: Budget,
    closing: ExitStack,
) -> Source | None:
    found = detect(path, file_name)
    if found.type not in PAINTERS:
        return None
    return Source(
        content=path,
        file_name=file_name,
        detected_type=found.type,
        options=options,
        budget=budget,
        closing=closing,
    )
