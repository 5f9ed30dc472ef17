"""One import can be followed by its ID through every process, and explained by one command."""

import json
import subprocess
import sys

from tests.flow.papers import ROOT


def run_command(stack, *words):
    """Run one of the operator's commands as README writes it."""
    done = subprocess.run(
        [sys.executable, "-m", "flask", "--app", "app", *words],
        cwd=ROOT,
        env=stack.env("web"),
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout


def test_the_import_id_is_on_the_lines_of_web_scheduler_and_worker(upload, ended, log_lines):
    accepted = upload("足跡".encode(), "足跡.txt")
    ended(accepted["import_id"])
    story = {
        process: [
            line["event"]
            for line in log_lines(process)
            if line.get("import_id") == accepted["import_id"]
        ]
        for process in ("web", "scheduler", "worker")
    }
    assert "source_stored" in story["web"]
    assert "import_accepted" in story["web"]
    assert "message_sent" in story["scheduler"]
    assert {"work_started", "work_reported"} <= set(story["worker"])


def test_no_secret_and_no_file_content_is_in_any_log(stack, upload, ended, token):
    accepted = upload("ログに出てはならない本文".encode())
    ended(accepted["import_id"])
    env = stack.env("web")
    secrets = [
        token,
        env["WEBHOOK_SECRETS"],
        env["SESSION_SECRET"],
        env["DATABASE_URL"],
        stack.provisioned.password,
        "ログに出てはならない本文",
    ]
    for path in (stack.data_dir / "logs").glob("*.log"):
        text = path.read_text("utf-8", "replace")
        assert not [secret for secret in secrets if secret in text], path.name


def test_explain_tells_the_story_of_one_import(stack, upload, ended):
    accepted = upload(b"%PDF-1.7\nnothing", "broken.pdf")
    ended(accepted["import_id"])
    code, out = run_command(stack, "imports", "explain", accepted["import_id"], "--json")
    assert code == 0
    story = json.loads(out)
    assert (story["status"], story["run"]) == ("failed", 1)
    assert "file_corrupt" in story["error"]
    assert [line.split(": ")[1].split(",")[0] for line in story["history"]] == [
        "accepted",
        "started",
        "failed",
    ]


def test_a_failed_import_can_be_redriven_by_its_id(stack, upload, ended, api):
    accepted = upload(b"%PDF-1.7\nnothing", "broken.pdf")
    ended(accepted["import_id"])
    code, out = run_command(stack, "imports", "redrive", accepted["import_id"])
    assert (code, out) == (0, f"redriven: {accepted['import_id']}\n")
    done = ended(accepted["import_id"])
    assert done["status"] == "failed"
    _, out = run_command(stack, "imports", "explain", accepted["import_id"], "--json")
    assert json.loads(out)["run"] == 2


def test_the_other_commands_answer(stack):
    assert run_command(stack, "db", "migrate") == (0, "nothing to apply\n")
    code, out = run_command(stack, "outbox", "status", "--json")
    assert code == 0
    assert json.loads(out)["breaker"] == "closed"
    code, out = run_command(stack, "imports", "resume-all", "--dry-run")
    assert code == 0
    assert out.startswith("in_flight: ")
    code, _ = run_command(stack, "imports", "explain", "no-such-id")
    assert code == 1
