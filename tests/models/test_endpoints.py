"""Endpoints of a subject: made, changed, rotated, deleted; theirs alone."""

import base64
import threading

import pytest

from models import endpoints
from models.endpoints import EventType
from models.errors import Conflict, NotFound
from tests.builders import ALICE, BOB, change, rows

URL = "https://hooks.example.com/"


def create(subject=ALICE, **more):
    given = {"url": URL, "event_types": list(EventType), "description": None, "language": "en"}
    return endpoints.create_endpoint(subject, **{**given, **more})


def stored(endpoint_id):
    return rows("SELECT * FROM endpoint WHERE id = %s", (endpoint_id,))[0]


def test_a_secret_has_32_random_bytes_in_the_form_of_standard_webhooks(database):
    secrets = {create()[1] for _ in range(3)}
    assert len(secrets) == 3
    for secret in secrets:
        assert secret.startswith("whsec_")
        assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32


def test_no_view_of_an_endpoint_has_its_secret(database):
    view, secret = create()
    for shown in (view, endpoints.get_endpoint(ALICE, view.id), endpoints.list_endpoints(ALICE)):
        assert secret not in repr(shown)


def test_a_stranger_finds_nothing_and_changes_nothing(database):
    view, _ = create()
    for touch in (
        lambda: endpoints.get_endpoint(BOB, view.id),
        lambda: endpoints.change_endpoint(BOB, view.id, {"enabled": False}),
        lambda: endpoints.rotate_secret(BOB, view.id),
        lambda: endpoints.delete_endpoint(BOB, view.id),
    ):
        with pytest.raises(NotFound):
            touch()
    assert endpoints.list_endpoints(BOB) == ([], None)
    assert stored(view.id)["enabled"]


def test_a_rotated_secret_keeps_the_old_one_for_a_day(database):
    view, first = create()
    rotated, second = endpoints.rotate_secret(ALICE, view.id)
    row = stored(view.id)
    assert (row["secret"], row["previous_secret"]) == (second, first)
    assert rotated.previous_secret_until == row["previous_until"]
    seconds = (row["previous_until"] - row["updated_at"]).total_seconds()
    assert seconds == pytest.approx(24 * 3600, abs=5)


def test_a_deleted_endpoint_is_gone_and_its_secrets_with_it(database):
    view, secret = create()
    endpoints.rotate_secret(ALICE, view.id)
    endpoints.delete_endpoint(ALICE, view.id)
    with pytest.raises(NotFound):
        endpoints.get_endpoint(ALICE, view.id)
    row = stored(view.id)
    assert (row["secret"], row["previous_secret"], row["deleted_by"]) == ("", None, ALICE)


def test_enabling_again_forgets_what_went_wrong(database):
    view, _ = create()
    off = endpoints.change_endpoint(ALICE, view.id, {"enabled": False})
    assert (off.enabled, off.disabled_reason) == (False, "owner")
    assert off.disabled_at is not None
    on = endpoints.change_endpoint(ALICE, view.id, {"enabled": True, "url": URL + "new"})
    assert (on.enabled, on.disabled_reason, on.disabled_at) == (True, None, None)
    assert on.url == URL + "new"


def test_another_url_has_not_failed_yet(database):
    view, _ = create()
    change("UPDATE endpoint SET failing_since = now()")
    same = endpoints.change_endpoint(ALICE, view.id, {"url": URL, "description": "x"})
    assert same.failing_since is not None
    other = endpoints.change_endpoint(ALICE, view.id, {"url": URL + "new"})
    assert other.failing_since is None


def test_the_last_free_place_is_given_once(database):
    for _ in range(endpoints.MAX_ENDPOINTS - 1):
        create()
    results = []

    def attempt():
        try:
            results.append(create()[0].id)
        except Conflict as error:
            results.append(error.code)

    threads = [threading.Thread(target=attempt) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results)[1:] == ["endpoints_exceeded"] * 3
    endpoints.delete_endpoint(ALICE, min(results))
    create()
    create(BOB)


def test_endpoints_are_listed_page_by_page(database):
    made = [create()[0].id for _ in range(3)]
    first, cursor = endpoints.list_endpoints(ALICE, limit=2)
    rest, end = endpoints.list_endpoints(ALICE, limit=2, cursor=cursor)
    assert sorted(each.id for each in [*first, *rest]) == sorted(made)
    assert end is None
    with pytest.raises(Conflict, match="cursor_invalid"):
        endpoints.list_endpoints(ALICE, cursor="x")
