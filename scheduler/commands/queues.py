"""`queue …` and `dlq …`: what SQS holds, and what it gave up on."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import click

from jobs.queue import DEAD_VISIBILITY_SECONDS, DeadLetter, QueueClient
from jobs.settings import QueueSettings
from jobs.storage import Storage
from models import explain, overview, redrives, verdicts
from models.errors import Conflict, NotFound
from models.overview import Wanted
from models.states import ImportType
from scheduler.commands.imports import TYPES
from scheduler.commands.output import actor, as_json, limit, plainly, show
from scheduler.deadletters import LEFT, DeadLetters
from scheduler.settings import SchedulerSettings

#: A letter that was only looked at is hidden from the scheduler's drain for this long.
PEEK_SECONDS = 5


@click.group("queue")
def queue_group() -> None:
    """The queues, as SQS sees them now."""


@queue_group.command("status")
@as_json
@plainly
def queue_status(as_json: bool) -> None:
    """Show how many messages wait, are held, are delayed and are dead, of each queue."""
    queue = QueueClient(QueueSettings())
    told: dict[str, Any] = {
        str(kind): {
            **asdict(queue.depths(kind)),
            "longest_wait_seconds": verdicts.observed_wait(kind),
        }
        for kind in ImportType
    }
    show(told, as_json=as_json)


@click.group("dlq")
def dead_letter_group() -> None:
    """The dead-letter queues; the scheduler drains them by itself."""


@dead_letter_group.command("list")
@click.option("--type", "import_type", type=TYPES, help="of one queue only")
@limit
@as_json
@plainly
def list_dead(import_type: str | None, limit: int, as_json: bool) -> None:
    """List what lies in the dead-letter queues. Takes nothing out."""
    queue = QueueClient(QueueSettings())
    kinds = [ImportType(import_type)] if import_type else list(ImportType)
    letters = [_told(kind, each) for kind in kinds for each in _peek(queue, kind, limit)]
    show({"dead_letters": letters}, as_json=as_json)


def _peek(queue: QueueClient, kind: ImportType, limit: int) -> list[DeadLetter]:
    found: dict[str, DeadLetter] = {}
    while len(found) < limit:
        wanted = min(10, limit - len(found))
        letters = queue.receive_dead(kind, wanted, visibility_seconds=PEEK_SECONDS)
        if not any(letter.body not in found for letter in letters):
            break
        found |= {letter.body: letter for letter in letters}
    return list(found.values())


def _told(kind: ImportType, letter: DeadLetter) -> dict[str, Any]:
    sent = letter.sent_at and datetime.fromtimestamp(letter.sent_at, UTC)
    told = {"queue": str(kind), "import_id": letter.import_id, "sent_at": sent}
    if letter.message is None or letter.message.type != kind:
        step = "it stays: its message is not one of this version's"
        return {**told, "status": "unknown", "next": step}
    try:
        story = explain.tell(letter.message.import_id)
    except NotFound:
        return {**told, "status": "unknown", "next": "it stays: no row has this ID"}
    return {**told, "status": story["status"], "next": "`dlq redrive`, or wait for the scheduler"}


@dead_letter_group.command("redrive")
@click.option("--type", "import_type", type=TYPES, help="of one queue only")
@click.option("--dry-run", is_flag=True, help="only count")
@click.option("--yes", is_flag=True, help="do it without asking")
@actor
@limit
@as_json
@plainly
def redrive_dead(
    import_type: str | None, dry_run: bool, yes: bool, actor: str, limit: int, as_json: bool
) -> None:
    """Settle the dead letters, then start anew what failed as `dead_lettered`.

    A letter is deleted only after PostgreSQL holds its verdict: the stored result, a new run, or
    failed. What no row knows stays. Run it again for more than about ten thousand.
    """
    kinds = [ImportType(import_type)] if import_type else list(ImportType)
    wanted = Wanted(state="failed", import_type=import_type, error_code="dead_lettered")
    if dry_run:
        queue = QueueClient(QueueSettings())
        failed, _ = overview.list_imports(wanted, cursor=None, limit=limit)
        dead = sum(queue.depths(kind).dead for kind in kinds)
        show({"dead_letters": dead, "failed": [each.id for each in failed]}, as_json=as_json)
        return
    if not yes:
        click.confirm("Start dead-lettered imports anew?", abort=True, err=True)
    verdict = _drain(kinds)
    failed, _ = overview.list_imports(wanted, cursor=None, limit=limit)
    outcome = {each.id: _redrive(each.id, actor) for each in failed}
    show(
        {
            "settled": sum(count for word, count in verdict.items() if word != LEFT),
            "left": verdict[LEFT],
            "redriven": [child_id for child_id, code in outcome.items() if code is None],
            "refused": [f"{child_id} {code}" for child_id, code in outcome.items() if code],
        },
        as_json=as_json,
    )


def _drain(kinds: list[ImportType]) -> Counter[str]:
    settings = SchedulerSettings()
    dead = DeadLetters(QueueClient(settings), Storage(settings))
    verdict: Counter[str] = Counter()
    for kind in kinds:
        # Within one visibility time-out no letter that is left comes twice.
        until = time.monotonic() + DEAD_VISIBILITY_SECONDS - 10
        while time.monotonic() < until and (some := dead.settle_some(kind)):
            verdict.update(some)
    return verdict


def _redrive(child_id: str, actor: str) -> str | None:
    """Start one import anew; returns why not, or None."""
    try:
        redrives.redrive(child_id, actor=actor)
    except Conflict as error:
        return error.code
    return None
