"""The eight points of section 9 (テスト観点) of the source design, on the whole running product."""

import base64
import hashlib
import json
import subprocess
import sys
import time

import httpx
import psycopg2
import pytest

from local.processes import free_port
from tests.flow.papers import ROOT


def queued_message(sqs, queue_url, child_id, seconds=15):
    """Take the message of one import off the queue without deleting it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = sqs.receive_message(
            QueueUrl=queue_url, MaxNumberOfMessages=10, WaitTimeSeconds=1, VisibilityTimeout=1
        )
        for message in answer.get("Messages", []):
            envelope = json.loads(base64.b64decode(message["Body"]))
            if envelope["message_id"] == child_id:
                return message["Body"], envelope
    raise AssertionError("the message never came")


def test_1_after_the_file_is_stored_the_queue_names_its_place(
    upload, no_worker, sqs, queue_url, s3
):
    content = "保存先の確認".encode()
    accepted = upload(content)
    _, envelope = queued_message(sqs, queue_url, accepted["import_id"])
    message = envelope["kwargs"]["message"]
    assert message["object_key"] == f"imports/{accepted['import_id']}/source"
    stored = s3.get_object(
        Bucket=message["bucket"], Key=message["object_key"], VersionId=message["object_version"]
    )
    assert stored["Body"].read() == content
    assert message["sha256"] == hashlib.sha256(content).hexdigest()


@pytest.fixture
def web_without_s3(stack, token):
    """A second web process of the product, whose S3 refuses connections."""
    port, nowhere = free_port(), free_port()
    env = stack.env("web") | {
        "PORT": str(port),
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{nowhere}",
        "COGNITO_ENDPOINT_URL": stack.account.endpoint_url,
    }
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "gunicorn", "app:create_app()", "--worker-class", "gthread"),
            *("--threads", "4", "--bind", f"127.0.0.1:{port}", "--no-control-socket"),
        ],
        cwd=ROOT,
        env=env,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 30
    while True:
        try:
            if httpx.get(f"{url}/livez").status_code == 200:
                break
        except httpx.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    with httpx.Client(
        base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60
    ) as client:
        yield client
    process.terminate()
    process.wait(20)


def test_2_when_the_file_cannot_be_stored_the_answer_is_503_and_nothing_is_queued(
    web_without_s3, sql
):
    before = sql("SELECT count(*) AS n FROM batch_item")
    answer = web_without_s3.post(
        "/api/v1/imports", files={"file": ("a.txt", b"x")}, headers={"Idempotency-Key": '"again"'}
    )
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) > 0
    problem = answer.json()
    assert (problem["code"], problem["retryable"]) == ("storage_unavailable", True)
    assert sql("SELECT count(*) AS n FROM batch_item") == before
    assert sql("SELECT 1 AS one FROM idempotency_key WHERE key = 'again'") == []


def test_3_a_ten_megabyte_file_is_imported(upload, ended, api, ten_megabytes):
    accepted = upload(ten_megabytes, "十メガ.pdf")
    done = ended(accepted["import_id"], seconds=120)
    assert done["status"] == "completed", done
    assert done["size_bytes"] == len(ten_megabytes)
    assert done["page_count"] > 50
    pages = api.get(f"/api/v1/imports/{accepted['import_id']}/pages?limit=1").json()["pages"]
    assert len(pages[0]["text"]) > 500


def test_4_the_queue_message_holds_no_file_body(upload, no_worker, sqs, queue_url):
    secret = "本文はキューに載せない" * 200
    accepted = upload(secret.encode())
    body, envelope = queued_message(sqs, queue_url, accepted["import_id"])
    assert len(body) < 4096
    assert "本文" not in json.dumps(envelope, ensure_ascii=False)


def test_5_the_worker_fetches_the_file_and_its_result_reaches_the_database(upload, ended, api, sql):
    accepted = upload("一行目\n二行目".encode(), "読む.txt")
    done = ended(accepted["import_id"])
    assert done["status"] == "completed"
    pages = api.get(f"/api/v1/imports/{accepted['import_id']}/pages").json()["pages"]
    assert pages[0]["text"].splitlines()[:2] == ["一行目", "二行目"]
    (row,) = sql("SELECT text FROM page WHERE page_import_id = %s", (accepted["import_id"],))
    assert "二行目" in row["text"]


def test_6_the_same_message_delivered_again_doubles_nothing(
    upload, ended, no_worker, sqs, queue_url, sql, log_lines
):
    accepted = upload("二度届く".encode())
    child_id = accepted["import_id"]
    body, _ = queued_message(sqs, queue_url, child_id)
    for _ in range(2):
        sqs.send_message(QueueUrl=queue_url, MessageBody=body)
    no_worker()
    assert ended(child_id)["status"] == "completed"
    sqs.send_message(QueueUrl=queue_url, MessageBody=body)
    wait_until_empty(sqs, queue_url)
    assert sql("SELECT count(*) AS n FROM page WHERE page_import_id = %s", (child_id,)) == [
        {"n": 1}
    ]
    ends = "SELECT count(*) AS n FROM job_event WHERE child_id = %s AND event = 'completed'"
    assert sql(ends, (child_id,)) == [{"n": 1}]


def wait_until_empty(sqs, queue_url, seconds=30):
    """Wait until nothing is visible or in flight."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    deadline = time.monotonic() + seconds
    while True:
        found = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=names)["Attributes"]
        if not any(int(found[name]) for name in names):
            return
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


def test_7a_a_file_missing_in_storage_fails_the_import_and_names_it(upload, ended, no_worker, s3):
    accepted = upload(b"soon gone")
    key = f"imports/{accepted['import_id']}/source"
    for version in s3.list_object_versions(Bucket="torikomi", Prefix=key)["Versions"]:
        s3.delete_object(Bucket="torikomi", Key=key, VersionId=version["VersionId"])
    no_worker()
    done = ended(accepted["import_id"])
    assert (done["status"], done["error"]["code"]) == ("failed", "source_missing")


def test_7b_a_file_that_cannot_be_parsed_fails_the_import_and_names_the_reason(
    upload, ended, api, sqs, queue_url
):
    accepted = upload(b"%PDF-1.7\nnothing more", "broken.pdf")
    done = ended(accepted["import_id"])
    assert (done["status"], done["error"]["code"]) == ("failed", "file_corrupt")
    batch = api.get(f"/api/v1/batches/{accepted['batch_id']}").json()
    assert (batch["status"], batch["counts"]["failed"], batch["partial"]) == ("2", 1, False)
    wait_until_empty(sqs, queue_url)


def test_7c_a_result_the_database_cannot_take_is_reported_again_until_it_can(
    upload, ended, stack, api, log_lines
):
    blocker = psycopg2.connect(stack.database_url)
    with blocker.cursor() as cursor:
        cursor.execute("LOCK TABLE page IN ACCESS EXCLUSIVE MODE")
    accepted = upload("書き込み待ち".encode())
    deadline = time.monotonic() + 40
    refused = []
    while not refused:
        refused = [
            line
            for line in log_lines("worker")
            if line.get("import_id") == accepted["import_id"] and line["event"] == "web_unavailable"
        ]
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert api.get(f"/api/v1/imports/{accepted['import_id']}").json()["status"] == "processing"
    blocker.rollback()
    blocker.close()
    done = ended(accepted["import_id"])
    assert (done["status"], done["page_count"]) == ("completed", 1)


def test_8_the_api_answers_acceptance_without_waiting_for_the_parse(
    upload, no_worker, api, ended, ten_megabytes
):
    accepted = upload(ten_megabytes, "後で解析.pdf")
    assert accepted["status"] == "queued"
    status = api.get(f"/api/v1/imports/{accepted['import_id']}").json()
    assert (status["status"], status["started_at"]) == ("queued", None)
    no_worker()
    assert ended(accepted["import_id"], seconds=120)["status"] == "completed"
