"""The traceparent travels; spans exist only where they are asked for."""

import subprocess
import sys

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from jobs import telemetry, tracing
from tests.jobs.conftest import ROOT

CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "nonsense",
        CALLER + "-more",
        CALLER.upper(),
        CALLER.replace("00-", "ff-", 1),
        "00-" + "0" * 32 + "-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-" + "0" * 16 + "-01",
        CALLER + "\n",
    ],
)
def test_a_malformed_traceparent_is_replaced_and_never_handed_on(header):
    assert tracing.valid(header) is None
    assert tracing.trace_id(header) is None
    assert tracing.valid(tracing.begin(header)) is not None
    assert tracing.begin(header) != tracing.begin(header)
    with tracing.span("work", header) as here:
        assert here is None


def test_a_good_one_is_taken_over_and_handed_on():
    assert tracing.begin(CALLER) == CALLER
    assert tracing.trace_id(CALLER) == "4bf92f3577b34da6a3ce929d0e0e4736"
    with tracing.span("work", CALLER) as here:
        assert here == CALLER


def test_spans_nest_in_a_thread_and_end_with_their_block_also_in_an_error():
    exporter = InMemorySpanExporter()
    tracer = telemetry.start("worker", exporter)
    tracing.use(tracer)
    try:
        with pytest.raises(ValueError, match="told to"), tracing.span("work", CALLER) as work:
            with tracing.span("fetch", CALLER, attempt=1) as fetch:
                assert fetch != work
            raise ValueError("told to")
        tracing.note("dispatch", CALLER, 1_000, 2_000, attempt=2)
        tracing.note("dispatch", {"not": "text"}, 1_000, 2_000)
    finally:
        tracing.use(None)
    tracer.flush()
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert set(spans) == {"work", "fetch", "dispatch"}
    assert {f"{span.context.trace_id:032x}" for span in spans.values()} == {
        tracing.trace_id(CALLER)
    }
    assert spans["fetch"].parent.span_id == spans["work"].context.span_id
    assert f"{spans['work'].parent.span_id:016x}" == "00f067aa0ba902b7"
    assert spans["work"].status.is_ok is False
    assert dict(spans["dispatch"].attributes) == {"attempt": 2}


def run(code: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )


def test_without_a_collector_opentelemetry_is_not_even_imported():
    done = run(
        "import sys, jobs.worker.boot, scheduler.__main__, web.factory\n"
        "from jobs import tracing\n"
        "from jobs.settings import MetricsSettings\n"
        "tracing.configure('worker', MetricsSettings())\n"
        "print(sorted(n for n in sys.modules if n.startswith('opentelemetry')), tracing.is_on())"
    )
    assert done.stdout.strip() == "[] False"


def test_a_missing_extra_is_told_and_ends_nothing():
    done = run(
        "import sys\n"
        "sys.modules['opentelemetry'] = None\n"
        "from jobs import logs, tracing\n"
        "from jobs.settings import LogSettings, MetricsSettings\n"
        "logs.configure('worker', LogSettings())\n"
        "where = MetricsSettings(otel_exporter_otlp_endpoint='http://127.0.0.1:9')\n"
        "tracing.configure('worker', where)\n"
        "print(tracing.is_on())"
    )
    assert done.stdout.strip() == "False"
    assert "tracing_unavailable" in done.stderr
    assert "install the extra otel" in done.stderr


def test_a_collector_that_is_away_delays_nothing_but_the_end_of_the_process():
    done = run(
        "import time\n"
        "from jobs import tracing\n"
        "from jobs.settings import MetricsSettings\n"
        "where = MetricsSettings(otel_exporter_otlp_endpoint='http://127.0.0.1:9')\n"
        "tracing.configure('worker', where)\n"
        "began = time.monotonic()\n"
        "for _ in range(100):\n"
        "    with tracing.span('work', None):\n"
        "        pass\n"
        "print(time.monotonic() - began < 5)"
    )
    assert done.stdout.strip().endswith("True")
