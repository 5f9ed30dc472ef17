"""The operator's commands on real PostgreSQL, S3 and SQS: what they print, change and refuse."""

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import boto3
import pytest

from jobs.messages import JobMessage, encode_message
from jobs.settings import StorageSettings
from jobs.storage import Storage
from models import outbox
from tests.builders import (
    ALICE,
    BOB,
    change,
    child,
    event_names,
    item_of,
    old_id,
    register,
    report,
    rows,
)

ROOT = Path(__file__).parents[2]


def dead_letter(body: str, queue: str = "page_import") -> None:
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName=f"torikomi_{queue}_dlq")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody=body)


def letter_of(child_id: str) -> str:
    return encode_message(JobMessage.from_json(item_of(child_id)["message"]))


def dispatched(count: int = 1, **more) -> list[str]:
    _, ids = register(count, **more)
    outbox.mark_dispatched([claim.fence for claim in outbox.claim(count)])
    return ids


def dead() -> int:
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName="torikomi_page_import_dlq")["QueueUrl"]
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    numbers = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(number) for number in numbers.values())


def test_list_filters_by_state_subject_batch_and_error(database, operate):
    batch_id, (failed, waiting) = register(2)
    _, (strange,) = register(subject=BOB)
    report(failed, "failed", error_code="file_corrupt")

    def found(*words: str) -> set[str]:
        told = json.loads(operate("imports", "list", "--json", *words))
        return {each["id"] for each in told["imports"]}

    assert found() == {failed, waiting, strange}
    assert found("--state", "failed") == {failed}
    assert found("--error", "file_corrupt", "--state", "failed") == {failed}
    assert found("--subject", BOB) == {strange}
    assert found("--batch", batch_id, "--state", "queued") == {waiting}
    assert found("--type", "code2des") == set()


def test_list_pages_from_the_newest_to_the_oldest_without_loss(database, operate):
    _, ids = register(5)
    seen, cursor = [], None
    while True:
        more = ["--cursor", cursor] if cursor else []
        told = json.loads(operate("imports", "list", "--limit", "2", "--json", *more))
        seen += [each["id"] for each in told["imports"]]
        cursor = told["next_cursor"]
        if cursor is None:
            break
    assert seen == sorted(ids, reverse=True)


def test_a_hostile_file_name_cannot_break_a_line_of_the_list(database, operate):
    _, (child_id,) = register()
    hostile = "a\n\x1b[2J\u202eb.pdf"
    change("UPDATE page_import SET file_name = %s", (hostile,))
    lines = operate("imports", "list").splitlines()
    assert len([line for line in lines if child_id in line]) == 1
    assert "\\u000a\\u001b[2J\\u202e" in "\n".join(lines)
    told = operate("imports", "list", "--json")
    assert json.loads(told)["imports"][0]["file_name"] == hostile
    assert not {"\x1b", "\u202e"} & set(told)


def test_cancel_ends_a_live_import_and_says_who(database, operate):
    _, (child_id,) = register()
    told = operate("imports", "cancel", child_id, "--yes", "--as", "o8", "--json")
    assert json.loads(told) == {"cancelled": child_id}
    assert item_of(child_id)["cancelled_at"] is not None
    (event,) = rows("SELECT component, updated_by FROM job_event WHERE event = 'cancelled'")
    assert (event["component"], event["updated_by"]) == ("operator", "o8")


def test_fail_and_redrive_say_who_as_well(database, operate):
    _, (child_id,) = register()
    operate("imports", "fail", child_id, "--reason", "asked for", "--yes", "--as", "ops")
    assert child(child_id)["error_code"] == "failed_by_operator"
    operate("imports", "redrive", child_id, "--as", "ops")
    who = rows("SELECT event, updated_by FROM job_event WHERE updated_by = 'ops' ORDER BY id")
    assert [row["event"] for row in who] == ["failed", "redriven"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("imports", "cancel", "{done}", "--yes"), "already_terminal"),
        (("imports", "redrive", "{done}"), "not_failed"),
        (("imports", "explain", "nobody"), "not_found"),
        (("imports", "list", "--cursor", "!"), "cursor_invalid"),
    ],
)
def test_a_refusal_is_one_line_with_a_code_and_a_next_step(database, operate, words, code):
    _, (done,) = register()
    report(done, "completed")
    words = [word.format(done=done) for word in words]
    (line,) = operate(*words, fails=1).splitlines()
    assert line.startswith(f"error: {code}: ")
    assert "; next: " in line
    told = json.loads(operate(*words, "--json", fails=1))["error"]
    assert (told["code"], bool(told["next"])) == (code, True)


def test_gc_lists_what_no_row_wants_and_deletes_it_only_when_told_to(queue, operate, monkeypatch):
    monkeypatch.setattr("scheduler.janitor.ORPHAN_AGE", timedelta(seconds=-5))
    storage = Storage(StorageSettings())
    orphan = f"imports/{old_id(30)}/source"
    boto3.client("s3").put_object(Bucket="torikomi", Key=orphan, Body=b"x")
    listed = json.loads(operate("imports", "gc", "--dry-run", "--json"))
    assert listed["deleted"] is False
    assert orphan in listed["orphans"]
    assert orphan in list(storage.list_keys(orphan))
    assert orphan in json.loads(operate("imports", "gc", "--yes", "--json"))["orphans"]
    assert list(storage.list_keys(orphan)) == []


def test_queue_status_counts_what_sqs_holds(queue, operate):
    dead_letter("not a message")
    told = json.loads(operate("queue", "status", "--json"))
    assert set(told) == {"page_import", "code2des"}
    assert (told["page_import"]["visible"], told["page_import"]["dead"]) == (0, 1)


def test_dlq_list_tells_of_each_letter_and_takes_none_out(queue, operate):
    (child_id,) = dispatched()
    dead_letter(letter_of(child_id))
    dead_letter("not a message")
    letters = json.loads(operate("dlq", "list", "--json"))["dead_letters"]
    assert {(each["import_id"], each["status"]) for each in letters} == {
        (child_id, "queued"),
        (None, "unknown"),
    }
    assert all(each["next"] for each in letters)
    assert dead() == 2


def test_dlq_redrive_settles_letters_restarts_what_they_failed_and_keeps_strangers(queue, operate):
    live, lost = dispatched(2)
    report(lost, "failed", error_code="dead_lettered")
    dead_letter(letter_of(live))
    dead_letter("not a message")
    told = json.loads(operate("dlq", "redrive", "--yes", "--as", "o8", "--json"))
    assert told == {"settled": 1, "left": 1, "redriven": [lost], "refused": []}
    assert event_names(live)[-1] == "new_run"
    assert event_names(lost)[-1] == "redriven"
    assert dead() == 1


def test_dlq_redrive_deletes_no_letter_while_postgresql_cannot_hold_its_verdict(queue, operate):
    (live,) = dispatched()
    dead_letter(letter_of(live))
    change("ALTER TABLE job_event ADD CONSTRAINT shut CHECK (event <> 'new_run') NOT VALID")
    try:
        line = operate("dlq", "redrive", "--yes", fails=1)
    finally:
        change("ALTER TABLE job_event DROP CONSTRAINT shut")
    assert line.startswith("error: internal_error: ")
    assert dead() == 1
    assert event_names(live) == ["accepted"]


def test_dry_runs_change_nothing(queue, operate):
    (live,) = dispatched()
    dead_letter(letter_of(live))
    told = json.loads(operate("dlq", "redrive", "--dry-run", "--json"))
    assert told == {"dead_letters": 1, "failed": []}
    assert event_names(live) == ["accepted"]


def test_without_a_yes_nothing_is_destroyed(database, operate):
    _, (child_id,) = register()
    operate("imports", "cancel", child_id, fails=1)
    assert event_names(child_id) == ["accepted"]
    assert item_of(child_id)["created_by"] == ALICE


def flask(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "flask", "--app", "app", *words]
    kept = {"PATH": str(Path(sys.executable).parent)}
    return subprocess.run(command, cwd=ROOT, env={**kept, **env}, capture_output=True, text=True)


def test_without_settings_a_command_says_which_are_missing_and_shows_no_trace():
    done = flask("imports", "list")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: settings_invalid: DATABASE_URL is missing; next: run `flask --app app doctor`\n"
    )


def test_the_release_needs_the_database_and_nothing_else(database):
    done = flask("db", "migrate", DATABASE_URL=database)
    assert (done.returncode, done.stdout, done.stderr) == (0, "nothing to apply\n", "")


def test_wrong_use_is_exit_code_2():
    assert flask("imports", "list", "--state", "lost").returncode == 2
