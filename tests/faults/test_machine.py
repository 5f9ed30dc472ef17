"""A state machine over the real service code and real PostgreSQL, with everything in any order.

Two schedulers, workers, people, sweepers and an SQS that loses, doubles and reorders. After each
step the invariants hold; at the end faults go away, all is drained, and every import has ended.
The long profile: `python -m pytest tests/faults/test_machine.py --hypothesis-profile=long`.
"""

from contextlib import suppress
from io import BytesIO
from threading import Event
from typing import Any

import pytest
import structlog
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from pydantic import SecretStr

from jobs.errors import QueueUnavailable, StorageUnavailable
from jobs.messages import JobMessage, encode_message
from jobs.queue import OutgoingMessage
from models import outbox, transitions, verdicts
from models.outbox import Claimed
from models.states import ImportType
from models.transitions import Applied
from scheduler.breaker import Breaker
from scheduler.deadletters import DeadLetters
from scheduler.dispatcher import Dispatcher
from scheduler.settings import SchedulerSettings
from scheduler.sweeper import Sweeper
from tests.builders import ALICE, BOB, change, rows
from tests.faults.fakes import FakeQueue, FakeStorage, Message
from tests.faults.invariants import TERMINAL, Row, Witness, read_rows, violations
from tests.faults.machine_keeping import EXTENSION, Keeping
from tests.faults.machine_parts import (
    CI,
    DEEDS,
    DRAIN_ROUNDS,
    FAULTS,
    NAMES,
    PACKED,
    Hand,
    Work,
    chosen,
    deed,
    finished,
    machine_runs,
)
from tests.faults.machine_people import People
from web.errors import WebError
from web.intake import Upload, accept
from web.multipart_form import IncomingFile

SUBJECTS = (ALICE, BOB)
pick = st.integers(0, 999)
two = st.integers(0, 1)


class Torikomi(Keeping, People, RuleBasedStateMachine):
    """Everything that can happen, one small step at a time."""

    def __init__(self, database_url: str) -> None:
        super().__init__()
        self.queue, self.storage = FakeQueue(), FakeStorage()
        options = SchedulerSettings(database_url=SecretStr(database_url), send_threads=1)
        self.dispatchers = [Dispatcher(self.queue, Breaker(), options, Event()) for _ in range(2)]
        self.sweeper = Sweeper(self.queue, options)
        self.dead_letters = DeadLetters(self.queue, self.storage)
        self.begin_keeping(options)
        self.hands = [Hand(), Hand()]
        self.accepted: list[tuple[str, str, ImportType]] = []
        self.batches: list[tuple[str, str]] = []
        self.works: list[Work] = []
        self.suspects: list[verdicts.Suspect] = []
        self.aged: list[verdicts.Suspect] = []
        self.exhausted: list[str] = []
        self.answers: dict[tuple[str, str], Any] = {}
        self.known: dict[str, Row] = {}
        self.redriven: set[str] = set()
        self.leased: set[str] = set()

    @rule(data=st.data())
    def something_happens(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(NAMES), label="deed")
        arguments = {each: data.draw(s, label=each) for each, s in DEEDS[name].items()}
        getattr(self, name)(**arguments)

    @initialize(count=st.integers(1, 3))
    def a_first_upload(self, count: int) -> None:
        self._upload(ALICE, ImportType.PAGE_IMPORT, count, None, 0)

    @deed(
        subject=st.sampled_from(SUBJECTS),
        kind=st.sampled_from(ImportType),
        count=st.integers(1, 3),
        key=st.sampled_from([None, None, "key-1", "key-2"]),
        fails_at=st.sampled_from([0, 0, 0, 1, 2, 3]),
    )
    def upload(
        self, subject: str, kind: ImportType, count: int, key: str | None, fails_at: int
    ) -> None:
        self._upload(subject, kind, count, key, fails_at)

    def _upload(
        self, subject: str, kind: ImportType, count: int, key: str | None, fails_at: int
    ) -> None:
        self.storage.begin(fails_at)
        files = [
            IncomingFile(f"{n}.{EXTENSION[kind]}", "text/plain", BytesIO(b"x" * (n + 1)))
            for n in range(count)
        ]
        request = Upload(subject=subject, type=kind, files=files, many=True, key=key)
        asked = (kind, count)
        earlier = self.answers.get((subject, key)) if key else None
        try:
            answer = accept(request, self.storage, max_file_bytes=1000)
        except StorageUnavailable:
            assert 0 < fails_at <= count
            assert earlier is None, "a replay stores nothing"
            return
        except WebError as error:
            assert error.code == "idempotency_key_reused"
            assert earlier is not None
            assert earlier[0] != asked
            return
        finally:
            structlog.contextvars.clear_contextvars()
        if earlier is not None:
            assert earlier == (asked, answer)
            return
        if key is not None:
            self.answers[subject, key] = (asked, answer)
        self.batches.append((subject, answer["batch_id"]))
        named = "import_id" if kind is ImportType.PAGE_IMPORT else "code2des_id"
        self.accepted += [(subject, item[named], kind) for item in answer["items"]]

    @deed(weight=3, who=two, limit=st.integers(1, 4))
    def claim(self, who: int, limit: int) -> None:
        if not self.hands[who].claims:
            self.hands[who] = Hand(outbox.claim(limit))
            for claim in self.hands[who].claims:
                row = self.known[claim.child_id]
                assert row.state not in TERMINAL
                assert row.item["dispatched_at"] is None
                assert 1 <= claim.fence.dispatch_attempts <= outbox.MAX_ATTEMPTS
                assert claim.fence.dispatch_attempts == row.item["dispatch_attempts"] + 1
                reopened = row.item["lease_until"] is None  # by a redrive or a new run
                assert reopened or claim.child_id not in self.leased, "under another's live lease"
            self.leased |= {claim.child_id for claim in self.hands[who].claims}

    @deed(weight=4, who=two, fault=st.sampled_from(["none", "none", "down", "reply_lost"]))
    def send(self, who: int, fault: str) -> None:
        hand, self.queue.fault = self.hands[who], fault
        for claim in [] if hand.sent else hand.claims:
            message = JobMessage.from_json(claim.message)
            entry = OutgoingMessage(claim.child_id, encode_message(message), claim.subject)
            with suppress(QueueUnavailable):
                self.queue.send_batch(message.type, [entry])
                hand.acknowledged.append(claim)
        hand.sent, self.queue.fault = True, "none"

    @deed(weight=3, who=two)
    def mark(self, who: int) -> None:
        hand, self.hands[who] = self.hands[who], Hand()
        marked = outbox.mark_dispatched([claim.fence for claim in hand.acknowledged])
        held = [c for c in hand.acknowledged if self._is_held(c)]
        assert marked == len(held), "a mark counts for exactly the leases still held"

    def _is_held(self, claim: Claimed) -> bool:
        item, fence = self.known[claim.child_id].item, claim.fence
        same = (item["dispatch_attempts"], item["lease_until"]) == (
            fence.dispatch_attempts,
            fence.lease_until,
        )
        return same and item["dispatched_at"] is None

    @deed(who=two)
    def note_a_refusal(self, who: int) -> None:
        hand, self.hands[who] = self.hands[who], Hand()
        fences = [claim.fence for claim in hand.claims]
        held = [claim for claim in hand.claims if self._is_held(claim)]
        touched = outbox.record_failure(fences, first_seconds=15, later_seconds=60)
        assert touched == len(held)

    @deed(who=two)
    def give_one_up(self, who: int) -> None:
        hand, self.hands[who] = self.hands[who], Hand()
        if hand.claims:
            before = self.known[hand.claims[0].child_id]
            held = self._is_held(hand.claims[0]) and before.state == "queued"
            assert verdicts.reject(hand.claims[0].fence, "MessageTooLong") == held

    @deed(who=two)
    def crash_before_mark(self, who: int) -> None:
        self.hands[who] = Hand()

    @deed(weight=4, who=two, fault=st.sampled_from(["none", "none", "none", *FAULTS]))
    def dispatch_for_real(self, who: int, fault: str) -> None:
        self.queue.fault = fault
        self.dispatchers[who].dispatch_due()
        self.queue.fault = "none"

    @deed(weight=2)
    def leases_run_out(self) -> None:
        change(
            """UPDATE batch_item SET lease_until = clock_timestamp() - interval '1 second'
               WHERE lease_until > clock_timestamp() AND dispatched_at IS NULL"""
        )
        self.leased.clear()

    @deed(weight=2)
    def the_breaker_has_paused(self) -> None:
        change("UPDATE process_status SET seen_at = seen_at - interval '2 minutes'")

    @deed(weight=2)
    def look_for_exhausted(self) -> None:
        self.exhausted = outbox.exhausted_ids(10)

    @deed(weight=2, number=pick)
    def exhaust_what_was_found(self, number: int) -> None:
        if found := chosen(self.exhausted, number):
            verdicts.exhaust(found)

    @deed(weight=2, number=pick, fate=st.sampled_from(["lost", "doubled", "dead"]))
    def a_message_is(self, number: int, fate: str) -> None:
        if message := chosen(self.queue.waiting, number):
            if fate == "doubled":
                self.queue.waiting.append(Message(message.queue, message.body))
            else:
                self.queue.waiting.remove(message)
            if fate == "dead":
                self.queue.dead.append(message)

    @deed(weight=6, number=pick, reply_lost=st.booleans())
    def a_worker_starts(self, number: int, reply_lost: bool) -> None:
        if message := chosen(self.queue.waiting, number):
            kind = ImportType(message.queue)
            before = self.known[message.import_id]
            answer = self._report(kind, message.import_id, "processing", None)
            assert answer.conflict == (before.state in TERMINAL)
            if reply_lost:
                return
            if answer.conflict:
                self.queue.waiting.remove(message)
            else:
                self.works.append(Work(message, kind, message.import_id, answer.run))

    @deed(weight=1, number=pick)
    def a_worker_stores_its_result_and_dies(self, number: int) -> None:
        if work := chosen(self.works, number):
            self.storage.store_result(work.child_id, PACKED[work.type])

    @deed(
        weight=5,
        number=pick,
        event=st.sampled_from(["progress", "completed", "completed", "failed"]),
        digest=st.sampled_from("ddde"),
        acked=st.booleans(),
    )
    def a_worker_reports(self, number: int, event: str, digest: str, acked: bool) -> None:
        if work := chosen(self.works, number):
            self._report(work.type, work.child_id, event, work.run, digest)
            if acked and event != "progress" and work.message in self.queue.waiting:
                self.queue.waiting.remove(work.message)

    def _report(
        self, kind: ImportType, child_id: str, event: str, run: int | None, digest: str = "d"
    ) -> Applied:
        before = self.known[child_id]
        if event == "completed":
            self.storage.store_result_as(child_id, digest * 64)
        answer = transitions.apply_report(
            type=kind,
            child_id=child_id,
            event=event,
            run=run,
            done=1,
            total=2,
            result=finished(kind, digest) if event == "completed" else None,
            error_code="file_corrupt" if event == "failed" else None,
        )
        if before.state in TERMINAL:
            again = event == "completed" and before.state == "completed"
            same = again and before.child["result_sha256"] == digest * 64
            assert (answer.applied, answer.conflict) == (False, not same)
        elif event in {"failed", "progress"} and run != before.child["run"]:
            assert (answer.applied, answer.conflict) == (False, True)
        else:
            assert (answer.applied, answer.conflict) == (True, False)
        return answer

    @deed(weight=2, number=pick)
    def one_falls_silent(self, number: int) -> None:
        if found := chosen(self.accepted, number):
            self._age(found[1])

    def _age(self, child_id: str) -> None:
        kind = next(kind for _, each, kind in self.accepted if each == child_id)
        change(
            f"""UPDATE {kind} SET last_report_at = last_report_at - interval '2 hours'
                WHERE id = %s""",
            (child_id,),
        )
        change(
            """UPDATE batch_item SET dispatched_at = dispatched_at - interval '2 hours'
               WHERE job_id = %s""",
            (child_id,),
        )

    @deed(weight=2)
    def look_for_suspects(self) -> None:
        self.suspects = []
        for kind in ImportType:
            self.suspects += verdicts.silent_children(kind, stall_seconds=3600, limit=10)
            self.suspects += verdicts.unstarted_children(kind, waited_seconds=3600, limit=10)

    @deed(weight=2, number=pick)
    def judge_a_suspect(self, number: int) -> None:
        if suspect := chosen(self.suspects, number):
            before = self.known[suspect.child_id]
            verdict = verdicts.start_new_run(suspect, reason="silent")
            moved = before.child["updated_at"] != suspect.updated_at
            if before.state in TERMINAL or moved:
                assert verdict is None
            else:
                assert verdict == ("failed" if machine_runs(before) >= 3 else "new_run")

    @deed(number=pick)
    def a_day_without_movement(self, number: int) -> None:
        if found := chosen(self.accepted, number):
            change(
                f"""UPDATE {found[2]} SET updated_at = updated_at - interval '25 hours'
                    WHERE id = %s""",
                (found[1],),
            )
            self.aged = verdicts.aged_children(found[2], hours=24, limit=10)

    @deed(number=pick)
    def expire_what_was_found(self, number: int) -> None:
        if suspect := chosen(self.aged, number):
            before = self.known[suspect.child_id]
            same = before.child["updated_at"] == suspect.updated_at
            assert verdicts.expire(suspect) == (same and before.state not in TERMINAL)

    @deed(weight=2)
    def sweep(self) -> None:
        self.sweeper.sweep()

    @deed(weight=2)
    def drain_the_dead_letters(self) -> None:
        self.dead_letters.drain()

    # What must hold

    def _state(self, child_id: str) -> str:
        return self.known[child_id].state

    @invariant()
    def the_invariants_hold(self) -> None:
        found = read_rows(rows)
        witness = Witness(
            accepted=[child_id for _, child_id, _ in self.accepted],
            only_accepted=True,
            sent=self.queue.sent,
            sends={child_id: len(bodies) for child_id, bodies in self.queue.sent.items()},
            objects=self.objects(),
        )
        assert violations(rows, witness, drained=False, rows=found) == []
        for child_id, before in self.known.items():
            self._compare(before, found[child_id])
        self.known, self.redriven = found, set()

    def _compare(self, before: Row, now: Row) -> None:
        assert now.child["run"] >= before.child["run"]
        assert now.item["message"] == before.item["message"]
        if before.state in TERMINAL and now.id not in self.redriven:
            kept = ("completed_at", "result_sha256", "error_code", "error_message", "run", "status")
            assert now.state == before.state, "a terminal state changed"
            assert [now.child[k] for k in kept] == [before.child[k] for k in kept]
            assert now.results == ([] if now.child["result_expired_at"] else before.results)
        elif now.child["run"] == before.child["run"]:
            assert now.item["dispatch_attempts"] >= before.item["dispatch_attempts"]
            assert now.item["dispatched_at"] or not before.item["dispatched_at"]

    def teardown(self) -> None:
        try:
            self._drain()
            self.the_invariants_hold()
            assert violations(rows, Witness(objects=self.objects()), drained=True) == []
        finally:
            for dispatcher in self.dispatchers:
                dispatcher.close()
            for table in ("batch", "idempotency_key", "process_status", "upload"):
                change(f"DELETE FROM {table}")

    def _drain(self) -> None:
        """Without faults, let everything run until nothing is left."""
        self.the_invariants_hold()
        for _ in range(DRAIN_ROUNDS):
            live = [child_id for child_id, row in self.known.items() if row.state not in TERMINAL]
            if not live:
                return
            self.leases_run_out()
            self.the_breaker_has_paused()
            self.dispatchers[0].dispatch_due()
            self.the_invariants_hold()
            while self.queue.waiting:
                message = self.queue.waiting.pop()
                kind = ImportType(message.queue)
                answer = self._report(kind, message.import_id, "processing", None)
                self.the_invariants_hold()
                if not answer.conflict:
                    self._report(kind, message.import_id, "completed", answer.run)
                self.the_invariants_hold()
            self.drain_the_dead_letters()
            for child_id in live:
                self._age(child_id)
            self.sweep()
            self.the_invariants_hold()


@pytest.mark.timeout(600)
def test_any_order_of_events_keeps_the_invariants_and_ends_every_import(database, request):
    long = request.config.getoption("hypothesis_profile", None) == "long"
    chosen_settings = settings.get_profile("long") if long else CI
    run_state_machine_as_test(lambda: Torikomi(database), settings=chosen_settings)
