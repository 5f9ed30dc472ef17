"""Given parts replace embedded ones, one by one."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.errors import LocalError
from local.plan import DEFAULT_PORT, Plan, read_port
from local.postgres import PostgresServer
from local.processes import free_port
from local.stack import Stack


@pytest.fixture
def own(server_dir: Path, tmp_path: Path) -> Iterator[Path]:
    yield server_dir / f"plan {tmp_path.name}"


def test_a_given_database_replaces_the_embedded_one(
    own: Path, postgres: PostgresServer, template: str
) -> None:
    postgres.create_database("given", template=template)
    url = postgres.url("given")
    stack = Stack(own, processes=(), given={"DATABASE_URL": url})
    try:
        stack.start()

        assert set(stack.identities()) == {"aws"}
        assert stack.env("web")["DATABASE_URL"] == url
        assert "DATABASE_URL" not in stack.env("worker")
    finally:
        stack.destroy()
        postgres.drop_database("given")


def test_a_taken_metrics_port_is_replaced_and_a_given_one_is_kept(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        taken, free = stranger.getsockname()[1], free_port()
        usual = {
            "WEB_METRICS_PORT": taken,
            "SCHEDULER_METRICS_PORT": free,
            "WORKER_METRICS_PORT": 9,
        }
        monkeypatch.setattr("local.plan.METRICS_PORTS", usual)
        plan = Plan(own, DEFAULT_PORT, {"WORKER_METRICS_PORT": "7"})

    assert plan.metrics_ports["WEB_METRICS_PORT"] not in {str(taken), "0"}
    assert plan.metrics_ports["SCHEDULER_METRICS_PORT"] == str(free)
    assert plan.env("worker", {})["WORKER_METRICS_PORT"] == "7"


def test_a_given_aws_replaces_the_embedded_store_and_is_provisioned(own: Path, aws: object) -> None:
    endpoint = str(aws.endpoint_url)  # type: ignore[attr-defined]
    given = {"AWS_ENDPOINT_URL": endpoint, "S3_BUCKET": "given", "QUEUE_NAMESPACE": "given"}
    stack = Stack(own, processes=(), given=given)
    try:
        stack.start()

        env = stack.env("worker")
        assert (env["AWS_ENDPOINT_URL"], env["S3_BUCKET"]) == (endpoint, "given")
        # Users are still ours, so the emulator runs for them alone.
        assert stack.env("web")["COGNITO_ENDPOINT_URL"] != endpoint
    finally:
        stack.destroy()


def test_a_given_user_pool_is_passed_on_and_nobody_else_signs_in(tmp_path: Path) -> None:
    plan = Plan(tmp_path, 8000, {"COGNITO_ISSUER": "https://i", "COGNITO_CLIENT_ID": "c"})
    env = plan.env("web", {"COGNITO_ISSUER": "ours", "S3_BUCKET": "torikomi"})

    assert not plan.embedded_cognito
    assert plan.embedded_store
    assert (env["COGNITO_ISSUER"], env["S3_BUCKET"]) == ("https://i", "torikomi")


def test_a_database_that_does_not_answer_ends_the_start_in_a_sentence(own: Path) -> None:
    given = {"DATABASE_URL": f"postgresql://a:b@127.0.0.1:{free_port()}/c"}
    stack = Stack(own, processes=(), given=given)

    with pytest.raises(LocalError) as refusal:
        stack.start()

    assert str(refusal.value).startswith("The database could not be brought up to date (")
    assert str(refusal.value).endswith(f"; more is in {stack.data_dir}/logs/release.log.")
    assert stack.identities() == {}


def test_a_persons_own_aws_account_stays_out_of_the_embedded_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = {"AWS_PROFILE": "work", "AWS_SESSION_TOKEN": "t", "AWS_REGION": "us-east-1"}
    for name, value in theirs.items():
        monkeypatch.setenv(name, value)
    env = Plan(tmp_path, 8000, theirs).env("web", {"AWS_ACCESS_KEY_ID": "torikomi"})

    assert "AWS_PROFILE" not in env
    assert "AWS_SESSION_TOKEN" not in env
    assert (env["AWS_REGION"], env["AWS_ACCESS_KEY_ID"]) == ("ap-northeast-1", "torikomi")


def test_an_empty_value_is_not_given(tmp_path: Path) -> None:
    plan = Plan(tmp_path, 8000, {"DATABASE_URL": "", "AWS_ENDPOINT_URL": ""})

    assert plan.embedded_postgres
    assert plan.embedded_store


@pytest.mark.parametrize("text", ["http", "0", "65536", "-1", "８０００"])
def test_a_port_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(LocalError):
        read_port(text)


def test_the_port_has_a_default() -> None:
    assert (read_port(None), read_port(""), read_port("8123")) == (8000, 8000, 8123)
