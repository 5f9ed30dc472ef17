"""Retention, orphans and files that clients put into S3 themselves, for the state machine."""

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

import scheduler.janitor
from jobs.bucket import source_key
from models.errors import Conflict
from models.states import ImportType
from scheduler.janitor import Janitor
from scheduler.settings import SchedulerSettings
from tests.builders import ALICE, BOB, change, old_id, rows
from tests.faults.fakes import FakeStorage
from tests.faults.invariants import TERMINAL, Row
from tests.faults.machine_parts import chosen, deed
from web import direct
from web.errors import WebError
from web.intake import Upload
from web.requests import BatchItem, UploadPromise

EXTENSION = {ImportType.PAGE_IMPORT: "txt", ImportType.CODE2DES: "py"}
CONTENT = b"abc"
DIGEST = hashlib.sha256(CONTENT).hexdigest()
_AGES = """SELECT id, source_expired_at, result_expired_at FROM page_import UNION ALL
           SELECT id, source_expired_at, result_expired_at FROM code2des"""


@dataclass
class Promise:
    """A file that a client said it would send."""

    subject: str
    kind: ImportType
    id: str


class Keeping:
    """What a state machine over the product does about objects."""

    storage: FakeStorage
    accepted: list[tuple[str, str, ImportType]]
    batches: list[tuple[str, str]]
    known: dict[str, Row]
    janitor: Janitor
    promises: list[Promise]
    #: keys older than a day that no row wants and no pass has seen yet
    strays: set[str]

    def begin_keeping(self, options: SchedulerSettings) -> None:
        """Keep nothing for longer than a moment, one import of a type at a time."""
        short = {"keep_source_days": 1e-9, "keep_result_days": 1e-9, "sweep_limit": 1}
        self.janitor = Janitor(self.storage, options.model_copy(update=short))
        self.promises, self.strays = [], set()

    def objects(self) -> set[str]:
        """Return the keys that somebody must answer for."""
        return self.storage.keys - self.strays

    @deed()
    def what_ended_long_ago_is_retired(self) -> None:
        self.janitor.retire()
        for row in rows(_AGES):
            before = self.known[row["id"]]
            if row["source_expired_at"] and not before.child["source_expired_at"]:
                assert before.state in TERMINAL or before.item["deleted_at"]
            if row["result_expired_at"] and not before.child["result_expired_at"]:
                assert before.child["status"] == "completed"

    @deed()
    def an_old_object_lies_about(self) -> None:
        stray = source_key(old_id(30))
        self.strays.add(stray)
        self.storage.keys.add(stray)

    @deed()
    def orphans_are_collected(self) -> None:
        """Nothing that is wanted goes, however old the object; a young one may be under way."""
        age = timedelta(hours=24) if self.promises else timedelta(seconds=-5)
        before, scheduler.janitor.ORPHAN_AGE = scheduler.janitor.ORPHAN_AGE, age
        try:
            self.janitor.collect_orphans()
        finally:
            scheduler.janitor.ORPHAN_AGE = before
        self.strays.clear()
        kept = {key.split("/")[1] for key in self.storage.keys}
        assert kept <= self.known.keys() | {promise.id for promise in self.promises}

    @deed(subject=st.sampled_from([ALICE, BOB]), kind=st.sampled_from(ImportType))
    def a_client_promises_a_file(self, subject: str, kind: ImportType) -> None:
        about = UploadPromise(
            file_name=f"d.{EXTENSION[kind]}",
            size_bytes=len(CONTENT),
            sha256=DIGEST,
            content_type="text/plain",
        )
        (new,), _ = direct.promise(subject, [about], max_bytes=1000)
        self.promises.append(Promise(subject, kind, new.id))

    @deed(weight=2, number=st.integers(0, 999), content=st.sampled_from([CONTENT, CONTENT, b"cut"]))
    def a_client_puts_a_file(self, number: int, content: bytes) -> None:
        if promise := chosen(self.promises, number):
            self.storage.arrive(promise.id, content)

    @deed(weight=2, number=st.integers(0, 999), stranger=st.booleans())
    def a_batch_is_made_of_an_upload(self, number: int, stranger: bool) -> None:
        if not (promise := chosen(self.promises, number)):
            return
        subject = "a stranger" if stranger and number % 2 else promise.subject
        own = subject == promise.subject
        good = self.storage.digest_of(promise.id) == DIGEST
        request = Upload(subject=subject, type=promise.kind, files=(), many=True)
        try:
            answer: dict[str, Any] = direct.accept_uploads(
                request, [BatchItem(upload_id=promise.id)], self.storage
            )
        except (WebError, Conflict):
            assert not (own and good)
            return
        assert own
        assert good
        self.promises.remove(promise)
        self.batches.append((subject, answer["batch_id"]))
        self.accepted.append((subject, promise.id, promise.kind))
        try:
            direct.accept_uploads(request, [BatchItem(upload_id=promise.id)], self.storage)
        except (WebError, Conflict):
            return
        raise AssertionError("one upload made two imports")

    @deed()
    def unused_uploads_run_out(self) -> None:
        change("UPDATE upload SET expires_at = now() - interval '13 hours'")
        for _ in rows("SELECT id FROM upload"):
            self.janitor.drop_unused_uploads()
        gone = {promise.id for promise in self.promises}
        assert not gone & {key.split("/")[1] for key in self.storage.keys}
        self.promises.clear()
