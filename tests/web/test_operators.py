"""The operator page: for members of the group alone, and for no other session of theirs."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from flask import Flask
from flask.testing import FlaskClient

from jobs.storage import Storage
from models import samples, status, transitions
from models.states import ImportType
from tests.builders import register
from tests.web.conftest import Issuer
from tests.web.test_api_uploads import rows
from tests.web.test_pages import hidden, pool_settings, sign_in
from web.factory import create_app
from web.operators import _pass


def operator(app: Flask) -> FlaskClient:
    """Return the browser of a person who signed in as a member of the group."""
    client = app.test_client()
    token = sign_in(client, "an-operator")
    with app.app_context():
        client.set_cookie("torikomi_operator", _pass(token))
    return client


@pytest.fixture
def member(aws: Any) -> Any:
    """Make the pool's user a member of the group, for one test."""
    pool = boto3.client("cognito-idp", endpoint_url=aws.endpoint_url)
    user = {"UserPoolId": aws.provisioned.pool_id, "Username": aws.provisioned.username}
    pool.create_group(GroupName="operators", UserPoolId=aws.provisioned.pool_id)
    pool.admin_add_user_to_group(GroupName="operators", **user)
    yield user
    pool.admin_remove_user_from_group(GroupName="operators", **user)
    pool.delete_group(GroupName="operators", UserPoolId=aws.provisioned.pool_id)


def sign_in_for_real(client: FlaskClient, aws: Any) -> None:
    page = client.get("/sign-in")
    fields = {"username": aws.provisioned.username, "password": aws.provisioned.password}
    fields["csrf_token"] = hidden(page, "csrf_token")
    assert client.post("/sign-in", data=fields).status_code == 303


def test_a_member_of_the_group_is_let_in_and_others_find_nothing(
    aws: Any, issuer: Issuer, storage: Storage, database: str, member: dict[str, str]
) -> None:
    app = create_app(pool_settings(aws, issuer), storage)
    client = app.test_client()
    sign_in_for_real(client, aws)
    assert client.get("/operator").status_code == 200
    assert 'href="/operator"' in client.get("/").get_data(as_text=True)
    # Given the same cookie, another session gets nothing by it.
    stolen = client.get_cookie("torikomi_operator")
    other = app.test_client()
    sign_in(other, "somebody")
    other.set_cookie("torikomi_operator", stolen.value if stolen else "")
    assert other.get("/operator").status_code == 404
    assert 'href="/operator"' not in other.get("/").get_data(as_text=True)


def test_a_person_outside_the_group_finds_nothing(
    aws: Any, issuer: Issuer, storage: Storage, database: str
) -> None:
    client = create_app(pool_settings(aws, issuer), storage).test_client()
    sign_in_for_real(client, aws)
    client.set_cookie("torikomi_operator", "0" * 64)
    assert client.get("/operator").status_code == 404
    assert client.get("/sign-in").status_code == 200


def test_the_page_tells_outbox_breaker_queues_and_what_was_given_up(app: Flask) -> None:
    client = operator(app)
    register(3)
    status.put("queue:page_import", "queue", {"visible": 17, "in_flight": 2, "dead": 4})
    samples.note_dead_letters(ImportType.PAGE_IMPORT, status.database_epoch() - 3 * 3600)
    status.put("dispatch_breaker", "breaker", {"state": "open", "reason": "x"})
    _, (failed, broken, silent) = register(3)
    for child_id, code in ((failed, "dead_lettered"), (broken, "file_corrupt")):
        about = {"type": ImportType.PAGE_IMPORT, "child_id": child_id, "run": 1}
        transitions.apply_report(event="failed", error_code=code, error_message="x", **about)
    transitions.apply_report(
        type=ImportType.PAGE_IMPORT, child_id=silent, event="processing", run=1
    )
    rows(
        "UPDATE page_import SET last_report_at = now() - interval '1 hour' WHERE id = %s"
        " RETURNING id",
        silent,
    )
    page = client.get("/operator?lang=en").get_data(as_text=True)
    for word in ("17", "4", "3 hours", "paused: SQS does not answer", failed, silent):
        assert word in page
    assert broken not in page
    answer = client.get("/operator?part=live")
    again = client.get("/operator?part=live", headers={"If-None-Match": answer.headers["ETag"]})
    assert (answer.status_code, again.status_code) == (200, 304)


def test_an_operator_begins_a_strangers_import_anew_once(app: Flask) -> None:
    client = operator(app)
    _, (child_id,) = register(subject="somebody-else")
    transitions.apply_report(
        type=ImportType.PAGE_IMPORT,
        child_id=child_id,
        event="failed",
        run=1,
        error_code="dead_lettered",
        error_message="x",
    )
    fields = {"csrf_token": hidden(client.get("/operator"), "csrf_token")}
    for _ in range(2):
        answer = client.post(f"/operator/redrive/{child_id}", data=fields)
        assert answer.headers["Location"] == "/operator"
    assert rows("SELECT run, status FROM page_import") == [{"run": 2, "status": "queued"}]
    found = rows("SELECT component, updated_by FROM job_event WHERE event = 'redriven'")
    assert found == [{"component": "operator", "updated_by": "an-operator"}]
    stranger = app.test_client()
    sign_in(stranger, "somebody")
    fields = {"csrf_token": hidden(stranger.get("/"), "csrf_token")}
    assert stranger.post(f"/operator/redrive/{child_id}", data=fields).status_code == 404
