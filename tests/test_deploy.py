"""The template and the image recipe are well formed and agree with the code."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from cfnlint.decode.cfn_yaml import load

from jobs.settings import WorkerSettings
from local.procfile import read_procfile
from scheduler.doctor.aws import NEEDED_RECEIVES

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = ROOT / "deploy" / "aws" / "torikomi.yaml"
CONTAINERFILE = (ROOT / "deploy" / "container" / "Containerfile").read_text("utf-8")


def resources(kind: str) -> dict[str, dict]:
    """Return the properties of each resource of a type."""
    found = load(str(TEMPLATE))["Resources"].items()
    return {name: each["Properties"] for name, each in found if each["Type"] == f"AWS::{kind}"}


def test_cfn_lint_finds_nothing_in_the_template() -> None:
    command = [str(Path(sys.executable).parent / "cfn-lint"), "--include-checks", "I"]
    done = subprocess.run(
        [*command, "--regions", "ap-northeast-1", "--", str(TEMPLATE)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_no_right_is_on_everything_and_none_is_on_every_action() -> None:
    for name, properties in resources("IAM::ManagedPolicy").items():
        for statement in properties["PolicyDocument"]["Statement"]:
            assert statement["Resource"] != "*", name
            actions = statement["Action"]
            actions = [actions] if isinstance(actions, str) else actions
            assert not [action for action in actions if "*" in action], name


def test_the_queues_are_those_that_the_product_looks_for() -> None:
    queues = {each["QueueName"]["Fn::Sub"]: each for each in resources("SQS::Queue").values()}
    kinds = WorkerSettings.model_fields["worker_queues"].default.split(",")
    names = {f"${{Namespace}}_{kind}" for kind in kinds}
    assert set(queues) == names | {f"{name}_dlq" for name in names}
    for name in names:
        assert queues[name]["RedrivePolicy"]["maxReceiveCount"] == NEEDED_RECEIVES
        visible = WorkerSettings.model_fields["visibility_seconds"].default
        assert queues[name]["VisibilityTimeout"] == visible
        redrive = queues[f"{name}_dlq"]["RedriveAllowPolicy"]
        assert redrive["sourceQueueArns"][0]["Fn::Sub"].endswith(f":{name}")
    assert all(each["SqsManagedSseEnabled"] for each in queues.values())


def test_the_bucket_is_private_encrypted_versioned_and_cleans_up() -> None:
    (bucket,) = resources("S3::Bucket").values()
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert all(bucket["PublicAccessBlockConfiguration"].values())
    assert bucket["BucketEncryption"]
    rules = bucket["LifecycleConfiguration"]["Rules"]
    assert {"AbortIncompleteMultipartUpload", "NoncurrentVersionExpiration"} <= {
        name for rule in rules for name in rule
    }
    assert not [rule for rule in rules if "ExpirationInDays" in rule], "rows decide, not S3"


def test_bucket_and_queues_refuse_whoever_comes_without_tls() -> None:
    policies = {**resources("S3::BucketPolicy"), **resources("SQS::QueuePolicy")}
    assert len(policies) == 1 + len(resources("SQS::Queue"))
    for name, properties in policies.items():
        (statement,) = properties["PolicyDocument"]["Statement"]
        assert statement["Effect"] == "Deny", name
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}, name


def test_every_queue_has_an_alarm_of_its_own() -> None:
    watched = {
        alarm["Dimensions"][0]["Value"]["Fn::GetAtt"][0]
        for alarm in resources("CloudWatch::Alarm").values()
    }
    assert watched == set(resources("SQS::Queue"))


def test_each_process_that_talks_to_aws_has_a_role_with_its_own_policy_only() -> None:
    roles = resources("IAM::Role")
    assert set(roles) == {"WebRole", "SchedulerRole", "WorkerRole"}
    for name, role in roles.items():
        assert role["ManagedPolicyArns"] == [{"Ref": name.replace("Role", "Policy")}]
        assert "Policies" not in role


def test_the_outputs_name_settings_that_exist() -> None:
    listed = set(
        re.findall(r"^([A-Z0-9_]+)=", (ROOT / ".env.example").read_text("utf-8"), flags=re.M)
    )
    described = [each["Description"] for each in load(str(TEMPLATE))["Outputs"].values()]
    named = {word for text in described for word in re.findall(r"\b[A-Z][A-Z0-9_]{5,}\b", text)}
    assert named
    assert named <= listed


def instructions(name: str) -> list[str]:
    """Return the arguments of each instruction of the image recipe."""
    return re.findall(rf"^{name} (.*)$", CONTAINERFILE, flags=re.M)


def test_the_image_has_a_supported_python_the_lock_and_no_root() -> None:
    (base,) = instructions("FROM")
    assert re.fullmatch(r"python:3\.1[1-3]-slim", base)
    assert "tesseract-ocr-jpn" in CONTAINERFILE
    assert any("--require-hashes -r local/locks/run.txt" in run for run in instructions("RUN"))
    assert instructions("USER") == ["torikomi"]
    assert not instructions("ADD")


def test_the_image_holds_what_the_product_imports_and_no_secret() -> None:
    copied = {name for line in instructions("COPY") for name in line.split()[:-1]}
    assert {"Procfile", "app.py", "web", "models", "scheduler", "jobs", "migrations"} <= copied
    assert all((ROOT / name).exists() for name in copied)
    assert not [name for name in copied if name.startswith((".env", "var", "."))]


def test_the_entry_point_of_the_image_starts_the_processes_of_the_procfile(tmp_path: Path) -> None:
    (entry,) = [json.loads(line) for line in instructions("ENTRYPOINT")]
    (tmp_path / "Procfile").write_text("web: echo web\nworker: exec echo worker $PORT\n", "utf-8")
    for process, said in {"web": "web\n", "worker": "worker 8000\n"}.items():
        done = subprocess.run(
            [*entry, process], cwd=tmp_path, env={"PORT": "8000"}, capture_output=True, text=True
        )
        assert (done.returncode, done.stdout) == (0, said)
    (default,) = [json.loads(line) for line in instructions("CMD")]
    assert default[0] in read_procfile(ROOT / "Procfile")
