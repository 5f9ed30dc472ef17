"""What the web process counts besides its calls to S3; see jobs.metrics."""

from __future__ import annotations

from jobs.listener import Listener
from jobs.messages import ReportEvent
from jobs.metrics import (
    CALL_SECONDS,
    COMPLETION_SECONDS,
    REGISTRY,
    TERMINAL,
    counter,
    histogram,
    secure_room,
    shared_registry,
)
from models.states import TERMINAL as ENDED
from models.transitions import Applied
from web.catalogue import ITEM_CODES
from web.settings import WebSettings

#: Where the application keeps its listener, which only a server process starts: web/serving.py.
LISTENER = "torikomi_listener"

_KIB = 1024

UPLOADS = counter(
    "import_upload_requests_total",
    "Requests that bring files in, by their end: refused is the caller's, failed is ours.",
    {"channel": ("form", "api"), "outcome": ("accepted", "refused", "failed")},
)
UPLOAD_BYTES = histogram(
    "import_upload_size_bytes",
    "Size of a file that came through the web process.",
    [_KIB << power for power in range(0, 18, 2)],
)
REQUEST_SECONDS = histogram(
    "import_http_request_duration_seconds",
    "Time to the answer of an HTTP request, by what it asked of whom and the first digit.",
    CALL_SECONDS,
    "kind",
    "status",
)
REPORTS = counter(
    "import_webhooks_total",
    "Reports of workers: stale is of another run or an import that ended otherwise, conflict is "
    "a second and different result.",
    {
        "event": [str(event) for event in ReportEvent],
        "result": ("applied", "duplicate", "stale", "conflict"),
    },
)
REPORTS_REJECTED = counter(
    "import_webhooks_rejected_total",
    "Reports that were not even looked at, by the status of the answer.",
    {"status": ()},
)
SIGNATURE_FAILURES = counter(
    "import_webhook_signature_failures_total",
    "Reports without a good signature.",
    {"reason": ("header", "id_or_timestamp", "clock", "signature")},
)
JWKS_REFRESHES = counter(
    "import_jwks_refresh_total",
    "Downloads of the user pool's keys.",
    {"outcome": ("ok", "failed")},
)

#: Endpoints that bring files in, and through which door.
_CHANNELS = {
    "pages.submit": "form",
    "api_children.create": "api",
    "api_batches.create": "api",
}


def listener(settings: WebSettings) -> Listener:
    """Build the listener that tells the counts of all web processes of this machine."""
    registry, directory = REGISTRY, settings.prometheus_multiproc_dir
    if directory is not None:
        secure_room(directory)
        registry = shared_registry(directory)
    return Listener(settings.metrics_host, settings.web_metrics_port, registry)


def note_request(endpoint: str | None, path: str, status: int, seconds: float) -> None:
    """Count one answered request."""
    channel = _CHANNELS.get(endpoint or "")
    if channel is not None:
        outcome = "accepted" if status < 400 else "refused" if status < 500 else "failed"
        UPLOADS.labels(channel, outcome).inc()
    kind = "upload" if channel is not None else _kind(endpoint, path)
    REQUEST_SECONDS.labels(kind, f"{status // 100}xx").observe(seconds)
    if kind == "webhook" and status >= 400 and status != 409:
        REPORTS_REJECTED.labels(str(status)).inc()


def _kind(endpoint: str | None, path: str) -> str:
    if endpoint is None:
        return "unknown"
    first = path.split("/", 2)[1]
    return {"api": "api", "webhooks": "webhook", "static": "static"}.get(
        first, "health" if endpoint.startswith("health.") else "page"
    )


def note_report(
    kind: str, event: ReportEvent, applied: Applied, error_code: str | None = None
) -> None:
    """Count what a report did, and the end of an import when it was one."""
    REPORTS.labels(str(event), _result(event, applied)).inc()
    if applied.applied and applied.status in ENDED:
        reason = "" if error_code is None else error_code if error_code in ITEM_CODES else "other"
        TERMINAL.labels(applied.status, reason).inc()
        COMPLETION_SECONDS.labels(kind, applied.status).observe(applied.age_seconds)


def note_cancelled(items: int = 1) -> None:
    """Count imports that their owner cancelled."""
    TERMINAL.labels("cancelled", "").inc(items)


def _result(event: ReportEvent, applied: Applied) -> str:
    if applied.applied:
        return "applied"
    if not applied.conflict:
        return "duplicate"
    both = event is ReportEvent.COMPLETED and applied.status == "completed"
    return "conflict" if both else "stale"
