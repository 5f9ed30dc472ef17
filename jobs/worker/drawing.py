"""Pictures of the pages, made in a child of their own once the text is safe.

Whatever happens here costs pictures, never text: a page that kills its child is passed over and
the next child goes on behind it. Each picture is in the bucket before the result names it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import structlog

from jobs.parsing.page_import.document import wanted_pages
from jobs.storage import Storage
from jobs.worker.errors import Interrupted, SandboxLost
from jobs.worker.merging import Additions
from jobs.worker.patience import Patience
from jobs.worker.pictures import MEDIA_TYPE, PageFlaw, PagePicture, read_records
from jobs.worker.sandbox import ParseJob, Sandbox, Watch

#: Pages that may kill their child before the rest go without pictures.
_MAX_LOST_CHILDREN = 3
#: Uploads at a time; a picture is a few tens of kilobytes.
_UPLOADS = 4
_TOGETHER = 32
_HEAD_BYTES = 8 * 1024 * 1024
_MAX_PAGES = 100_000

_LOST = "image_failed: no picture of this page could be made."
_LIMITED = "images_limited: pages from {first} on have no pictures; making them took too long."

log = structlog.get_logger(__name__)


class Drawing:
    """Makes and stores pictures; shared by all threads. `seconds` is the time for one file."""

    def __init__(
        self, sandbox: Sandbox, storage: Storage, patience: Patience, *, seconds: float
    ) -> None:
        self._sandbox = sandbox
        self._storage = storage
        self._patience = patience
        self._seconds = seconds

    def draw(self, job: ParseJob, lines: Path, import_id: str, watch: Watch) -> Additions:
        """Return what pictures add to the result lines; they are stored by then.

        Raises Interrupted when the watch says stop, LeaveMessage when S3 stays away.
        """
        detected, count = read_head(lines)
        numbers = wanted_pages(job.options).among(count)
        work = _Work(self._storage, self._patience, import_id, watch, numbers)
        if job.options.get("images") is False or not self._sandbox.can_draw(detected):
            return work.additions
        deadline = time.monotonic() + self._seconds
        lost = 0
        while (first := work.next_page()) is not None:
            left = deadline - time.monotonic()
            if left < 1 or lost > _MAX_LOST_CHILDREN:
                work.additions.warn(0, _LIMITED.format(first=first))
                break
            if self._child(job, first, left, work):
                break
            lost += 1
            if time.monotonic() < deadline:
                work.pass_over()
        log.info("pages_drawn", pictures=len(work.additions.keys), pages=len(numbers), lost=lost)
        return work.additions

    def _child(self, job: ParseJob, first: int, seconds: float, work: _Work) -> bool:
        """Draw from page `first` on in one child; False when the child was lost on the way."""

        def draw() -> tuple[Path, bool]:
            watch = Watch(on_progress=work.watch.on_progress, should_stop=work.watch.should_stop)
            path, failure = self._sandbox.draw(job, first=first, seconds=seconds, watch=watch)
            return path, failure is None

        try:
            path, ended = self._patience.storage(draw)
        except SandboxLost as error:
            log.warning("sandbox_lost", reason=str(error))
            return False
        work.keep(read_records(path, first=first))
        path.unlink()
        return ended


class _Work:
    """What is made of one document so far."""

    def __init__(
        self, storage: Storage, patience: Patience, import_id: str, watch: Watch, numbers: list[int]
    ) -> None:
        self._storage = storage
        self._patience = patience
        self._import_id = import_id
        self._numbers = numbers
        self.watch = watch
        self.additions = Additions()
        self.reached = 0

    def next_page(self) -> int | None:
        """Return the first page that has not had its turn."""
        return next((number for number in self._numbers if number > self.reached), None)

    def pass_over(self) -> None:
        """Give up the next page."""
        number = self.next_page()
        if number is not None:
            self.reached = number
            self.additions.warn(number, _LOST)

    def keep(self, records: Iterator[PagePicture | PageFlaw]) -> None:
        """Store pictures and note what they add, some at a time."""
        context = structlog.contextvars.get_contextvars()

        def put(picture: PagePicture) -> None:
            with structlog.contextvars.bound_contextvars(**context):
                self._patience.storage(lambda: self._put(picture))

        with ThreadPoolExecutor(_UPLOADS, "pictures") as pool:
            while chunk := list(islice(records, _TOGETHER)):
                if self.watch.should_stop():
                    raise Interrupted("stopped while pictures were stored")
                last = self._numbers[-1]
                known = [record for record in chunk if record.number <= last]
                pictures = [record for record in known if isinstance(record, PagePicture)]
                list(pool.map(put, pictures))
                self._note_all(known)

    def _put(self, picture: PagePicture) -> None:
        self._storage.put_picture(
            self._import_id, picture.number, picture.data, picture.sha256, MEDIA_TYPE
        )

    def _note_all(self, records: Sequence[PagePicture | PageFlaw]) -> None:
        for record in records:
            self.reached = max(self.reached, record.number)
            if isinstance(record, PageFlaw):
                self.additions.warn(record.number, record.reason)
                continue
            image = {
                "sha256": record.sha256,
                "media_type": MEDIA_TYPE,
                "width": record.width,
                "height": record.height,
                "size_bytes": len(record.data),
            }
            self.additions.set(record.number, {"image": image})


def read_head(lines: Path) -> tuple[object, int]:
    """Return the detected type and the number of pages that a child's document line claims."""
    with lines.open("rb") as file:
        line = file.readline(_HEAD_BYTES)
    try:
        document = json.loads(line)["document"]
        pages = document["page_count"]
        return document["detected_type"], min(pages, _MAX_PAGES) if type(pages) is int else 0
    except (ValueError, TypeError, KeyError, RecursionError):
        return None, 0
