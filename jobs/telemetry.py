"""Spans by OpenTelemetry, sent by OTLP over HTTP; imported by jobs.tracing only when asked for.

The exporter reads the standard variables itself (OTEL_EXPORTER_OTLP_ENDPOINT, …_HEADERS, …). It
sends from a thread of its own and drops what it cannot send.
https://opentelemetry.io/docs/specs/otel/protocol/exporter/
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from jobs.tracing import Attributes

#: A collector that is away must not hold up a process that stops.
_SEND_SECONDS = 3

_PROPAGATOR = TraceContextTextMapPropagator()


class OpenTelemetry:
    """A jobs.tracing.Tracer."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("torikomi")

    def flush(self) -> None:
        """Send what has ended, now."""
        self._provider.force_flush()

    @contextmanager
    def span(self, name: str, parent: str | None, attributes: Attributes) -> Iterator[str]:
        """Run a block in a span below the open one or else below `parent`."""
        inside = trace.get_current_span().get_span_context().is_valid
        context = None if inside or parent is None else _context(parent)
        with self._tracer.start_as_current_span(
            name, context=context, attributes=dict(attributes)
        ) as opened:
            yield _traceparent(opened)

    def note(
        self, name: str, parent: str, began_ns: int, ended_ns: int, attributes: Attributes
    ) -> None:
        """Add a span that has already ended."""
        opened = self._tracer.start_span(
            name, context=_context(parent), attributes=dict(attributes), start_time=began_ns
        )
        opened.end(ended_ns)


def start(component: str, exporter: SpanExporter | None = None) -> OpenTelemetry:
    """Build the tracer of a process; `exporter` takes the place of OTLP."""
    provider = TracerProvider(resource=Resource.create({"service.name": f"torikomi-{component}"}))
    provider.add_span_processor(
        BatchSpanProcessor(exporter or OTLPSpanExporter(timeout=_SEND_SECONDS))
    )
    return OpenTelemetry(provider)


def _context(parent: str) -> Context:
    return _PROPAGATOR.extract({"traceparent": parent})


def _traceparent(span: Span) -> str:
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier, trace.set_span_in_context(span))
    return carrier["traceparent"]
