"""What every benchmark shares: alternating runs, ratios, and the rows of the table.

A figure is a list with one value a run. The contenders of a comparison take turns, so that a
neighbour's load falls on all of them; a ratio is the median of the ratios of runs side by side.
"""

from __future__ import annotations

import math
import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a benchmark is to run. `quick` leaves out what is long, never the alternation."""

    out: Path
    rounds: int = 5
    quick: bool = False
    rows: int = 0
    seconds: float = 1800.0


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A target of the specification: of our figure itself, or of its ratio to peer or limit."""

    of: str  # "value", "peer" or "limit"
    at_least: float | None = None
    at_most: float | None = None

    def text(self, unit: str) -> str:
        """Return the bar in words."""
        sign, bound = ("≥", self.at_least) if self.at_most is None else ("≤", self.at_most)
        return (
            f"{sign} {bound:,g} {unit}" if self.of == "value" else f"{sign} {bound:g} × {self.of}"
        )

    def met_by(self, figure: float) -> bool:
        """Tell whether a figure keeps the bar."""
        if self.at_least is not None:
            return figure >= self.at_least
        return self.at_most is None or figure <= self.at_most


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table: our runs, beside them the peer's and the limit's."""

    what: str
    unit: str
    ours: Sequence[float]
    peer: Sequence[float] = ()
    limit: Sequence[float] = ()
    peer_name: str = ""
    limit_name: str = ""
    bars: Sequence[Bar] = ()
    note: str = ""

    @staticmethod
    def from_json(value: dict[str, Any]) -> Row:
        """Return a row as it was kept."""
        return Row(**{**value, "bars": [Bar(**bar) for bar in value["bars"]]})

    def figure(self, of: str) -> float | None:
        """Return the median of our runs, or of their ratios to the peer's or the limit's."""
        if of == "value":
            return statistics.median(self.ours) if self.ours else None
        others = self.peer if of == "peer" else self.limit
        if not others:
            return None
        if len(others) == len(self.ours):
            pairs = zip(self.ours, others, strict=True)
            return statistics.median(mine / other for mine, other in pairs)
        return statistics.median(self.ours) / statistics.median(others)

    def verdict(self) -> str:
        """Return each bar with the figure it was held against."""
        said = []
        for bar in self.bars:
            figure = self.figure(bar.of)
            if figure is None:
                said.append(f"{bar.text(self.unit)}: not measured")
                continue
            kept = "met" if bar.met_by(figure) else f"MISSED ({shown(figure)})"
            said.append(f"{bar.text(self.unit)}: {kept}")
        return "; ".join(said)


@dataclass
class Report:
    """The rows of one benchmark and the circumstances they were measured under."""

    name: str
    rows: list[Row] = field(default_factory=list)
    circumstances: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return everything, raw runs included."""
        rows = [
            {
                **asdict(row),
                "median": row.figure("value"),
                "ratio_to_peer": row.figure("peer"),
                "ratio_to_limit": row.figure("limit"),
                "verdict": row.verdict(),
            }
            for row in self.rows
        ]
        return {"benchmark": self.name, "circumstances": self.circumstances, "rows": rows}


def alternate(contenders: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Run the contenders in turns, each round beginning with another one."""
    names = list(contenders)
    found: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            found[name].append(contenders[name]())
    return found


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that `share` of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(1, math.ceil(share * len(ordered))) - 1]


def machine() -> dict[str, Any]:
    """Name the machine and its load at this moment."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_gib": round(memory, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": [round(value, 2) for value in os.getloadavg()],
    }


def shown(value: float) -> str:
    """Return a figure with about three digits that count."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def table(reports: Sequence[Report]) -> str:
    """Return the rows as a table in Markdown."""
    lines = [
        "| benchmark | ours (spread) | peer | limit | ours : peer | ours : limit | bar |",
        "|---|---|---|---|---|---|---|",
    ]
    for report in reports:
        for row in report.rows:
            lines.append(_line(report.name, row))
    return "\n".join(lines) + "\n"


def _line(name: str, row: Row) -> str:
    cells = [f"**{name}**: {row.what}", f"{_series(row.ours)} {row.unit}"]
    cells += [
        f"{_series(runs)} {called}".strip() if runs else "–"
        for runs, called in ((row.peer, row.peer_name), (row.limit, row.limit_name))
    ]
    for of in ("peer", "limit"):
        ratio = row.figure(of)
        cells.append("–" if ratio is None else f"{ratio:.2f}")
    cells.append("; ".join(said for said in (row.verdict(), row.note) if said))
    return "| " + " | ".join(cells) + " |"


def _series(runs: Sequence[float]) -> str:
    if not runs:
        return "–"
    middle = shown(statistics.median(runs))
    return middle if len(runs) == 1 else f"{middle} ({shown(min(runs))}–{shown(max(runs))})"
