"""The table that benchmarks print: medians, paired ratios, and an honest verdict."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import arguments
from benchmarks.catalogue import BENCHMARKS, SLOW
from benchmarks.measure import Bar, Report, Row, alternate, percentile, table

ROOT = Path(__file__).parents[2]
README = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
ROW = Row(
    what="10 MB",
    unit="s",
    ours=[1.0, 3.0, 2.0],
    limit=[1.0, 1.0, 1.0],
    limit_name="upload_fileobj",
    bars=[Bar(of="limit", at_most=1.25), Bar(of="value", at_most=2), Bar(of="peer", at_least=10)],
)


def test_a_row_says_what_is_met_missed_and_not_measured():
    (_, _, line) = table([Report("upload", [ROW])]).splitlines()

    assert "| 2.00 (1.00–3.00) s |" in line
    assert "≤ 1.25 × limit: MISSED (2.00); ≤ 2 s: met; ≥ 10 × peer: not measured" in line


def test_contenders_take_turns_and_each_round_begins_with_another():
    order = []
    found = alternate(
        {name: lambda name=name: float(order.append(name) or len(order)) for name in "ab"}, 2
    )

    assert order == ["a", "b", "b", "a"]
    assert found == {"a": [1, 4], "b": [2, 3]}


def test_percentiles_are_values_that_were_seen():
    values = [float(number) for number in range(1, 101)]

    assert [percentile(values, share) for share in (0.5, 0.99, 1.0)] == [50, 99, 100]
    assert percentile([7.0], 0.5) == 7


def test_a_kept_table_is_printed_again(tmp_path):
    kept = Report("upload", [ROW]).as_json()
    (tmp_path / "upload.json").write_text(json.dumps(kept), encoding="utf-8")
    (tmp_path / "samples.json").write_text("[]", encoding="utf-8")
    command = [sys.executable, "-m", "benchmarks", "table", "--out", str(tmp_path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert printed == table([Report("upload", [ROW])])


def test_what_the_quick_run_leaves_out_exists():
    assert set(SLOW) < set(BENCHMARKS)


COMMANDS = re.findall(r"^python -m (benchmarks [^#\n]+?) *(?:#.*)?$", README, re.M)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_of_the_readme_is_one(command):
    _, *words = shlex.split(command)

    assert arguments().parse_args(words).name in {"all", "table", *BENCHMARKS}


def test_the_readme_names_every_benchmark():
    assert {"all", "table", "dispatch", "database"} <= {shlex.split(c)[1] for c in COMMANDS}
    assert all(f"`{name}`" in README for name in BENCHMARKS)


def test_a_benchmark_runs_and_says_how_we_compare_with_the_engine(tmp_path):
    command = [sys.executable, "-m", "benchmarks", "page_import", "--quick", "--out", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)

    assert run.returncode == 0, run.stderr
    assert re.search(r"^PDF: \d\.\d\d \(.+\) of bare pdfium's pages a second$", run.stdout, re.M)
    assert (
        json.loads((tmp_path / "page_import.json").read_text("utf-8"))["benchmark"] == "page_import"
    )
