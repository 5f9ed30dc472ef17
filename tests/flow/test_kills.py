"""SIGKILL of any one process at any moment: nothing is lost, nothing is doubled."""

import os
import random
import signal
import threading
import time
from functools import partial

import httpx
import pytest

from local.provision import access_token
from local.stack import Stack
from tests.flow.papers import corpus_files

#: Small enough to run in every CI, large enough that each kill hits work under way.
UPLOADS = 30


def keep_uploading(api, accepted, stop, age_leases):
    """Upload one file after the other, with a key each, until each has its 202.

    A key whose web process was killed is taken over after two minutes; the test ages it instead.
    """
    files = [path for path in corpus_files() if path.stat().st_size < 200_000]
    for number in range(UPLOADS):
        path = files[number % len(files)]
        key = {"Idempotency-Key": f'"kill-{time.time_ns()}"'}
        while not stop.is_set():
            try:
                answer = api.post(
                    "/api/v1/imports", files={"file": (path.name, path.read_bytes())}, headers=key
                )
            except httpx.TransportError:
                time.sleep(0.1)
                continue
            if answer.status_code == 202:
                accepted.append(answer.json()["import_id"])
                break
            assert answer.status_code in {409, 503}, answer.text
            age_leases()
            time.sleep(0.1)


@pytest.mark.parametrize("process", ["web", "scheduler", "worker"])
def test_killing_a_process_while_files_come_in_loses_and_doubles_nothing(
    stack, api, ended, sql, process
):
    accepted: list[str] = []
    stop = threading.Event()
    age_leases = partial(sql, "UPDATE idempotency_key SET lease_until = now() - interval '1 s'")
    uploading = threading.Thread(target=keep_uploading, args=(api, accepted, stop, age_leases))
    uploading.start()
    dice = random.Random(process)
    try:
        for _ in range(3):
            time.sleep(dice.uniform(0.3, 1.5))
            kill_when_running(stack, process)
        uploading.join(90)
        assert not uploading.is_alive()
    finally:
        stop.set()
        uploading.join()
    assert len(set(accepted)) == UPLOADS
    for child_id in accepted:
        done = ended(child_id, seconds=170)
        assert done["status"] in {"completed", "failed"}
        if done["status"] == "failed":
            assert done["error"]["code"] in {"file_corrupt", "file_encrypted"}
    ends = sql(
        """SELECT child_id, count(*) AS n FROM job_event
           WHERE child_id = ANY(%s) AND to_status IN ('completed', 'failed') GROUP BY child_id""",
        (accepted,),
    )
    assert {row["n"] for row in ends} == {1}
    pages = sql(
        """SELECT c.id FROM page_import c LEFT JOIN page p ON p.page_import_id = c.id
           WHERE c.id = ANY(%s) AND c.status = 'completed'
           GROUP BY c.id, c.page_count HAVING count(p.number) <> c.page_count""",
        (accepted,),
    )
    assert pages == []


def kill_when_running(stack, process):
    deadline = time.monotonic() + 20
    while stack.pid(process) is None:
        assert time.monotonic() < deadline, f"{process} was not started again"
        time.sleep(0.1)
    stack.kill(process)


def test_a_start_after_everything_was_killed_finds_and_finishes_the_work(server_dir):
    first = Stack(server_dir / "killed", durable=True)
    first.start()
    try:
        headers = {"Authorization": f"Bearer {access_token(first.account, first.provisioned)}"}
        done = httpx.post(
            f"{first.url}/api/v1/imports",
            files={"file": ("before.txt", "前のデータ".encode())},
            headers=headers,
        ).json()["import_id"]
        wait(first.url, done, headers)
        first.pause("worker")
        waiting = [
            httpx.post(
                f"{first.url}/api/v1/imports",
                files={"file": (f"{n}.txt", f"待つ {n}".encode())},
                headers=headers,
            ).json()["import_id"]
            for n in range(5)
        ]
        time.sleep(1)
        for identity in list(first.identities().values()):
            os.kill(identity.pid, signal.SIGKILL)
    finally:
        first.stop()
    second = Stack(server_dir / "killed", durable=True)
    second.start()
    try:
        headers = {"Authorization": f"Bearer {access_token(second.account, second.provisioned)}"}
        assert wait(second.url, done, headers)["status"] == "completed"
        assert [wait(second.url, id_, headers)["status"] for id_ in waiting] == ["completed"] * 5
    finally:
        second.destroy()


def wait(url, child_id, headers, seconds=60):
    deadline = time.monotonic() + seconds
    while True:
        found = httpx.get(f"{url}/api/v1/imports/{child_id}", headers=headers).json()
        if found["status"] in {"completed", "failed", "cancelled"}:
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
