"""What the README says is so."""

import json
import re
import subprocess
from pathlib import Path

import pytest

import docs.configuration.__main__ as configuration
from jobs.settings import WorkerSettings
from local.plan import METRICS_PORTS
from local.procfile import read_procfile
from local.stack import Stack
from scheduler.settings import SchedulerSettings
from web.catalogue import ITEM_CODES, REQUEST_CODES
from web.settings import WebSettings

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """Return the text of one `##` section."""
    return re.split(r"^## ", README.partition(f"\n## {title}\n")[2], flags=re.M)[0]


def block(title: str) -> list[str]:
    """Return the fenced blocks of one section."""
    return re.findall(r"^```\w*\n(.*?)^```", section(title), flags=re.M | re.S)


@pytest.mark.parametrize(
    ("title", "command"),
    [
        ("Run", "python3 run.py"),
        ("Test", "python3 run.py test"),
        ("Token", "python3 run.py token"),
    ],
)
def test_each_start_section_holds_exactly_one_command(title: str, command: str) -> None:
    assert [found.strip() for found in block(title)] == [command]


def test_ci_runs_the_test_command_and_nothing_hidden() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line and not line.startswith(("#", "set "))]

    assert commands == ['cd "$(dirname "${BASH_SOURCE[0]}")/.."', "exec python3 run.py test"]


def test_the_error_tables_are_the_catalogue() -> None:
    rows = re.findall(r"^\| (\d{3}) \| `(\w+)` \| (yes|no) \|", section("Errors"), flags=re.M)
    items = re.findall(r"^\| `(\w+)` \| (yes|no) \|", section("Errors"), flags=re.M)

    assert {(int(status), code, retry == "yes") for status, code, retry in rows} == {
        (entry.status, entry.code, entry.retryable) for entry in REQUEST_CODES.values()
    }
    assert {(code, retry == "yes") for code, retry in items} == {
        (entry.code, entry.retryable) for entry in ITEM_CODES.values()
    }


def test_the_processes_it_names_are_the_procfiles() -> None:
    named = re.findall(r"`(\w+)`", section("Operations").partition(". `/livez`")[0])

    assert set(named) == set(read_procfile(ROOT / "Procfile"))


def test_the_curl_lines_work(stack: Stack, token: str) -> None:
    script = block("API")[0].replace("http://127.0.0.1:8000", stack.url)
    assert "TOKEN=$(python3 run.py token)\n" in script
    script = script.replace("$(python3 run.py token)", token).replace("curl ", "curl -f -w '\\n' ")

    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=ROOT, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    created, batches = (json.loads(line) for line in done.stdout.splitlines() if line)
    assert created["status"] == "queued"
    assert created["batch_id"] in {batch["batch_id"] for batch in batches["batches"]}


def test_the_metrics_lines_tell_of_a_running_product(stack: Stack) -> None:
    script = block("Watching")[0]
    for name, usual in METRICS_PORTS.items():
        assert f":{usual}/" in script
        script = script.replace(f":{usual}/", f":{stack.plan.metrics_ports[name]}/")
    script = script.replace("curl ", "curl -f --retry 60 --retry-connrefused --retry-delay 1 ")

    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=ROOT, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    for name in (
        "import_upload_requests_total",
        "import_outbox_oldest_age_seconds",
        "import_worker_held_messages",
    ):
        assert f"\n{name}" in done.stdout


def test_the_env_example_names_every_setting_with_its_default() -> None:
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^([A-Z][A-Z0-9_]+)=(.*)$", text, flags=re.M))
    for settings in (WebSettings, SchedulerSettings, WorkerSettings):
        for name, field in settings.model_fields.items():
            assert name.upper() in listed, f"{name.upper()} of {settings.__name__} is missing"
            if isinstance(field.default, int | float) and not isinstance(field.default, bool):
                assert float(listed[name.upper()]) == field.default, name


def test_the_configuration_table_is_that_of_the_settings_classes() -> None:
    written = configuration.TARGET.read_text(encoding="utf-8")
    assert written == configuration.render(), "run `python -m docs.configuration`"
    assert not re.findall(r"^.*\|  \|$", written, flags=re.M), "give it a `#:` comment"


def test_the_configuration_table_and_the_env_example_name_the_same_variables() -> None:
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    listed = set(re.findall(r"^([A-Z][A-Z0-9_]+)=", example, flags=re.M))
    assert set(re.findall(r"^\| `([A-Z0-9_]+)` \|", configuration.render(), flags=re.M)) == listed
