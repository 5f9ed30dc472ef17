"""Screens in section 5: 画面一覧, 画面項目, 画面遷移."""

from __future__ import annotations

from typing import Any

from jobs.parsing.code2des.document_markup import Writer, cell, code, place

_MAX_ROWS = 500
Row = dict[str, Any]


def screens(writer: Writer, model: Row) -> None:
    """Write the screens; nothing for source without a user interface."""
    found = [screen for screen in model["screens"] if _is_worth_telling(screen)]
    if not found:
        return
    found.sort(key=lambda screen: (not screen["routes"], screen["kind"] == "component"))
    writer.heading(3, writer.say("screens"))
    writer.table(
        ("screen", "kind", "title_words", "routes", "fields", "links", "location"),
        [_listed(writer, screen) for screen in found[:_MAX_ROWS]],
    )
    _more(writer, len(found))
    _fields(writer, found)
    _transitions(writer, found)


def _is_worth_telling(screen: Row) -> bool:
    has_parts = screen["forms"] or screen["fields"] or screen["links"] or screen["uses"]
    return bool(has_parts or screen["routes"] or screen["title"])


def _more(writer: Writer, count: int) -> None:
    if count > _MAX_ROWS:
        writer.phrase("rows_more", count=count - _MAX_ROWS)


def _listed(writer: Writer, screen: Row) -> list[str]:
    count = len(screen["fields"]) + sum(len(form["fields"]) for form in screen["forms"])
    return [
        code(screen["name"]),
        writer.say(f"screen_{screen['kind']}"),
        cell(screen["title"]),
        ", ".join(code(route) for route in screen["routes"]) or cell(None),
        str(count),
        str(len(screen["links"])),
        place(screen["file"], screen["line"]),
    ]


def _fields(writer: Writer, found: list[Row]) -> None:
    rows = [
        [
            code(screen["name"]),
            cell(_form(form)) if form else cell(None),
            cell(field["label"]),
            code(field["name"]),
            cell(field["type"]),
            writer.say("yes") if field["required"] else cell(None),
            place(screen["file"], field["line"]),
        ]
        for screen in found
        for form, fields in [
            *((form, form["fields"]) for form in screen["forms"]),
            (None, screen["fields"]),
        ]
        for field in fields
    ]
    if rows:
        writer.heading(3, writer.say("screen_fields"))
        keys = ("screen", "form", "logical_name", "physical_name", "kind", "required", "location")
        writer.table(keys, rows[:_MAX_ROWS])
        _more(writer, len(rows))


def _form(form: Row) -> str:
    return " ".join(part for part in (form["name"], form["method"], form["action"]) if part)


def _transitions(writer: Writer, found: list[Row]) -> None:
    names = {screen["id"]: screen["name"] for screen in found}
    rows = [
        [
            code(screen["name"]),
            cell(words),
            code(target),
            code(names.get(leads or "")),
            place(screen["file"], line),
        ]
        for screen in found
        for words, target, leads, line in [
            *((k["text"], k["target"], k["screen"], k["line"]) for k in screen["links"]),
            *(
                (form["method"], form["action"], form["screen"], form["line"])
                for form in screen["forms"]
                if form["action"]
            ),
        ]
    ]
    if rows:
        writer.heading(3, writer.say("screen_transitions"))
        keys = ("screen", "operation", "target_written", "target_screen", "location")
        writer.table(keys, rows[:_MAX_ROWS])
        _more(writer, len(rows))
