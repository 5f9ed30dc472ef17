"""Public bug reports of services like this one, replayed on ours.

The two about a page in the browser (a double click makes two jobs, a bar freezes though all is
done) are replayed where Chromium is: tests/browser.
"""

import http.client
import json
import socket
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest

from local.processes import free_port, wait_until
from local.procfile import read_procfile
from local.stack import Stack
from local.tasks import ROOT

END = {"completed", "failed", "cancelled"}
CUT_PDF = b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog"
LONG_NAME = "あ" * 83 + "ab.txt"


@pytest.mark.parametrize("name", ["設計書.txt", "ガイド①.txt", 'a "quoted"; b.txt', LONG_NAME])
def test_a_name_shows_and_comes_back_intact(api: httpx.Client, upload, name: str) -> None:
    """pallets/werkzeug 2376: an all-Japanese name becomes just "pdf"."""
    import_id = upload(b"text", name)["import_id"]
    assert api.get(f"/api/v1/imports/{import_id}").json()["file_name"] == name
    disposition = api.get(f"/api/v1/imports/{import_id}/source").headers["Content-Disposition"]
    assert disposition.endswith(f"filename*=UTF-8''{quote(name, safe='')}")


def test_a_name_that_turns_text_around_is_refused_by_name(api: httpx.Client) -> None:
    answer = api.post("/api/v1/imports", params={"filename": "a\u202etxt.exe"}, content=b"x")
    assert (answer.status_code, answer.json()["code"]) == (400, "file_name_bidi")


@pytest.fixture
def four_workers(stack: Stack) -> Iterator[str]:
    """A second web process of the same product, with four workers; its address."""
    port = free_port()
    env = {**stack.env("web"), "PORT": str(port), "WEB_CONCURRENCY": "4", "WEB_THREADS": "2"}
    command = read_procfile(ROOT / "Procfile")["web"]
    web = subprocess.Popen(["/bin/sh", "-c", command], env=env, cwd=ROOT, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: answers(f"{url}/livez"), 60)
        yield url
    finally:
        web.terminate()
        web.wait(20)


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def test_every_web_worker_knows_every_import(four_workers: str, token: str) -> None:
    """docling-project/docling-serve 467: a valid id gives 404 from another worker."""
    headers = {"Authorization": f"Bearer {token}"}
    where = f"{four_workers}/api/v1/imports"
    made = httpx.post(f"{where}?filename=a.txt", content=b"x", headers=headers, timeout=30)
    place = f"{where}/{made.json()['import_id']}"
    with ThreadPoolExecutor(10) as pool:
        found = list(pool.map(lambda _: httpx.get(place, headers=headers, timeout=30), range(50)))
    assert [answer.status_code for answer in found] == [200] * 50


def test_a_file_over_the_limit_is_refused_at_once_and_no_error_is_logged(
    stack: Stack, token: str, log_lines
) -> None:
    """docling-project/docling-serve 190: a refused document is reported as "wait"."""
    connection = http.client.HTTPConnection(urlsplit(stack.url).netloc, timeout=30)
    connection.putrequest("POST", "/api/v1/imports?filename=a.txt")
    connection.putheader("Authorization", f"Bearer {token}")
    connection.putheader("Content-Length", str((64 << 20) + 1))
    connection.putheader("X-Request-Id", "replay-over-limit")
    connection.endheaders()
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["code"]) == (413, "file_too_large")
    connection.close()
    mine = [line for line in log_lines("web") if line.get("request_id") == "replay-over-limit"]
    assert mine
    assert not [line for line in mine if line["level"] in ("error", "critical")]


def test_one_key_makes_one_import_in_series_and_at_once(api: httpx.Client, sql) -> None:
    """OpenBMB/StaffDeck 159: an upload ignores the Idempotency-Key, two jobs."""

    def send(_: int) -> httpx.Response:
        headers = {"Idempotency-Key": '"replay-parallel"'}
        return api.post("/api/v1/imports?filename=key.txt", content=b"keyed", headers=headers)

    with ThreadPoolExecutor(6) as pool:
        answers = [*pool.map(send, range(6)), send(0)]
    assert {answer.status_code for answer in answers} <= {202, 409}
    ids = {answer.json()["import_id"] for answer in answers if answer.status_code == 202}
    assert len(ids) == 1
    assert answers[-1].status_code == 202
    assert len(sql("SELECT id FROM page_import WHERE file_name = 'key.txt'")) == 1


def test_a_client_killed_before_the_answer_finds_its_import_by_the_key(
    api: httpx.Client, stack: Stack, token: str, sql
) -> None:
    place = urlsplit(stack.url)
    request = (
        "POST /api/v1/imports?filename=killed.txt HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {token}\r\nIdempotency-Key: replay-killed\r\n"
        "Content-Type: text/plain\r\nContent-Length: 5\r\n\r\nbytes"
    )
    with socket.create_connection((place.hostname, place.port)) as connection:
        connection.sendall(request.encode())
    headers = {"Idempotency-Key": "replay-killed", "Content-Type": "text/plain"}
    for _ in range(100):
        answer = api.post("/api/v1/imports?filename=killed.txt", content=b"bytes", headers=headers)
        if answer.status_code != 409:
            break
    assert answer.status_code == 202
    found = sql("SELECT id FROM page_import WHERE file_name = 'killed.txt'")
    assert [row["id"] for row in found] == [answer.json()["import_id"]]


def test_a_pdf_that_is_none_fails_with_a_code_and_no_trace(
    api: httpx.Client, upload: Callable[..., Any], ended: Callable[..., Any]
) -> None:
    """Unstructured-IO/unstructured-api 83: a non-PDF named .pdf gives 500 and a stack trace."""
    empty = api.post("/api/v1/imports?filename=a.pdf", content=b"")
    assert (empty.status_code, empty.json()["code"]) == (422, "file_empty")
    jpeg = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + b"\0" * 64 + b"\xff\xd9"
    wanted = {
        "jpeg.pdf": (jpeg, {"type_mismatch", "file_corrupt"}),
        "cut.pdf": (CUT_PDF, {"file_corrupt"}),
    }
    made = {name: upload(content, name)["import_id"] for name, (content, _) in wanted.items()}
    for name, import_id in made.items():
        body = ended(import_id)
        assert body["status"] == "failed", name
        assert body["error"]["code"] in wanted[name][1], name
        assert "Traceback" not in str(body)


def test_japanese_encodings_are_read_and_an_unreadable_name_is_named(
    api: httpx.Client, upload: Callable[..., Any], ended: Callable[..., Any]
) -> None:
    """aws-samples/generative-ai-use-cases 1399: Shift_JIS text is seen as octet-stream."""
    row = "名前,住所,備考\n山田太郎,東京都千代田区,特になし\n佐藤花子,大阪府大阪市,確認済み\n"
    for encoding in ("shift_jis", "euc_jp"):
        import_id = upload(row.encode(encoding), f"{encoding}.csv")["import_id"]
        assert ended(import_id)["status"] == "completed"
        text = api.get(f"/api/v1/imports/{import_id}/result", headers={"Accept": "text/plain"})
        assert "山田太郎" in text.text
    body = (
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="'
        + "設計.txt".encode("shift_jis")
        + b'"\r\n\r\ntext\r\n--x--\r\n'
    )
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = api.post("/api/v1/imports", content=body, headers=kind)
    assert (answer.status_code, answer.json()["code"]) == (400, "file_name_undecodable")


def test_what_is_cancelled_or_deleted_holds_nothing_up(
    api: httpx.Client, upload: Callable[..., Any], ended: Callable[..., Any]
) -> None:
    """langgenius/dify 13829: a file deleted while processing; all later ones stay queued."""
    cancelled, deleted = upload(b"one", "c.txt"), upload(b"two", "d.txt")
    assert api.post(f"{cancelled['links']['self']}/cancel").status_code in (200, 409)
    assert api.delete(deleted["links"]["batch"]).status_code == 204
    assert ended(upload(b"three", "e.txt")["import_id"])["status"] == "completed"
    assert api.get(cancelled["links"]["self"]).json()["status"] in ("cancelled", "completed")
    assert api.get(deleted["links"]["self"]).status_code == 404


@pytest.mark.parametrize(
    ("files", "cancel", "status", "partial"),
    [
        (
            {"a.txt": b"a", "b.txt": b"b", "c.txt": b"c", "d.pdf": CUT_PDF, "e.pdf": CUT_PDF},
            0,
            "2",
            True,
        ),
        ({"a.pdf": CUT_PDF, "b.pdf": CUT_PDF}, 0, "2", False),
        ({"a.txt": b"a", "b.txt": b"b"}, 2, "3", False),
    ],
    ids=["three good, two bad", "all bad", "all cancelled"],
)
def test_code_counts_and_items_of_a_batch_agree_at_every_look(
    api: httpx.Client,
    no_worker: Callable[[], None],
    files: dict[str, bytes],
    cancel: int,
    status: str,
    partial: bool,
) -> None:
    """camunda/camunda 61727: a batch is "completed" with failed items and no errors."""
    parts = [("files", (name, content)) for name, content in files.items()]
    made = api.post("/api/v1/batches", data={"type": "page_import"}, files=parts).json()
    if cancel:
        assert api.post(f"{made['links']['self']}/cancel").status_code == 200
    no_worker()
    while True:
        batch = api.get(made["links"]["self"], headers={"Prefer": "wait=1"}).json()
        counts = dict(batch["counts"])
        total = counts.pop("total")
        assert sum(counts.values()) == total == len(files)
        assert (batch["status"] == "0") == (counts["queued"] + counts["running"] > 0)
        if batch["status"] != "0":
            break
    items = api.get(made["links"]["items"]).json()["items"]
    assert (batch["status"], batch["partial"]) == (status, partial)
    for state in END:
        shown = [item for item in items if item["status"] == state]
        assert len(shown) == counts[state]
        filtered = api.get(f"{made['links']['items']}?state={state}").json()["items"]
        assert [item["import_id"] for item in filtered] == [item["import_id"] for item in shown]
    assert all((item["error"] is not None) == (item["status"] == "failed") for item in items)


def test_an_empty_batch_cannot_be_made(api: httpx.Client) -> None:
    answer = api.post("/api/v1/batches", json={"type": "page_import", "items": []})
    assert (answer.status_code, answer.json()["code"]) == (422, "field_invalid")
