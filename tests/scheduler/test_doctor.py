"""What `doctor` says of parts that are there and not as the product needs them."""

import json

import boto3
import click
import pytest
from click.testing import CliRunner

from jobs import findings
from jobs.settings import QueueSettings, StorageSettings
from models import database as models_database
from models import status
from scheduler.breaker import Breaker
from scheduler.doctor import aws as doctor_aws
from scheduler.doctor import database as doctor_database
from scheduler.doctor import machine, settings
from scheduler.doctor.command import doctor_command
from scheduler.settings import SchedulerSettings


def by_part(found):
    return {finding.part: finding for finding in found}


@pytest.fixture
def sick(aws):
    """Queues of a namespace of their own, made without care."""
    sqs = boto3.client("sqs")
    urls = {
        name: sqs.create_queue(QueueName=f"sick_{name}")["QueueUrl"]
        for name in ("page_import", "page_import_dlq", "code2des", "code2des_dlq")
    }

    def redrive(queue: str, target: str, count: int) -> None:
        arn = sqs.get_queue_attributes(QueueUrl=urls[target], AttributeNames=["QueueArn"])
        policy = {"deadLetterTargetArn": arn["Attributes"]["QueueArn"], "maxReceiveCount": count}
        sqs.set_queue_attributes(
            QueueUrl=urls[queue], Attributes={"RedrivePolicy": json.dumps(policy)}
        )

    return redrive


def test_queues_that_would_lose_or_give_up_too_early_are_found(sick):
    sick("page_import", "code2des_dlq", 6)
    sick("code2des", "code2des_dlq", 3)
    found = by_part(
        doctor_aws.check_queues(QueueSettings(queue_namespace="sick"), None, dead_letters=False)
    )
    wrong, early = (found[f"queue sick_{kind} redrive"] for kind in ("page_import", "code2des"))
    assert (wrong.level, "sick_page_import_dlq" in wrong.next_step) == ("problem", True)
    assert (early.level, "maxReceiveCount to 6" in early.next_step) == ("warning", True)


def test_a_bucket_that_keeps_no_versions_is_found(aws):
    boto3.client("s3").create_bucket(
        Bucket="forgetful", CreateBucketConfiguration={"LocationConstraint": "ap-northeast-1"}
    )
    found = by_part(doctor_aws.check_bucket(StorageSettings(s3_bucket="forgetful"), write=False))
    assert found["bucket versions"].level == "problem"
    assert "versioning" in found["bucket versions"].next_step


@pytest.mark.parametrize(
    ("reason", "step"),
    [
        ("AccessDenied", "rights of deploy/aws"),
        ("head_bucket: 403", "rights of deploy/aws"),
        ("NoCredentialsError", "a role"),
        ("RequestTimeTooSkewed", "NTP"),
        ("AWS.SimpleQueueService.NonExistentQueue", "QUEUE_NAMESPACE"),
        ("EndpointConnectionError", "AWS_ENDPOINT_URL"),
    ],
)
def test_what_aws_says_becomes_what_to_do(reason, step):
    assert step in doctor_aws.next_step(reason)


def test_a_missing_migration_stops_the_look_at_the_schema(database):
    with models_database.connection():
        (name,) = [
            row["tablename"]
            for row in models_database.fetch(
                "SELECT tablename FROM pg_tables WHERE tablename LIKE '%%migration%%'"
            )
        ]
        models_database.execute(f"ALTER TABLE {name} RENAME TO away")
    try:
        found = by_part(doctor_database.check())
    finally:
        with models_database.connection():
            models_database.execute(f"DROP TABLE IF EXISTS {name}")
            models_database.execute(f"ALTER TABLE away RENAME TO {name}")
    assert found["schema"].level == "problem"
    assert "db migrate" in found["schema"].next_step


def test_silent_schedulers_and_an_open_breaker_are_told(database):
    Breaker().trip("AccessDenied")
    found = by_part(doctor_database.check())
    assert (found["scheduler"].level, found["dispatch"].level) == ("warning", "warning")
    assert "AccessDenied" in found["dispatch"].said
    status.put("scheduler:here:1", "scheduler", {"pid": 1})
    Breaker().close()
    found = by_part(doctor_database.check())
    assert (found["scheduler"].level, found["dispatch"].level) == ("ok", "ok")


def test_a_clock_is_judged_by_how_far_it_is_away():
    levels = [findings.clock("web", seconds).level for seconds in (1, -4, 60, -400, None)]
    assert levels == ["ok", "ok", "warning", "problem", "ok"]


def test_packages_that_are_not_as_locked_are_named(tmp_path, monkeypatch):
    lock = tmp_path / "run.txt"
    lock.write_text(
        "".join(f"{name}==0.0.1 \\\n    --hash=sha256:x\n" for name in machine._WATCHED)
    )
    monkeypatch.setattr(machine, "LOCK", lock)
    (finding,) = machine.check_versions()
    assert (finding.level, "(locked 0.0.1)" in finding.said) == ("warning", True)


def test_a_place_for_temporary_files_that_is_not_there_is_a_problem(tmp_path):
    (finding,) = machine.check_disk(tmp_path / "gone")
    assert (finding.level, "WORKER_TEMP_DIR" in finding.next_step) == ("problem", True)


def test_settings_that_work_against_each_other_are_found(database, monkeypatch):
    for name, value in {
        "DATABASE_URL": database,
        "WEB_URL": "http://far.example",
        "WEBHOOK_SECRETS": "whsec_" + "QUFB" * 8,
        "HEARTBEAT_SECONDS": "90",
        "STALL_AFTER_SECONDS": "800",
    }.items():
        monkeypatch.setenv(name, value)
    said = [finding.said for finding in settings.check({"scheduler": SchedulerSettings})]
    assert said == [
        "complete",
        "one late heartbeat would give a message away",
        "waiting work would count as stalled",
        "WEB_URL is http to another machine",
    ]


def test_a_check_that_fails_itself_is_one_more_finding(database, aws, monkeypatch):
    def broken():
        yield findings.ok("sign-in", "begun")
        raise RuntimeError("unforeseen")

    monkeypatch.setenv("DATABASE_URL", database)
    command = doctor_command(SchedulerSettings, broken)
    done = CliRunner().invoke(click.Group(commands=[command]), ["doctor", "--process", "web"])
    assert done.exit_code == 1
    (line,) = [line for line in done.stdout.splitlines() if "internal_error" in line]
    assert line.startswith("problem sign-in: internal_error: RuntimeError: unforeseen; next: ")
    assert done.stdout.splitlines()[-1].startswith("1 problems in ")
