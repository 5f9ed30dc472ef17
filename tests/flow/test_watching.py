"""One import through all processes: its log lines, its trace, its metrics."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from local.provision import access_token
from local.stack import Stack
from tests.conftest import IMPATIENT
from tests.flow.papers import OWN

TRACE_ID, CALLER_SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
#: The first is refused, the second only looks like a line of the log.
HOSTILE_NAMES = ("line\u2028break\n.pdf", '{"event": "forged"} 名前.pdf')


@dataclass(frozen=True)
class Seen:
    """One span as a collector sees it."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, str]


@dataclass
class Collector:
    """Takes what OTLP exporters send."""

    url: str = ""
    spans: list[Seen] = field(default_factory=list)

    def take(self, body: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            about = {each.key: each.value.string_value for each in resource.resource.attributes}
            for scope in resource.scope_spans:
                for span in scope.spans:
                    named = {each.key: each.value.string_value for each in span.attributes}
                    self.spans.append(
                        Seen(
                            about["service.name"],
                            span.name,
                            span.trace_id.hex(),
                            span.span_id.hex(),
                            span.parent_span_id.hex(),
                            named,
                        )
                    )


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    """A local stand-in for an OpenTelemetry collector."""
    made = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.path == "/v1/traces"
            made.take(body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def watched(server_dir: Path, collector: Collector) -> Iterator[Stack]:
    """The whole product, sending its spans to the collector."""
    given = {
        **IMPATIENT,
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
        "OTEL_BSP_SCHEDULE_DELAY": "200",
        "SAMPLE_PERIOD_SECONDS": "0.5",
    }
    running = Stack(server_dir / "watched", durable=False, given=given)
    running.start()
    yield running
    running.destroy()


@pytest.fixture(scope="module")
def story(watched: Stack) -> dict[str, Any]:
    """One finished import of a caller who brought a traceparent."""
    paper = OWN / "pdf" / "vertical_writing.pdf"
    headers = {"Authorization": f"Bearer {access_token(watched.account, watched.provisioned)}"}
    with httpx.Client(base_url=watched.url, headers=headers, timeout=60) as client:
        refused, answer = [
            client.post(
                "/api/v1/imports",
                params={"filename": name},
                content=paper.read_bytes(),
                headers={"traceparent": f"00-{TRACE_ID}-{CALLER_SPAN}-01"},
            )
            for name in HOSTILE_NAMES
        ]
        assert (refused.status_code, answer.status_code) == (400, 202), answer.text
        child_id = answer.json()["import_id"]
        deadline = time.monotonic() + 120
        while (state := client.get(f"/api/v1/imports/{child_id}").json())["status"] != "completed":
            assert time.monotonic() < deadline, state
            assert state["status"] != "failed", state
            time.sleep(0.1)
    return dict(answer.json())


def lines_of(stack: Stack, process: str) -> list[dict[str, Any]]:
    """Return the log of one process; every line has to be one JSON object."""
    text = (stack.data_dir / "logs" / f"{process}.log").read_text("utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def wait_for_line(stack: Stack, process: str, event: str, child_id: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        found = [
            line
            for line in lines_of(stack, process)
            if line["event"] == event and line.get("import_id") == child_id
        ]
        if found:
            return
        assert time.monotonic() < deadline, f"{process} never said {event}"
        time.sleep(0.1)


def test_grep_for_an_import_tells_its_whole_story_in_order(
    watched: Stack, story: dict[str, Any]
) -> None:
    child_id = story["import_id"]
    wait_for_line(watched, "worker", "work_reported", child_id)
    told = sorted(
        (line["ts"], line["component"], line["event"], line.get("report_event", ""))
        for process in ("web", "scheduler", "worker")
        for line in lines_of(watched, process)
        if line.get("import_id") == child_id
    )
    steps = [(component, event, report) for _, component, event, report in told]
    expected = [
        ("web", "source_stored", ""),
        ("web", "import_accepted", ""),
        ("scheduler", "message_sent", ""),
        ("web", "report_received", "processing"),
        ("worker", "parser_ended", ""),
        ("worker", "pages_drawn", ""),
        ("web", "report_received", "completed"),
        ("worker", "work_reported", ""),
    ]
    assert [step for step in steps if step in expected] == expected
    assert ("web", "request_finished", "") in steps
    assert ("worker", "work_started", "") in steps


def test_no_line_about_an_import_lacks_its_id(watched: Stack, story: dict[str, Any]) -> None:
    child_id = story["import_id"]
    wait_for_line(watched, "worker", "work_reported", child_id)
    web = lines_of(watched, "web")
    requests = {
        line["request_id"]
        for line in web
        if line.get("import_id") == child_id and "request_id" in line
    }
    for request_id in requests:
        lines = [line for line in web if line.get("request_id") == request_id]
        first = next(n for n, line in enumerate(lines) if "import_id" in line)
        assert all(line.get("import_id") == child_id for line in lines[first:]), lines
    worker = lines_of(watched, "worker")
    numbers = [n for n, line in enumerate(worker) if line.get("import_id") == child_id]
    between = worker[numbers[0] : numbers[-1] + 1]
    assert [line["event"] for line in between if line.get("import_id") != child_id] == []
    for process in ("web", "scheduler", "worker"):
        for line in lines_of(watched, process):
            if line.get("import_id") == child_id and line["event"] != "request_finished":
                assert line.get("trace_id") == TRACE_ID, line


def test_neither_the_file_nor_a_secret_is_in_any_log(watched: Stack, story: dict[str, Any]) -> None:
    secrets = [
        watched.services.keys.webhook_secret,
        watched.services.keys.session_secret,
        watched.services.keys.password,
        watched.services.keys.aws_secret,
        access_token(watched.account, watched.provisioned),
    ]
    for path in (watched.data_dir / "logs").glob("*.log"):
        if path.stem not in ("web", "scheduler", "worker", "release"):
            continue
        text = path.read_text("utf-8")
        assert not [secret for secret in secrets if secret in text], path.name
        assert "Bearer " not in text
        assert "\u2028" not in text


def test_one_trace_leads_from_the_caller_through_every_process(
    watched: Stack, story: dict[str, Any], collector: Collector
) -> None:
    wanted = {
        ("torikomi-web", "accept"),
        ("torikomi-scheduler", "dispatch"),
        *(("torikomi-worker", name) for name in ("work", "fetch", "parse", "put", "report")),
        ("torikomi-web", "apply"),
    }
    deadline = time.monotonic() + 60
    while True:
        spans = [span for span in collector.spans if span.trace_id == TRACE_ID]
        completed = [s for s in spans if s.attributes.get("event") == "completed"]
        if {(s.service, s.name) for s in spans} >= wanted and len(completed) >= 2:
            break
        assert time.monotonic() < deadline, sorted((s.service, s.name) for s in spans)
        time.sleep(0.1)
    by_id = {span.span_id: span for span in spans}
    parents = {
        (span.name, by_id[span.parent_id].name if span.parent_id in by_id else span.parent_id)
        for span in spans
    }
    assert parents >= {
        ("accept", CALLER_SPAN),
        ("dispatch", "accept"),
        ("work", "accept"),
        ("fetch", "work"),
        ("parse", "work"),
        ("put", "work"),
        ("report", "work"),
        ("apply", "report"),
    }


def test_the_running_product_counts_the_import(watched: Stack, story: dict[str, Any]) -> None:
    def told(name: str) -> str:
        url = f"http://127.0.0.1:{watched.plan.metrics_ports[name]}/metrics"
        return httpx.get(url, timeout=30).text

    deadline = time.monotonic() + 60
    wanted = {
        "WEB_METRICS_PORT": (
            'import_terminal_total{reason="",state="completed"} 1.0',
            'import_webhooks_total{event="completed",result="applied"} 1.0',
            'import_completion_seconds_count{kind="page_import",outcome="completed"} 1.0',
        ),
        "SCHEDULER_METRICS_PORT": ('import_dispatch_attempts_total{outcome="accepted"} 1.0',),
        "WORKER_METRICS_PORT": (
            'import_worker_deliveries_total{kind="page_import",outcome="done"} 1.0',
            'import_queue_wait_seconds_count{kind="page_import"} 1.0',
        ),
    }
    for name, lines in wanted.items():
        while not all(line in (text := told(name)) for line in lines):
            missing = [line for line in lines if line not in text]
            assert time.monotonic() < deadline, f"{missing} in {text}"
            time.sleep(0.2)
        assert story["import_id"] not in text
