"""Rows for tests, made by the product's own functions, and a look at them by SQL."""

from datetime import UTC, datetime, timedelta
from typing import Any

from jobs.messages import JobMessage
from models import database, intake, transitions, verdicts
from models.ids import uuid7
from models.states import ImportType
from models.transitions import Applied, ReportedResult
from models.verdicts import Suspect

ALICE = "0a0a0a0a-alice"
BOB = "0b0b0b0b-bob"


def new_import(
    import_type: ImportType = ImportType.PAGE_IMPORT, name: str = "設計書.pdf"
) -> intake.NewImport:
    """A stored file about to be registered."""
    child_id = uuid7()
    message = JobMessage(
        import_id=child_id,
        type=import_type,
        bucket="torikomi",
        object_key=f"imports/{child_id}/source",
        object_version="v1",
        content_type="application/pdf",
        size_bytes=11,
        sha256="0" * 64,
        created_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
    )
    return intake.NewImport(
        child_id=child_id,
        file_name=name,
        content_type="application/pdf",
        bucket="torikomi",
        object_key=message.object_key,
        object_version="v1",
        size_bytes=11,
        sha256="0" * 64,
        stored_at=datetime.now(UTC),
        request={"file_name": name},
        message=message.to_json(),
    )


def register(
    count: int = 1, *, subject: str = ALICE, type: ImportType = ImportType.PAGE_IMPORT, **more: Any
) -> tuple[str, list[str]]:
    """Register a batch and return its ID and its children's IDs."""
    batch_id = uuid7()
    news = [new_import(type) for _ in range(count)]
    intake.register(subject=subject, batch_id=batch_id, type=type, name=None, imports=news, **more)
    return batch_id, [new.child_id for new in news]


def result(digest: str = "d" * 64, pages: int = 2) -> ReportedResult:
    """A verified result with some pages."""
    return ReportedResult(
        sha256=digest,
        detected_type="application/pdf",
        page_count=pages,
        document={"title": "設計書"},
        pages=[
            {"number": n, "text": f"頁{n}", "markdown": f"頁{n}", "tables": [], "warnings": []}
            for n in range(1, pages + 1)
        ],
    )


def report(child_id: str, event: str, run: int | None = 1, **more: Any) -> Applied:
    """Apply a worker's report about a page import."""
    if event == "completed":
        more.setdefault("result", result())
    if event == "failed":
        more.setdefault("error_code", "file_corrupt")
    return transitions.apply_report(
        type=ImportType.PAGE_IMPORT, child_id=child_id, event=event, run=run, **more
    )


def rows(sql: str, params: Any = ()) -> list[dict[str, Any]]:
    """Look at the database as an outsider would."""
    with database.connection():
        return database.fetch(sql, params)


def change(sql: str, params: Any = ()) -> int:
    """Age or break a row on purpose."""
    with database.connection():
        return database.execute(sql, params)


def item_of(child_id: str) -> dict[str, Any]:
    """The outbox row of a child."""
    return rows("SELECT * FROM batch_item WHERE job_id = %s", (child_id,))[0]


def child(child_id: str) -> dict[str, Any]:
    """The lifecycle row of a page import."""
    return rows("SELECT * FROM page_import WHERE id = %s", (child_id,))[0]


def event_names(child_id: str) -> list[str]:
    """The recorded transitions of a child, oldest first."""
    found = rows(
        "SELECT event FROM job_event WHERE child_id = %s ORDER BY created_at, id", (child_id,)
    )
    return [row["event"] for row in found]


def start_new_run(child_id: str, reason: str = "test") -> str | None:
    """Suspect a page import as it is now and start it anew."""
    suspect = Suspect(
        type=ImportType.PAGE_IMPORT, child_id=child_id, updated_at=child(child_id)["updated_at"]
    )
    return verdicts.start_new_run(suspect, reason=reason)


def old_id(hours: float) -> str:
    """A UUIDv7 as it was made some hours ago."""
    then = int((datetime.now(UTC) - timedelta(hours=hours)).timestamp() * 1000)
    made = uuid7().replace("-", "")
    text = f"{then:012x}{made[12:]}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
