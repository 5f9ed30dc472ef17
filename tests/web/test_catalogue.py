"""Every code of the catalogue is produced by a test; those that few requests can raise, here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from flask import abort
from flask.testing import FlaskClient

from models.errors import Conflict
from tests.builders import change, rows
from tests.conftest import Aws
from tests.web.conftest import Issuer, Person, make_settings
from web.auth import public
from web.catalogue import ITEM_CODES, REQUEST_CODES
from web.cognito import SignIn
from web.errors import WebError
from web.factory import create_app

TESTS = Path(__file__).resolve().parents[1]


def asserted_by(path: Path) -> dict[str, list[str]]:
    """Return each text that a test of the file asserts, with the tests that do.

    A text counts in an assertion that says "equal" or "in", in pytest.raises(match=…), in a call
    of an assertion of our own (is_…), and in the cases that a test is parametrized with.
    """
    tree = ast.parse(path.read_text("utf-8"))
    tables = {
        name.id: statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value
        for name in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        if isinstance(name, ast.Name)
    }
    found: dict[str, list[str]] = {}
    for test in ast.walk(tree):
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
            for place in (*cases(test, tables), *assertions(test)):
                for text in texts(place):
                    found.setdefault(text.strip("^$"), []).append(f"{path.name}::{test.name}")
    return found


def cases(test: ast.FunctionDef, tables: dict[str, ast.expr]) -> Iterator[ast.AST]:
    """Yield what a test is parametrized with, also by the name of a table of its module."""
    for decorator in test.decorator_list:
        yield decorator
        for node in ast.walk(decorator):
            if isinstance(node, ast.Name) and node.id in tables:
                yield tables[node.id]


def assertions(test: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield what a test asserts to be so; "is not" and "not in" prove no code."""
    for node in ast.walk(test):
        if isinstance(node, ast.Assert) and not any(
            isinstance(part, ast.NotEq | ast.NotIn) for part in ast.walk(node)
        ):
            yield node
        elif isinstance(node, ast.With):
            yield from (item.context_expr for item in node.items if "raises" in ast.dump(item))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).startswith("is_"):
            yield node


def texts(node: ast.AST) -> set[str]:
    """Return the text constants below a node."""
    found = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
    return {value for value in found if isinstance(value, str)}


def test_every_code_is_produced_by_a_test_and_none_is_exempt() -> None:
    produced: dict[str, list[str]] = {}
    for path in TESTS.rglob("test_*.py"):
        for text, tests in asserted_by(path).items():
            produced.setdefault(text, []).extend(tests)
    known = {*REQUEST_CODES, *ITEM_CODES}
    assert len(known) > 80
    assert {code for code in known if not produced.get(code)} == set()


def test_every_test_that_the_table_of_promises_names_exists() -> None:
    table = (TESTS / "web" / "README.md").read_text("utf-8")
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", table)
    assert len(named) > 60
    assert [
        f"{file}::{name}"
        for file, name in named
        if f"def {name}(" not in (TESTS / file).read_text("utf-8")
    ] == []


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "bad_request"),
        (403, "forbidden"),
        (408, "request_timeout"),
        (409, "conflict"),
        (410, "gone"),
        (411, "length_required"),
        (412, "precondition_failed"),
        (413, "request_too_large"),
        (414, "uri_too_long"),
        (415, "media_type_unsupported"),
        (416, "range_not_satisfiable"),
        (418, "bad_request"),
        (431, "headers_too_large"),
        (503, "unavailable"),
        (504, "internal_error"),
    ],
)
def test_what_the_framework_raises_is_a_problem_too(
    issuer: Issuer, storage: Any, aws: Any, status: int, code: str
) -> None:
    app = create_app(make_settings(issuer), storage)

    @app.get("/api/v1/raise")
    @public
    def fail() -> Any:
        abort(status)

    answer = app.test_client().get("/api/v1/raise")
    assert (answer.status_code, answer.json["code"]) == (status, code)
    assert answer.mimetype == "application/problem+json"


def test_a_conflict_of_an_unknown_name_is_a_conflict(
    issuer: Issuer, storage: Any, aws: Any
) -> None:
    app = create_app(make_settings(issuer), storage)

    @app.get("/api/v1/raise")
    @public
    def fail() -> Any:
        raise Conflict("of_a_newer_version")

    answer = app.test_client().get("/api/v1/raise")
    assert (answer.status_code, answer.json["code"]) == (409, "conflict")


def test_nul_in_a_query_is_400(client: FlaskClient, person: Person) -> None:
    answer = client.get("/api/v1/batches?cursor=%00", headers=person.headers)
    assert (answer.status_code, answer.json["code"]) == (400, "bad_request")


def test_readyz_tells_an_old_schema(client: FlaskClient) -> None:
    (newest,) = rows("SELECT max(name) AS name FROM schema_migration")
    kept = rows("SELECT * FROM schema_migration WHERE name = %s", (newest["name"],))[0]
    change("DELETE FROM schema_migration WHERE name = %s", (newest["name"],))
    try:
        answer = client.get("/readyz")
    finally:
        columns, values = ", ".join(kept), list(kept.values())
        places = ", ".join(["%s"] * len(values))
        change(f"INSERT INTO schema_migration ({columns}) VALUES ({places})", values)
    assert (answer.status_code, answer.json["code"]) == (503, "schema_outdated")
    assert client.get("/readyz").status_code == 200


def test_signing_in_tells_a_wrong_password_from_a_challenge(issuer: Issuer, aws: Aws) -> None:
    who, account = aws.provisioned, aws.account
    idp = boto3.client(
        "cognito-idp",
        endpoint_url=account.endpoint_url,
        region_name=account.region,
        aws_access_key_id=account.access_key_id,
        aws_secret_access_key=account.secret_access_key,
    )
    idp.admin_create_user(
        UserPoolId=who.pool_id, Username="newcomer", TemporaryPassword="Temporary-1"
    )
    sign_in = SignIn(make_settings(issuer, cognito_client_id=who.client_id))
    try:
        with pytest.raises(WebError, match="^sign_in_challenge$"):
            sign_in.access_token("newcomer", "Temporary-1")
        with pytest.raises(WebError, match="^sign_in_failed$"):
            sign_in.access_token(who.username, "wrong")
    finally:
        idp.admin_delete_user(UserPoolId=who.pool_id, Username="newcomer")
    assert REQUEST_CODES["sign_in_failed"].status == 401
    assert REQUEST_CODES["sign_in_challenge"].status == 401
