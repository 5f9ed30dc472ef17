"""This machine and the way to the web process: disk, versions, WEB_URL, the shared secret."""

from __future__ import annotations

import platform
import re
import shutil
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from jobs.findings import Finding, clock, offset_of_date, ok, problem, warning
from jobs.messages import Report, ReportEvent
from jobs.settings import WorkerSettings
from jobs.signing import sign
from models.ids import uuid7
from models.states import ImportType

LOCK = Path(__file__).resolve().parents[2] / "local" / "locks" / "run.txt"
#: What one job may need for its source and its result, times the threads of one queue.
NEEDED_BYTES = 1 << 30
_WATCHED = ("flask", "dramatiq", "dramatiq-sqs", "boto3", "peewee", "psycopg2-binary", "gunicorn")
_WEB_SECONDS = 5


def check_disk(directory: Path | None) -> Iterator[Finding]:
    """Look at the room for temporary files."""
    place = directory or Path(tempfile.gettempdir())
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        yield problem("disk", f"{place}: {error.strerror}", "make it, or set WORKER_TEMP_DIR")
        return
    said = f"{free / (1 << 30):.1f} GiB free in {place}"
    step = "free some, or point WORKER_TEMP_DIR (TMPDIR for web) at a larger disk"
    if free >= NEEDED_BYTES:
        yield ok("disk", said)
    else:
        yield (warning if free >= NEEDED_BYTES // 8 else problem)("disk", said, step)


def check_versions() -> Iterator[Finding]:
    """Compare what is installed with what was locked and tested."""
    locked = dict(re.findall(r"^([\w.-]+)==([^\s;\\]+)", LOCK.read_text("utf-8"), flags=re.M))
    others = []
    for name in _WATCHED:
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            installed = "missing"
        if installed != locked[name]:
            others.append(f"{name} {installed} (locked {locked[name]})")
    if others:
        step = "install with --require-hashes -r local/locks/run.txt"
        yield warning("versions", ", ".join(others), step)
    else:
        yield ok("versions", f"Python {platform.python_version()}, packages as locked")


def check_web(settings: WorkerSettings) -> Iterator[Finding]:
    """Ask the web process at WEB_URL, and whether it knows our secret. Changes nothing."""
    url = settings.web_url.rstrip("/")
    step = f"check WEB_URL ({url}) and that a `web` runs there"
    try:
        status, date = _ask(f"{url}/readyz")
        if status != 200:
            yield problem("web", f"/readyz answers {status}", f"{step}; its log says why")
            return
        yield ok("web", f"{url} is ready")
        yield clock("web", offset_of_date(date))
        yield _secret(settings, url)
    except (urllib.error.URLError, OSError, ValueError) as error:
        yield problem("web", f"it does not answer ({error})", step)


def _secret(settings: WorkerSettings, url: str) -> Finding:
    """Send a signed report of an import that nobody knows: 404 means that the secret is right."""
    report = Report(
        event=ReportEvent.PROCESSING, import_id=uuid7(), type=str(ImportType.PAGE_IMPORT)
    )
    body = report.to_bytes()
    headers = sign(settings.secrets(), f"doctor_{report.import_id}", int(time.time()), body)
    status, _ = _ask(
        f"{url}/webhooks/page_import", body, {**headers, "Content-Type": "application/json"}
    )
    if status == 404:
        return ok("webhook secret", "the web verifies what a worker signs")
    if status == 401:
        step = "give web and workers the same first WEBHOOK_SECRETS, and the right clocks"
        return problem("webhook secret", "the web refuses a worker's signature", step)
    step = "let only a proxy that passes POST /webhooks/ on stand between them"
    return problem("webhook secret", f"a report was answered {status}", step)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:  # the signature is urllib's
        return None


def _ask(
    url: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, str | None]:
    if not url.startswith(("http://", "https://")):
        raise ValueError("WEB_URL begins with http:// or https://")
    request = urllib.request.Request(url, data=body, headers=headers or {})  # noqa: S310
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(request, timeout=_WEB_SECONDS) as answer:
            return int(answer.status), answer.headers.get("Date")
    except urllib.error.HTTPError as error:
        with error:
            return int(error.code), error.headers.get("Date")
