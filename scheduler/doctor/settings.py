"""The settings themselves: complete, well formed, and in agreement with each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar
from urllib.parse import urlsplit

from pydantic import ValidationError
from pydantic_settings import BaseSettings

from jobs.findings import Finding, ok, problem, warning
from jobs.settings import WorkerSettings
from scheduler.commands.output import settings_trouble
from scheduler.settings import SchedulerSettings

S = TypeVar("S", bound=BaseSettings)

_STEP = "set them; .env.example and docs/configuration.md describe each"


def check(classes: Mapping[str, type[BaseSettings]]) -> Iterator[Finding]:
    """Read the settings of each process and say what is missing or wrong in them."""
    for process, settings_class in classes.items():
        part = f"{process} settings"
        try:
            settings_class()
        except ValidationError as error:
            yield problem(part, settings_trouble(error), _STEP)
        else:
            yield ok(part, "complete")
    yield from _agreement(read(SchedulerSettings), read(WorkerSettings))


def read(settings_class: type[S]) -> S | None:
    """Return the settings, or None when they are incomplete."""
    try:
        return settings_class()
    except ValidationError:
        return None


def _agreement(
    scheduler: SchedulerSettings | None, worker: WorkerSettings | None
) -> Iterator[Finding]:
    if worker is not None and worker.heartbeat_seconds * 2 > worker.visibility_seconds:
        step = "set HEARTBEAT_SECONDS to at most half of VISIBILITY_SECONDS"
        yield problem("worker settings", "one late heartbeat would give a message away", step)
    if worker is not None and scheduler is not None:
        longest = max(worker.backoffs())
        if scheduler.stall_after_seconds <= longest:
            step = f"set STALL_AFTER_SECONDS above the longest of BACKOFF_SECONDS ({longest})"
            yield problem("scheduler settings", "waiting work would count as stalled", step)
    if worker is not None and _is_plain_and_far(worker.web_url):
        step = "use https, or a network that nobody else is on"
        yield warning("worker settings", "WEB_URL is http to another machine", step)


def _is_plain_and_far(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "localhost", "::1")
