"""Alert rules, dashboards and the runbook hold together, and promtool agrees."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from prometheus_client import generate_latest

import app as root
import jobs.worker.metrics
import scheduler.metrics
import web.metrics
from jobs.metrics import REGISTRY
from scheduler.commands import GROUPS

ROOT = Path(__file__).resolve().parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
RULES = (PROMETHEUS / "rules.yml").read_text("utf-8")
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text("utf-8")
BOARDS = sorted((ROOT / "deploy" / "grafana").glob("*.json"))
ALERTS = re.findall(r"- alert: (\w+)", RULES)
DECLARED = (jobs.worker.metrics, scheduler.metrics, web.metrics)  # importing them declares


def promtool(*arguments: str, stdin: str = "") -> None:
    """Run promtool; it has to agree."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    program = shutil.which("promtool", path=path)
    assert program, (
        "promtool is missing: sudo apt-get install prometheus (or your system's package)"
    )
    done = subprocess.run(
        [program, *arguments], cwd=PROMETHEUS, input=stdin, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_are_well_formed() -> None:
    promtool("check", "rules", "rules.yml")
    promtool("check", "config", "prometheus.yml")


def test_each_alert_fires_for_its_fault_and_only_then() -> None:
    promtool("test", "rules", "rules_test.yml")


def test_what_is_told_has_names_and_units_as_prometheus_wants_them() -> None:
    promtool("check", "metrics", stdin=generate_latest(REGISTRY).decode())


def test_each_alert_has_a_test_that_fires_it_and_one_that_does_not() -> None:
    text = (PROMETHEUS / "rules_test.yml").read_text("utf-8")
    silent = re.findall(r"alertname: (\w+), exp_alerts: \[\]", text)
    fired = re.findall(r"alertname: (\w+)\n +exp_alerts:\n +- exp_labels", text)
    assert sorted(silent) == sorted(fired) == sorted(ALERTS)


def told_names() -> set[str]:
    """Return every sample name that our processes can tell."""
    names = {"up", *(f"process_{each}" for each in ("resident_memory_bytes", "cpu_seconds_total"))}
    for family in REGISTRY.collect():
        suffixes = {
            "counter": ["_total"],
            "gauge": [""],
            "histogram": ["_bucket", "_count", "_sum"],
        }.get(family.type, [])
        names |= {family.name + suffix for suffix in suffixes}
    return names


def names_in(expression: str) -> set[str]:
    """Return the metrics that an expression reads."""
    return set(re.findall(r"\b(?:import|process)_[a-z_]+\b|\bup(?=\{)", expression))


def test_every_metric_of_the_rules_is_told() -> None:
    read = names_in("\n".join(re.findall(r"expr: (?:\|\n)?((?:.*\n)+?) +(?:for|labels):", RULES)))
    assert len(read) > 20
    assert read <= told_names()


def expressions(board: dict[str, Any]) -> list[str]:
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


@pytest.mark.parametrize("path", BOARDS, ids=lambda path: path.stem)
def test_a_board_reads_only_metrics_that_are_told_and_places_its_panels(path: Path) -> None:
    board = json.loads(path.read_text("utf-8"))
    assert board["uid"] == f"torikomi-{path.stem}"
    for expression in expressions(board):
        assert names_in(expression), expression
        assert names_in(expression) <= told_names(), expression
    places = [panel["gridPos"] for panel in board["panels"]]
    cells = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells)), "panels lie on each other"
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in board["panels"]}) == len(places)


@pytest.mark.parametrize("path", BOARDS, ids=lambda path: path.stem)
def test_prometheus_can_read_every_expression_of_a_board(path: Path, tmp_path: Path) -> None:
    rules = [
        {"record": f"board:panel:{number}", "expr": expression.replace("$__rate_interval", "5m")}
        for number, expression in enumerate(expressions(json.loads(path.read_text("utf-8"))))
    ]
    file = tmp_path / "board.yml"  # JSON is YAML
    file.write_text(json.dumps({"groups": [{"name": path.stem, "rules": rules}]}), "utf-8")
    promtool("check", "rules", str(file))


def test_there_is_a_board_for_each_part_and_every_metric_of_ours_is_on_one() -> None:
    assert {path.stem for path in BOARDS} == {"intake", "outbox", "queue", "completion"}
    shown = set()
    for path in BOARDS:
        for expression in expressions(json.loads(path.read_text("utf-8"))):
            shown |= {
                re.sub(r"_(total|bucket|count|sum)$", "", name) for name in names_in(expression)
            }
    ours = {family.name for family in REGISTRY.collect() if family.name.startswith("import_")}
    assert ours - shown == set()


def anchors(text: str) -> set[str]:
    return {
        re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-")
        for title in re.findall(r"^#+ (.+)$", text, flags=re.M)
    }


def test_each_alert_links_to_its_section_of_the_runbook() -> None:
    links = dict(re.findall(r"- alert: (\w+)\n(?:.*\n)*?.*runbook_url: (\S+)", RULES))
    assert list(links) == ALERTS
    assert links == {name: f"docs/runbook.md#{name.lower()}" for name in ALERTS}
    sections = re.findall(r"^### (\w+)$", RUNBOOK, flags=re.M)
    assert sections == ALERTS, "one section an alert, in the order of the rules"
    for name, text in re.findall(r"^### (\w+)\n((?:(?!^###? ).*\n)+)", RUNBOOK, flags=re.M):
        severity = re.search(rf"alert: {name}\n(?:.*\n)*?.*severity: (\w+)", RULES)
        assert severity and f"*{severity.group(1)}*" in text, name


def test_every_link_of_the_runbook_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", RUNBOOK):
        file, _, anchor = target.partition("#")
        if file:
            assert (ROOT / "docs" / file).exists(), target
        else:
            assert anchor in anchors(RUNBOOK), target


COMMANDS = sorted(set(re.findall(r"flask --app app ([^`\n]+)", RUNBOOK)))


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_of_the_runbook_exists_with_its_options(line: str) -> None:
    words = shlex.split(line)
    doctor = root.doctor_command(root.WebSettings, root.check_sign_in)
    ours = {each.name or "": each for each in (*GROUPS, doctor)}
    command: click.Command = click.Group(commands=ours)
    while isinstance(command, click.Group):
        word = words.pop(0)
        assert word in command.commands, f"{word} is no command"
        command = command.commands[word]
    context = command.make_context(command.name, words, resilient_parsing=False)
    assert context.params
