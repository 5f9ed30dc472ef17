"""Sections 13 and 14 and the index: metrics, coverage, limits."""

from __future__ import annotations

from collections import Counter
from heapq import nsmallest
from typing import Any

from jobs.parsing.code2des.document_markup import Writer, cell, code, place

_BANDS = ((5, "band_low"), (10, "band_medium"), (20, "band_high"), (10**9, "band_extreme"))
_MAX_HOTSPOTS = 15
_MAX_WARNINGS = 100
_MAX_INDEX = 1000
_LIMITS = (
    "limit_background",
    "limit_screens",
    "limit_reports",
    "limit_nonfunctional",
    "limit_operation",
)
Row = dict[str, Any]


def quality(writer: Writer, model: Row) -> None:
    """Write how complex the functions are and where change is risky."""
    values = Counter(
        f["metrics"]["cyclomatic"]
        for f in model["functions"]
        if not f["test"] and "overload" not in f["modifiers"]
    )
    counted: Counter[str] = Counter()
    for value, count in values.items():
        counted[next(name for limit, name in _BANDS if value <= limit)] += count
    writer.table(
        ("band", "function_count"),
        [[writer.say(name), str(counted[name])] for _, name in _BANDS],
    )
    if not model["hotspots"]:
        return
    functions = {function["id"]: function for function in model["functions"]}
    writer.phrase("hotspot_note")
    rows = []
    for spot in model["hotspots"][:_MAX_HOTSPOTS]:
        function = functions[spot["id"]]
        where = place(function["module"].removeprefix("module:"), function["span"]["line"])
        numbers = [str(spot["score"]), str(spot["cyclomatic"]), str(spot["fan_in"])]
        rows.append([code(function["qualified"]), *numbers, where])
    writer.table(("function", "score", "complexity", "callers", "location"), rows)


def coverage(writer: Writer, model: Row) -> None:
    """Write what was read and how, what was not, and what source cannot tell."""
    encodings = Counter(file["encoding"] for file in model["files"] if file["encoding"])
    writer.table(
        ("encoding", "files"), [[cell(name), str(n)] for name, n in sorted(encodings.items())]
    )
    confidences = Counter(
        r["confidence"] for r in model["relations"] if r["kind"] in ("calls", "creates")
    )
    if confidences:
        rows = [
            [writer.say(f"confidence_{name}"), str(n)] for name, n in sorted(confidences.items())
        ]
        writer.table(("confidence", "count"), rows)
    skipped = model["totals"]["skipped_by_reason"]
    if skipped:
        writer.heading(3, writer.say("skipped_files"))
        rows = [[writer.say(f"reason_{name}"), str(count)] for name, count in skipped.items()]
        writer.table(("reason", "files"), rows)
    writer.heading(3, writer.say("warnings"))
    _warnings(writer, model["warnings"])
    writer.heading(3, writer.say("limits"))
    unknown = writer.say("not_derivable")
    told = {"limit_screens": writer.say("limit_screens_told")} if model["screens"] else {}
    rows = [[writer.say(key), told.get(key, unknown)] for key in _LIMITS]
    writer.table(("item", "content"), rows)


def _warnings(writer: Writer, warnings: list[Row]) -> None:
    if not warnings:
        writer.phrase("warnings_none")
        return
    rows = [
        [
            writer.say(f"reason_{warning['code']}"),
            place(warning["path"], warning["line"]),
            cell(warning["detail"]),
        ]
        for warning in warnings[:_MAX_WARNINGS]
    ]
    writer.table(("warning", "location", "detail"), rows)
    if len(warnings) > _MAX_WARNINGS:
        writer.phrase("warnings_more", count=len(warnings) - _MAX_WARNINGS)


def index(writer: Writer, model: Row) -> None:
    """Write an alphabetical index of types and functions."""
    tests = {module["id"] for module in model["modules"] if module["role"] == "test"}
    entries = {
        (row["qualified"], row["module"], row["span"]["line"])
        for row in [*model["types"], *model["functions"]]
        if row["module"] not in tests and "overload" not in row["modifiers"]
    }
    first = nsmallest(_MAX_INDEX, entries, key=lambda entry: (entry[0].lower(), entry))
    rows = [
        [code(name), place(module.removeprefix("module:"), line)] for name, module, line in first
    ]
    if not rows:
        writer.phrase("none_found")
        return
    writer.table(("name", "location"), rows)
    if len(entries) > _MAX_INDEX:
        writer.phrase("index_more", count=_MAX_INDEX)
