"""`doctor` on the running product: healthy, and with the settings of a bad night."""

import json
import subprocess
import sys

from tests.flow.papers import ROOT


def doctor(stack, *words, **settings):
    """Run it as an operator would; returns the exit code, the findings by part, and stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "flask", "--app", "app", "doctor", "--json", *words],
        cwd=ROOT,
        env={**stack.env("web"), **settings},
        capture_output=True,
        text=True,
    )
    told = json.loads(done.stdout)
    assert told["problems"] == sum(each["level"] == "problem" for each in told["findings"])
    return done.returncode, {each["part"]: each for each in told["findings"]}, done.stderr


def test_it_finds_nothing_wrong_with_the_running_product(stack):
    code, found, _ = doctor(stack, "--write")
    assert code == 0
    assert not [each for each in found.values() if each["level"] == "problem"]
    assert {
        "web settings",
        "scheduler settings",
        "worker settings",
        "versions",
        "disk",
        "database",
        "database clock",
        "database rights",
        "schema",
        "bucket versions",
        "bucket rights",
        "bucket clock",
        "queue torikomi_page_import redrive",
        "queue torikomi_code2des_dlq",
        "sign-in keys",
        "sign-in client",
        "web",
        "webhook secret",
    } <= set(found)
    assert found["queue torikomi_page_import"]["level"] == "ok"


def test_each_part_that_is_wrong_is_named_with_what_to_do_and_no_trace_is_shown(stack):
    code, found, errors = doctor(
        stack,
        DATABASE_URL="postgresql://nobody:secret-word@127.0.0.1:9/none",
        S3_BUCKET="no-such-bucket",
        QUEUE_NAMESPACE="nobody",
        SESSION_SECRET="short",
        WEB_URL="http://127.0.0.1:9",
    )
    assert code == 1
    bad = {part: each["next_step"] for part, each in found.items() if each["level"] == "problem"}
    assert "DATABASE_URL" in bad["database"]
    assert "S3_BUCKET" in bad["bucket"]
    assert "QUEUE_NAMESPACE" in bad["queue nobody_page_import"]
    assert "docs/configuration.md" in bad["web settings"]
    assert "SESSION_SECRET is wrong" in found["web settings"]["said"]
    assert "WEB_URL" in bad["web"]
    assert "Traceback" not in errors
    assert "secret-word" not in json.dumps(found) + errors


def test_a_pool_and_a_secret_that_are_another_installations_are_found(stack):
    code, found, _ = doctor(
        stack,
        COGNITO_CLIENT_ID="nobodys-client",
        COGNITO_JWKS_URL=f"{stack.url}/livez",
        COGNITO_ISSUER="https://example.test/pool",
        WEBHOOK_SECRETS="whsec_" + "QUFB" * 8,
    )
    assert code == 1
    assert found["webhook secret"]["said"] == "the web refuses a worker's signature"
    for part in ("sign-in client", "sign-in keys", "sign-in issuer", "webhook secret"):
        assert (found[part]["level"], bool(found[part]["next_step"])) == ("problem", True)


def test_it_looks_only_at_what_the_process_needs(stack):
    code, found, _ = doctor(stack, "--process", "worker", DATABASE_URL="", SESSION_SECRET="")
    assert code == 0
    assert not {"database", "web settings", "sign-in keys"} & set(found)
    assert {"worker settings", "bucket", "web"} <= set(found)
