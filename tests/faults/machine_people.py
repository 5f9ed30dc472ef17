"""What owners and operators do, for the state machine."""

from contextlib import suppress

import pytest
from hypothesis import strategies as st

from models import cancellations, redrives, verdicts
from models.errors import Conflict, NotFound
from models.states import ImportType
from tests.faults.invariants import TERMINAL, Row
from tests.faults.machine_parts import chosen, deed

pick = st.integers(0, 999)


class People:
    """Cancel, delete, try again and give up, in any state."""

    accepted: list[tuple[str, str, ImportType]]
    batches: list[tuple[str, str]]
    known: dict[str, Row]
    redriven: set[str]

    @deed(number=pick, stranger=st.booleans())
    def cancel(self, number: int, stranger: bool) -> None:
        if not self.accepted:
            return
        subject, child_id, kind = chosen(self.accepted, number)
        live = self.known[child_id].state not in TERMINAL
        if self.known[child_id].item["deleted_at"]:
            return
        if stranger:
            with pytest.raises(NotFound):
                cancellations.cancel_import("a stranger", kind, child_id)
        elif live:
            cancellations.cancel_import(subject, kind, child_id)
        else:
            with pytest.raises(Conflict):
                cancellations.cancel_import(subject, kind, child_id)

    @deed(number=pick)
    def cancel_a_batch(self, number: int) -> None:
        if found := chosen(self.batches, number):
            with suppress(Conflict):
                cancellations.cancel_batch(*found)

    @deed(number=pick)
    def delete_a_batch(self, number: int) -> None:
        if number % 4 == 0 and (found := chosen(self.batches, number)):
            self.batches.remove(found)
            cancellations.delete_batch(*found)

    @deed(number=pick, how=st.sampled_from(["redrive", "retry"]))
    def a_person_tries_again(self, number: int, how: str) -> None:
        if not self.accepted:
            return
        subject, child_id, kind = chosen(self.accepted, number)
        before = self.known[child_id]
        allowed = before.state == "failed" and before.item["deleted_at"] is None
        allowed = allowed and before.child["source_expired_at"] is None
        try:
            if how == "redrive":
                redrives.redrive(child_id, actor=subject)
            else:
                redrives.retry_import(subject, kind, child_id)
        except (Conflict, NotFound):
            assert not allowed
            return
        assert allowed
        self.redriven.add(child_id)

    @deed(number=pick)
    def a_person_tries_a_batch_again(self, number: int) -> None:
        if found := chosen(self.batches, number):
            failed = {
                child_id
                for child_id, row in self.known.items()
                if row.item["batch_id"] == found[1]
                and row.state == "failed"
                and row.child["source_expired_at"] is None
            }
            try:
                assert redrives.retry_batch(*found) == len(failed)
            except Conflict:
                assert not failed
            self.redriven |= failed

    @deed(number=pick)
    def an_operator_gives_up(self, number: int) -> None:
        if found := chosen(self.accepted, number):
            live = self.known[found[1]].state not in TERMINAL
            done = verdicts.fail(found[2], found[1], code="failed_by_operator", message="no")
            assert done == live
