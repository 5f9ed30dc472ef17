"""The README's curl lines about the API do what the README says."""

import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

from local.stack import Stack
from local.tasks import ROOT


def blocks() -> list[str]:
    """Return the shell blocks of the section about the API, without the first."""
    section = (ROOT / "README.md").read_text("utf-8").partition("\n## API\n")[2]
    section = re.split(r"^## ", section, flags=re.M)[0]
    return re.findall(r"^```sh\n(.*?)^```", section, flags=re.M | re.S)[1:]


def test_the_calls_of_the_readme_work(stack: Stack, token: str, tmp_path: Path) -> None:
    for name in ("README.md", "Procfile"):
        shutil.copy(ROOT / name, tmp_path)
    keyed, wished, direct = blocks()
    script = f"TOKEN={token}\n{keyed}\n{wished}\n{direct}"
    script = script.replace("http://127.0.0.1:8000", stack.url)
    # A line of its own for each answer, and a failure for each refusal.
    script = script.replace("curl -sS", "curl -f -w '\\n' -sS")

    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    again, status, pages, events, named, protected, batch, items = answers
    assert named["custom_id"] == "row-7"
    assert protected["status"] == "queued"
    assert again["import_id"] in status["links"]["self"]
    assert status["status"] == "completed"
    assert pages["pages"][0]["number"] == 1
    assert [event["event"] for event in events["events"]][0] == "accepted"
    assert "# Torikomi" in done.stdout
    assert (batch["status"], batch["counts"]["completed"]) == ("1", 1)
    assert items["items"][0]["custom_id"] == "row-1"
    with zipfile.ZipFile(tmp_path / "batch.zip") as archive:
        assert "000001 Procfile.txt.md" in archive.namelist()
