"""Run benchmarks: `python -m benchmarks all`, or one of them by its name.

    python -m benchmarks all [--quick] [--out DIR]
    python -m benchmarks NAME [--rounds 5] [--out DIR]
    python -m benchmarks table [--out DIR]       of what is kept there

Prints one table: ours, peer, limit, ratios and the spread over runs that take turns. Beside it, in
DIR, are the raw runs of each benchmark as JSON and the table as Markdown.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.catalogue import BENCHMARKS, SLOW
from benchmarks.measure import Options, Report, Row, machine, table


def arguments() -> argparse.ArgumentParser:
    """Return what the command takes."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=["all", "table", *BENCHMARKS])
    parser.add_argument("--rounds", type=int, default=5, help="alternating runs")
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    parser.add_argument("--out", type=Path, default=Path("var/benchmarks"), help="for the JSON")
    parser.add_argument("--rows", type=int, default=0, help="database: only this size")
    parser.add_argument("--seconds", type=float, default=1800, help="soak: its length")
    return parser


def main() -> int:
    """Run what was asked for; 1 when a benchmark could not run."""
    chosen = arguments().parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    if chosen.name == "all":
        return _all(chosen)
    if chosen.name == "table":
        print(_table(chosen.out), end="")
        return 0
    options = Options(
        out=chosen.out,
        rounds=chosen.rounds,
        quick=chosen.quick,
        rows=chosen.rows,
        seconds=chosen.seconds,
    )
    name = f"{chosen.name}.{chosen.rows}" if chosen.rows else chosen.name
    report = Report(name, circumstances={"before": machine()})
    begun = time.monotonic()
    report.rows = BENCHMARKS[chosen.name](options)
    report.circumstances |= {"after": machine(), "seconds": round(time.monotonic() - begun, 1)}
    _keep(chosen.out, [report])
    if report.rows:
        print(table([report]), end="")
    return 0


def _all(chosen: argparse.Namespace) -> int:
    """Run each benchmark in a process of its own, then print all rows as one table."""
    names = [name for name in BENCHMARKS if not (chosen.quick and name in SLOW)]
    failed = []
    for name in names:
        command = [sys.executable, "-m", "benchmarks", name, "--rounds", str(chosen.rounds)]
        command += ["--out", str(chosen.out), "--seconds", str(chosen.seconds)]
        print(f"--- {name}", flush=True)
        if subprocess.run([*command, *(["--quick"] * chosen.quick)], check=False).returncode:
            failed.append(name)
    text = _table(chosen.out)
    (chosen.out / "table.md").write_text(text, encoding="utf-8")
    print(f"\n{text}\n{json.dumps(machine())}")
    for name in failed:
        print(f"{name} could not run", file=sys.stderr)
    return 1 if failed else 0


def _table(out: Path) -> str:
    """Return the table of every benchmark kept in a directory, in the order of the catalogue."""
    order = list(BENCHMARKS)
    kept = [path for path in out.glob("*.json") if path.name.split(".")[0] in BENCHMARKS]
    kept.sort(key=lambda path: (order.index(path.name.split(".")[0]), path.stem))
    return table([_kept(path) for path in kept])


def _keep(out: Path, reports: list[Report]) -> None:
    for report in reports:
        text = json.dumps(report.as_json(), ensure_ascii=False, indent=1)
        (out / f"{report.name}.json").write_text(text + "\n", encoding="utf-8")


def _kept(path: Path) -> Report:
    found = json.loads(path.read_text(encoding="utf-8"))
    derived = {"median", "ratio_to_peer", "ratio_to_limit", "verdict"}
    report = Report(found["benchmark"], circumstances=found["circumstances"])
    report.rows = [
        Row.from_json({k: v for k, v in row.items() if k not in derived}) for row in found["rows"]
    ]
    return report


if __name__ == "__main__":
    sys.exit(main())
