"""The commands in docs/ do what they say there, on the running product."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flow.papers import ROOT

DOCUMENTS = ("operations.md", "deploying.md", "upgrading.md")
#: Documents whose commands other tests execute.
ELSEWHERE = {"api.md", "runbook.md"}


def commands(path: Path) -> str:
    """Return the shell blocks of a document as one script."""
    return "\n".join(re.findall(r"^```sh\n(.*?)^```", path.read_text("utf-8"), flags=re.M | re.S))


def test_no_document_has_commands_that_nobody_executes():
    found = {path.name for path in (ROOT / "docs").glob("**/*.md") if commands(path)}
    assert found <= {*DOCUMENTS, *ELSEWHERE}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_commands_of_a_document_work(stack, upload, ended, name):
    ended(upload(b"for the operator", "ops.txt")["import_id"])
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands(ROOT / "docs" / name)],
        cwd=ROOT,
        env={**stack.env("web"), "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_the_links_between_documents_lead_somewhere():
    broken = []
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text("utf-8")):
            if not target.startswith("http") and not (path.parent / target).exists():
                broken.append(f"{path.name}: {target}")
    assert broken == []


def test_the_parameters_and_rights_that_deploying_names_are_in_the_template():
    text = (ROOT / "docs" / "deploying.md").read_text("utf-8")
    template = (ROOT / "deploy" / "aws" / "torikomi.yaml").read_text("utf-8")
    for name in re.findall(r"\b(\w+)=YO", text) + ["UploadOrigins", "WebRole", "SchedulerRole"]:
        assert re.search(rf"^  {name}:$", template, flags=re.M), name
    for suffix in re.findall(r"`torikomi-(\w+)`", text):
        assert f'"${{Namespace}}-{suffix}"' in template
