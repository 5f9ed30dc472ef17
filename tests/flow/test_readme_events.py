"""What the README says about outgoing events is so: its calls, its receiver, its words."""

import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from local.processes import free_port
from local.stack import Stack
from local.tasks import ROOT
from models.endpoints import TEST_EVENT, EventType
from scheduler.settings import SchedulerSettings
from tests.flow.test_outgoing_events import delete_endpoints

README = (ROOT / "README.md").read_text("utf-8")
SECTION = README.partition("\n## Outgoing events\n")[2].partition("\n## ")[0]


def blocks(language: str) -> list[str]:
    """Return the fenced blocks of the section in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", SECTION, flags=re.M | re.S)


@pytest.mark.timeout(180)
def test_the_calls_and_the_receiver_of_the_readme_work(
    stack: Stack, api: httpx.Client, token: str, tmp_path: Path
) -> None:
    delete_endpoints(api)
    port = free_port()
    (tmp_path / "README.md").write_text("a small file\n")
    (tmp_path / "receiver.py").write_text(blocks("python")[0].replace("9000", str(port)))
    prelude = re.findall(r"^(?:API=|pick\(\)).*$", README, flags=re.M)
    script = "\n".join([f"TOKEN={token}", *prelude, *blocks("sh")])
    script = script.replace("http://127.0.0.1:8000", stack.url).replace("9000", str(port))
    script = script.replace("python3", sys.executable).replace("curl -sS", "curl -f -w '\\n' -sS")
    # Whatever happens, the receiver ends.
    script = "trap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n" + script

    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=150,
    )

    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    test, accepted, log, delivery, again, all_again, rotated, disabled = answers
    assert test["body"]["type"] == "endpoint.test"
    assert {each["type"] for each in log["deliveries"]} >= {"endpoint.test", "import.completed"}
    assert delivery["body"]["data"]["import_id"] == accepted["import_id"]
    assert (again["event_id"], again["state"]) == (delivery["event_id"], "pending")
    assert all_again == {"replayed": 0}
    assert rotated["secret"] != (tmp_path / "secret.txt").read_text().strip()
    assert disabled["disabled_reason"] == "owner"
    assert api.get("/api/v1/endpoints").json()["endpoints"] == []


def test_the_receiver_of_the_readme_refuses_what_is_not_signed(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "secret.txt").write_text("whsec_" + "QUFB" * 8 + "\n")
    source = blocks("python")[0].replace("9000", str(port))
    server = subprocess.Popen([sys.executable, "-c", source], cwd=tmp_path)
    try:
        headers = {
            "webhook-id": "x",
            "webhook-timestamp": "1",
            "webhook-signature": "v1,eA==",
        }
        transport = httpx.HTTPTransport(retries=8)
        with httpx.Client(transport=transport) as client:
            answer = client.post(f"http://127.0.0.1:{port}/", content=b"{}", headers=headers)
        assert answer.status_code == 401
    finally:
        server.kill()
        server.wait()


def test_the_readme_names_every_event_and_every_error_of_an_attempt() -> None:
    named = set(re.findall(r"`([a-z]+\.[a-z]+)`", SECTION.partition("| Event |")[2]))
    assert named >= {*EventType, TEST_EVENT}
    errors = set(re.findall(r"`(\w+)`", SECTION.partition("| Error |")[2]))
    sources = [ROOT / "jobs" / "addresses.py", ROOT / "scheduler" / "posting.py"]
    texts = "".join(path.read_text("utf-8") for path in sources)
    raised = set(re.findall(r'AddressRefused\("(\w+)"\)', texts))
    raised |= set(re.findall(r'return "(\w+)"', texts))
    assert errors == {*raised, "internal_error"}


def test_the_schedule_of_the_readme_is_that_of_the_settings() -> None:
    default = SchedulerSettings.model_fields["delivery_backoff_seconds"].default
    told = "5 s, 1, 5 and 30\nminutes, 1, 3, 6 and 12 hours"
    assert told in SECTION
    minutes, hours = (60 * m for m in (1, 5, 30)), (3600 * h for h in (1, 3, 6, 12))
    assert default == ",".join(map(str, (5, *minutes, *hours)))
