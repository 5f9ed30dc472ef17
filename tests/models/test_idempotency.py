"""Keys: one running owner, takeover after the lease, the first answer for 24 hours."""

import pytest

from models import idempotency
from models.errors import KeyInProgress, ReservationLost
from models.idempotency import Completed, Reservation
from tests.builders import ALICE, BOB, change, register


def test_a_running_key_is_in_progress_for_everybody_else(database):
    assert isinstance(idempotency.reserve(ALICE, "k"), Reservation)
    with pytest.raises(KeyInProgress):
        idempotency.reserve(ALICE, "k")


def test_keys_of_two_subjects_never_meet(database):
    idempotency.reserve(ALICE, "k")
    assert isinstance(idempotency.reserve(BOB, "k"), Reservation)


def test_a_finished_key_returns_its_first_answer(database):
    reservation = idempotency.reserve(ALICE, "k")
    register(reservation=reservation, fingerprint="f" * 64, response={"import_id": "x"})
    again = idempotency.reserve(ALICE, "k")
    assert again == Completed(fingerprint="f" * 64, response={"import_id": "x"})


def test_a_released_key_is_free_at_once(database):
    idempotency.release(idempotency.reserve(ALICE, "k"))
    assert isinstance(idempotency.reserve(ALICE, "k"), Reservation)


def test_an_expired_lease_may_be_taken_over_and_the_first_owner_has_lost(database):
    first = idempotency.reserve(ALICE, "k")
    change("UPDATE idempotency_key SET lease_until = clock_timestamp() - interval '1 second'")
    second = idempotency.reserve(ALICE, "k")
    assert second.token != first.token
    with pytest.raises(ReservationLost):
        idempotency.renew(first)
    idempotency.release(first)
    idempotency.renew(second)


def test_an_answer_is_forgotten_after_a_day(database):
    reservation = idempotency.reserve(ALICE, "k")
    register(reservation=reservation, fingerprint="f", response={})
    change("UPDATE idempotency_key SET created_at = created_at - interval '25 hours'")
    assert isinstance(idempotency.reserve(ALICE, "k"), Reservation)
    change("UPDATE idempotency_key SET created_at = created_at - interval '25 hours'")
    assert idempotency.forget_expired() == 1
