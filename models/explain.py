"""One import's whole story for an operator, and the one reason why it waits."""

from __future__ import annotations

from typing import Any

from models import status
from models.children import CHILD_COLUMNS, find_type
from models.database import connection, fetch
from models.states import ItemState


def tell(child_id: str) -> dict[str, Any]:
    """Return where the import is, why it waits or how it ended, and its history.

    Asks for no subject: for operators only. Raises NotFound.
    """
    import_type = find_type(child_id)
    with connection():
        row = fetch(
            f"""SELECT {CHILD_COLUMNS}, i.lease_until >= clock_timestamp() AS leased
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
        "why": _why(row),
        **{name: row[name] for name in shown},
        "error": f"{row['error_code']}: {row['error_message']}" if row["error_message"] else None,
        "history": [_line(event) for event in history],
    }


def _why(row: dict[str, Any]) -> str:
    if row["status"] == ItemState.FAILED:
        return "it failed; redrive it when the cause is gone"
    if row["status"] == ItemState.CANCELLED:
        return "a person cancelled it"
    if row["status"] == ItemState.COMPLETED:
        return "it is done"
    if row["status"] == ItemState.PROCESSING:
        return f"a worker has it; its last report came at {row['last_report_at']:%H:%M:%S} UTC"
    if row["dispatched_at"] is not None:
        return "its message is in SQS and no worker has started it yet"
    breaker = status.get("dispatch_breaker")
    if breaker is not None and breaker.data["state"] != "closed":
        return f"SQS does not answer ({breaker.data['reason']}); dispatch goes on when it does"
    if row["leased"]:
        return f"attempt {row['dispatch_attempts']} of its dispatch is under way"
    return "it waits for the next dispatch"


def _line(event: dict[str, Any]) -> str:
    arrow = f"{event['from_status'] or '-'} -> {event['to_status']}"
    detail = f" ({event['detail']})" if event["detail"] else ""
    at = event["created_at"].isoformat(timespec="milliseconds")
    return f"{at} {event['updated_by']}: {event['event']}, {arrow}, run {event['run']}{detail}"
