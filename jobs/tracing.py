"""Traces: one W3C traceparent from the upload to the last report, and a span for each step.

The traceparent always travels: request → row → message → worker → report. Spans are made only
where OTEL_EXPORTER_OTLP_ENDPOINT is set and the extra `otel` is installed; otherwise a span is
nothing but the block it wraps, and OpenTelemetry is not even imported.

https://www.w3.org/TR/trace-context/#traceparent-header
"""

from __future__ import annotations

import importlib
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import structlog

_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")

log = structlog.get_logger(__name__)

Attributes = Mapping[str, str | int]


class Tracer(Protocol):
    """What jobs.telemetry makes of OpenTelemetry."""

    def span(
        self, name: str, parent: str | None, attributes: Attributes
    ) -> AbstractContextManager[str]:
        """Run a block in a span below the open one or else below `parent`."""

    def note(
        self, name: str, parent: str, began_ns: int, ended_ns: int, attributes: Attributes
    ) -> None:
        """Add a span that has already ended; times are nanoseconds since 1970."""


class _Switch:
    tracer: Tracer | None = None


class HowToTrace(Protocol):
    """What `MetricsSettings` says; named here so that this file stands on no settings."""

    @property
    def otel_exporter_otlp_endpoint(self) -> str: ...


def configure(component: str, settings: HowToTrace) -> None:
    """Switch spans on where the settings say so. Never ends the process."""
    if not settings.otel_exporter_otlp_endpoint:
        return
    try:
        telemetry = importlib.import_module("jobs.telemetry")
    except ImportError as error:
        log.error("tracing_unavailable", reason=f"install the extra otel: {error}")
        return
    use(telemetry.start(component))
    log.info("tracing_started")


def use(tracer: Tracer | None) -> None:
    """Make spans with this tracer from now on, or none."""
    _Switch.tracer = tracer


def is_on() -> bool:
    """Tell whether spans are made."""
    return _Switch.tracer is not None


def valid(header: str | None) -> str | None:
    """Return a well-formed traceparent as it is, and None for anything else."""
    return header if header is not None and _TRACEPARENT.fullmatch(header) else None


def begin(header: str | None) -> str:
    """Return the caller's traceparent, or a new sampled one."""
    return valid(header) or f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"


def trace_id(header: object) -> str | None:
    """Return the trace id of a well-formed traceparent, for the log."""
    known = valid(header) if isinstance(header, str) else None
    return known.split("-")[1] if known else None


@contextmanager
def span(name: str, parent: str | None = None, **attributes: str | int) -> Iterator[str | None]:
    """Run the block in a span below this thread's open one, or else below `parent`.

    Yields the traceparent to hand on: the span's, or `parent` while no spans are made.
    """
    tracer = _Switch.tracer
    if tracer is None:
        yield valid(parent)
        return
    with tracer.span(name, valid(parent), attributes) as here:
        yield here


def note(name: str, parent: object, began_ns: int, ended_ns: int, **attributes: str | int) -> None:
    """Add a span that has already ended to the trace of `parent`, if that is well-formed."""
    tracer = _Switch.tracer
    known = valid(parent) if isinstance(parent, str) else None
    if tracer is not None and known is not None:
        tracer.note(name, known, began_ns, ended_ns, attributes)
