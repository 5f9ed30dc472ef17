"""Options of a file through the running product: what the worker did with them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from local.stack import Stack
from tests.jobs.parsing.pdf_files import pdf, text

PROTECTED = Path(__file__).parents[1] / "corpus" / "files" / "pdf" / "r6-user-password.pdf"
PASSWORD = "asdfzxcv"


def send(api: httpx.Client, content: bytes, name: str, **fields: str) -> str:
    answer = api.post("/api/v1/imports", data=fields, files={"file": (name, content)})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["import_id"])


def test_a_protected_pdf_is_read_with_its_password_which_is_seen_nowhere(
    api: httpx.Client, ended: Callable[..., Any], stack: Stack, sql: Callable[..., Any]
) -> None:
    child_id = send(api, PROTECTED.read_bytes(), "protected.pdf", password=PASSWORD)
    assert ended(child_id)["status"] == "completed"
    (item,) = sql("SELECT * FROM batch_item WHERE job_id = %s", (child_id,))
    assert "password" not in item["message"]["options"]
    events = api.get(f"/api/v1/imports/{child_id}/events").text
    logs = [path.read_text("utf-8") for path in (Path(stack.data_dir) / "logs").glob("*.log")]
    for place in (str(item), events, *logs):
        assert PASSWORD not in place
    wrong = ended(send(api, PROTECTED.read_bytes(), "protected.pdf", password="guess"))
    assert (wrong["status"], wrong["error"]["code"]) == ("failed", "password_wrong")


def test_the_pages_asked_for_are_the_pages_of_the_result(
    api: httpx.Client, ended: Callable[..., Any]
) -> None:
    pages = [text("Helvetica", 20, 400, f"Page {n}") for n in range(1, 31)]
    child_id = send(api, pdf(*pages), "long.pdf", pages="2,15-27")
    done = ended(child_id)
    assert (done["status"], done["page_count"]) == ("completed", 14)
    found = api.get(f"/api/v1/imports/{child_id}/pages?limit=100").json()["pages"]
    assert [page["number"] for page in found] == [2, *range(15, 28)]
    empty = ended(send(api, pdf(*pages), "long.pdf", pages="31-"))
    assert (empty["status"], empty["error"]["code"]) == ("failed", "page_range_empty")
