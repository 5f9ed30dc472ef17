"""What templates may call: words for states, sizes, times, and the forms' tokens."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from flask import g, request
from flask_babel import format_datetime, format_decimal, format_timedelta, gettext, ngettext
from markupsafe import Markup

from models.batches import BatchView
from models.children import ChildView
from models.states import TERMINAL, BatchStatus, ImportType
from web import csrf, payloads
from web.catalogue import item_entry
from web.languages import LANGUAGES, advice, language
from web.markdown import render, render_with_contents
from web.operators import is_operator
from web.parts import layout
from web.script_words import script_words
from web.services import services
from web.warnings import warning_words

_UNITS = ("B", "KB", "MB", "GB")


def template_names() -> dict[str, Any]:
    """Return the names that every template sees."""
    return {
        "language": language(),
        "layout": layout(),
        "query": query,
        "timezone": services().settings.display_timezone,
        "language_links": {code: _language_link(code) for code in LANGUAGES},
        "subject": g.session.subject if "session" in g else None,
        "username": g.session.username if "session" in g else None,
        "operator": "session" in g and is_operator(),
        "csrf_token": csrf.token,
        "state_word": state_word,
        "type_word": type_word,
        "event_word": event_word,
        "component_word": component_word,
        "batch_state": batch_state,
        "render_markdown": render,
        "render_with_contents": render_with_contents,
        "phase": phase,
        "script_words": script_words,
        "size": size,
        "moment": moment,
        "duration": duration,
        "is_terminal": is_terminal,
        "failure": failure,
        "warning_words": warning_words,
        "advice": advice,
        "collection": lambda type: payloads.NAMES[type][1],
    }


def _language_link(code: str) -> str:
    """Return the current page in another language; a page that came from a POST has its own."""
    if request.method != "GET":
        return f"/?lang={code}"
    return f"{request.path}?{urlencode({**request.args, 'lang': code})}"


def query(**changes: Any) -> str:
    """Return the current page's query with `changes`; None or "" takes a name out."""
    names = {**request.args, **changes}
    kept = {name: value for name, value in names.items() if value and name != "part"}
    return f"?{urlencode(kept)}" if kept else request.path


def phase(view: ChildView) -> str:
    """Return in words what is going on with a file, or how it ended."""
    if view.status == "queued":
        if view.dispatched_at is None:
            return str(gettext("Safely stored, waiting to be queued"))
        return str(gettext("In the queue, waiting for a worker"))
    if view.status == "processing":
        return _reading(view)
    if view.status == "completed" and view.page_count:
        return str(ngettext("%(num)s page", "%(num)s pages", view.page_count))
    words = failure(view)
    return words.title if words else ""


def _reading(view: ChildView) -> str:
    done, total = view.progress_done or 0, view.progress_total
    if total and view.type == ImportType.PAGE_IMPORT:
        now = min(done + 1, total)
        return str(gettext("Reading page %(done)s of %(total)s", done=now, total=total))
    if total:
        return str(gettext("Reading, step %(done)s of %(total)s", done=done, total=total))
    return str(gettext("Reading the file"))


def state_word(state: str) -> str:
    """Return an item's state in the reader's language."""
    words = {
        "queued": gettext("Waiting"),
        "processing": gettext("Reading"),
        "completed": gettext("Completed"),
        "failed": gettext("Failed"),
        "cancelled": gettext("Cancelled"),
    }
    return str(words[state])


def type_word(type: str) -> str:
    """Return an import type in the reader's language."""
    words = {"page_import": gettext("Page Import"), "code2des": gettext("Code2Des")}
    return str(words[type])


def event_word(event: str) -> str:
    """Return what happened, in the reader's language; an event of a newer version as it is."""
    words = {
        "accepted": gettext("Accepted"),
        "dispatched": gettext("Handed to the queue"),
        "started": gettext("Reading began"),
        "restarted": gettext("Reading began again"),
        "completed": gettext("Completed"),
        "failed": gettext("Failed"),
        "cancelled": gettext("Cancelled"),
        "exhausted": gettext("Could not be queued"),
        "new_run": gettext("Started over"),
        "resumed": gettext("Started over"),
        "retried": gettext("Tried again on request"),
        "redriven": gettext("Tried again by an operator"),
    }
    return str(words.get(event, event))


def component_word(component: str) -> str:
    """Return who did it, in the reader's language."""
    words = {
        "web": gettext("Web"),
        "scheduler": gettext("Scheduler"),
        "worker": gettext("Worker"),
        "operator": gettext("Operator"),
    }
    return str(words.get(component, component))


def batch_state(view: BatchView) -> str:
    """Return the batch's state as an item word, for its colour and its text."""
    return {
        BatchStatus.PROCESSING: "processing" if view.counts.running else "queued",
        BatchStatus.COMPLETED: "completed",
        BatchStatus.FAILED: "failed",
        BatchStatus.CANCELLED: "cancelled",
    }[BatchStatus(view.status)]


def is_terminal(state: str) -> bool:
    """Tell whether an item's state will not change by itself any more."""
    return state in TERMINAL


def failure(view: ChildView) -> Any:
    """Return the catalogue's words about a failed child, or None."""
    error = payloads.item_error(view, language())
    return item_entry(error.code).text(language()) if error else None


def size(size_bytes: int) -> str:
    """Return a size as people read it."""
    value, unit = float(size_bytes), _UNITS[0]
    for unit in _UNITS:  # noqa: B007 - the unit at which the loop stops is the answer
        if value < 1024 or unit == _UNITS[-1]:
            break
        value /= 1024
    shown = format_decimal(round(value, 1 if unit != "B" and value < 100 else 0))
    return f"{shown} {unit}"


def duration(seconds: float) -> str:
    """Return a time span as people say it."""
    return str(format_timedelta(timedelta(seconds=round(seconds)), threshold=1.5))


def moment(at: datetime) -> Markup:
    """Return a <time> element in the time zone of the settings."""
    text = format_datetime(at, "yyyy-MM-dd HH:mm:ss")
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(), text)
