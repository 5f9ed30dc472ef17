"""The trace of a request that brings files in begins here, or goes on from its caller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from structlog.contextvars import bind_contextvars

from jobs.tracing import span, trace_id

if TYPE_CHECKING:  # intake is what is traced
    from web.intake import Upload

P = ParamSpec("P")
Accept = Callable[Concatenate["Upload", P], dict[str, Any]]


def traced(accept: Accept[P]) -> Accept[P]:
    """Run accept(upload, …) in a span, which rows and messages then name as where they are from."""

    @wraps(accept)
    def run(upload: Upload, /, *args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        bind_contextvars(trace_id=trace_id(upload.traceparent))
        with span("accept", upload.traceparent, kind=str(upload.type)) as here:
            return accept(replace(upload, traceparent=here), *args, **kwargs)

    return run
