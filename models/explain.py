"""One import's whole story for an operator, and the one reason why it waits."""

from __future__ import annotations

from typing import Any

from models import status
from models.children import CHILD_COLUMNS, find_type
from models.database import connection, fetch
from models.states import ItemState

#: A worker at work reports at least every 30 seconds.
SILENT_SECONDS = 60


def tell(child_id: str) -> dict[str, Any]:
    """Return where the import is, why it waits or how it ended, and its history.

    Asks for no subject: for operators only. Raises NotFound.
    """
    import_type = find_type(child_id)
    with connection():
        row = fetch(
            f"""SELECT {CHILD_COLUMNS}, i.lease_until >= clock_timestamp() AS leased,
                       extract(epoch FROM clock_timestamp() - c.last_report_at) AS report_age
                FROM {import_type} c JOIN batch_item i ON i.job_id = c.id WHERE c.id = %s""",
            (child_id,),
        )[0]
        history = fetch(
            """SELECT created_at, component, updated_by, event, from_status, to_status, detail, run
               FROM job_event WHERE child_id = %s ORDER BY created_at, id""",
            (child_id,),
        )
    shown = ("batch_id", "file_name", "size_bytes", "run", "dispatch_attempts", "dispatched_at")
    return {
        "import_id": child_id,
        "type": str(import_type),
        "status": row["status"],
        "why": _why(row, history),
        **{name: row[name] for name in shown},
        "error": f"{row['error_code']}: {row['error_message']}" if row["error_message"] else None,
        "history": [_line(event) for event in history],
    }


def _why(row: dict[str, Any], history: list[dict[str, Any]]) -> str:
    ended = {
        ItemState.FAILED: "it failed; redrive it when the cause is gone",
        ItemState.CANCELLED: "a person cancelled it",
        ItemState.COMPLETED: "it is done",
    }
    if row["status"] in ended:
        return ended[row["status"]]
    if row["status"] == ItemState.PROCESSING:
        return _why_processing(float(row["report_age"]))
    again = _why_again(history)
    if row["dispatched_at"] is not None:
        return f"{again}its message is in SQS and no worker has started it yet"
    breaker = status.get("dispatch_breaker")
    if breaker is not None and breaker.data["state"] != "closed":
        reason = breaker.data["reason"]
        return f"{again}SQS does not answer ({reason}); dispatch goes on when it does"
    if row["leased"]:
        return f"{again}attempt {row['dispatch_attempts']} of its dispatch is under way"
    return f"{again}it waits for the next dispatch"


def _why_processing(report_age_seconds: float) -> str:
    if report_age_seconds <= SILENT_SECONDS:
        return f"a worker has it; its last report came {report_age_seconds:.0f} s ago"
    return (
        f"no worker has reported for {report_age_seconds:.0f} s: it waits for SQS to deliver its "
        "message again, or for the stall sweep to start a new run"
    )


def _why_again(history: list[dict[str, Any]]) -> str:
    """Say why this is not its first run, if it is not."""
    begins = {"new_run", "resumed", "retried", "redriven"}
    started = [event for event in history if event["event"] in begins]
    if not started:
        return ""
    last = started[-1]
    return f"run {last['run']} began ({last['event']}: {last['detail']}); "


def _line(event: dict[str, Any]) -> str:
    arrow = f"{event['from_status'] or '-'} -> {event['to_status']}"
    detail = f" ({event['detail']})" if event["detail"] else ""
    at = event["created_at"].isoformat(timespec="milliseconds")
    return f"{at} {event['updated_by']}: {event['event']}, {arrow}, run {event['run']}{detail}"
