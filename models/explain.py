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
    """Return where the import is (`place`), why it waits or how it ended, and its history.

    Asks for no subject: for operators only. Raises NotFound.
    """
    import_type = find_type(child_id)
    with connection():
        row = fetch(
            f"""SELECT {CHILD_COLUMNS}, '{import_type}' AS type,
                       i.lease_until >= clock_timestamp() AS leased,
                       extract(epoch FROM clock_timestamp() - c.last_report_at) AS report_age
                FROM {import_type} c JOIN batch_item i ON i.job_id = c.id WHERE c.id = %s""",
            (child_id,),
        )[0]
        history = fetch(
            """SELECT created_at, component, updated_by, event, from_status, to_status, detail, run
               FROM job_event WHERE child_id = %s ORDER BY created_at, id""",
            (child_id,),
        )
    place, why = _place(row, history)
    shown = ("batch_id", "file_name", "size_bytes", "run", "dispatch_attempts", "dispatched_at")
    return {
        "import_id": child_id,
        "type": str(import_type),
        "status": row["status"],
        "place": place,
        "why": why,
        **{name: row[name] for name in shown},
        "error": f"{row['error_code']}: {row['error_message']}" if row["error_message"] else None,
        "history": [_line(event) for event in history],
    }


#: Where an import that has ended is, and what that means.
_ENDED = {
    ItemState.FAILED: ("failed", "it failed; redrive it when the cause is gone"),
    ItemState.CANCELLED: ("cancelled", "a person cancelled it"),
    ItemState.COMPLETED: ("completed", "it is done"),
}
_DEAD = "its message was dead-lettered again and again; redrive it when the cause is gone"


def _place(row: dict[str, Any], history: list[dict[str, Any]]) -> tuple[str, str]:
    """Return where the import is, in one stable word, and why, in a sentence."""
    if row["status"] == ItemState.FAILED and row["error_code"] == "dead_lettered":
        return "dead_lettered", _DEAD
    if row["status"] in _ENDED:
        return _ENDED[row["status"]]
    if row["status"] == ItemState.PROCESSING:
        return _place_of_started(float(row["report_age"]), row["type"])
    place, why = _place_of_queued(row)
    return place, _why_again(history) + why


def _place_of_queued(row: dict[str, Any]) -> tuple[str, str]:
    if row["dispatched_at"] is not None:
        dead = _dead_letters(row["type"])
        return "in_sqs", f"its message is in SQS and no worker has started it yet{dead}"
    breaker = status.get("dispatch_breaker")
    if breaker is not None and breaker.data["state"] != "closed":
        reason = breaker.data["reason"]
        return "breaker_open", f"SQS does not answer ({reason}); dispatch goes on when it does"
    if row["leased"]:
        return "leased", f"attempt {row['dispatch_attempts']} of its dispatch is under way"
    return "waiting_for_dispatch", "it waits for the next dispatch"


def _place_of_started(report_age_seconds: float, import_type: str) -> tuple[str, str]:
    if report_age_seconds <= SILENT_SECONDS:
        return "processing", f"a worker has it; its last report came {report_age_seconds:.0f} s ago"
    return "waiting_for_redelivery", (
        f"no worker has reported for {report_age_seconds:.0f} s: it waits for SQS to deliver its "
        f"message again, or for the stall sweep to start a new run{_dead_letters(import_type)}"
    )


def _dead_letters(import_type: str) -> str:
    """Say that the message may be a dead letter, if the last look at the DLQ saw some."""
    sample = status.get(f"queue:{import_type}")
    dead = sample.data.get("dead", 0) if sample else 0
    if not dead:
        return ""
    return f"; or it is among the {dead} dead letters, which the scheduler settles within a minute"


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
