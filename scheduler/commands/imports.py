"""`imports …`: one import explained or moved, many listed, what no row wants collected."""

from __future__ import annotations

from dataclasses import asdict

import click

from jobs.storage import Storage
from models import cancellations, children, explain, overview, redrives, verdicts
from models.errors import Conflict
from models.overview import Wanted
from models.states import ImportType, ItemState
from scheduler.commands.output import actor, as_json, limit, plainly, show
from scheduler.janitor import Janitor
from scheduler.settings import SchedulerSettings

TYPES = click.Choice([str(kind) for kind in ImportType])


@click.group()
def imports() -> None:
    """Single imports."""


@imports.command("explain")
@click.argument("import_id")
@as_json
@plainly
def explain_import(import_id: str, as_json: bool) -> None:
    """Tell one import's whole story, and why it waits."""
    show(explain.tell(import_id), as_json=as_json)


@imports.command("list")
@click.option("--state", type=click.Choice([str(state) for state in ItemState]))
@click.option("--type", "import_type", type=TYPES)
@click.option("--subject", help="the Cognito sub of its owner")
@click.option("--batch", "batch_id", help="the ID of its batch")
@click.option("--error", "error_code", help="the code it failed with")
@click.option("--cursor", help="next_cursor of the page before")
@limit
@as_json
@plainly
def list_imports(limit: int, cursor: str | None, as_json: bool, **wanted: str | None) -> None:
    """List imports of everybody, the newest first."""
    found, following = overview.list_imports(Wanted(**wanted), cursor=cursor, limit=limit)
    rows = [asdict(each) for each in found]
    show({"imports": rows, "next_cursor": following}, as_json=as_json)


@imports.command()
@click.argument("import_id")
@actor
@as_json
@plainly
def redrive(import_id: str, actor: str, as_json: bool) -> None:
    """Start a failed import anew: same ID, same message, one run more."""
    redrives.redrive(import_id, actor=actor)
    show({"redriven": import_id}, as_json=as_json)


@imports.command()
@click.argument("import_id")
@actor
@click.option("--yes", is_flag=True, help="do it without asking")
@as_json
@plainly
def cancel(import_id: str, actor: str, yes: bool, as_json: bool) -> None:
    """Cancel a live import for good."""
    if not yes:
        click.confirm(f"Cancel {import_id} for good?", abort=True, err=True)
    cancellations.cancel_any(import_id, actor=actor)
    show({"cancelled": import_id}, as_json=as_json)


@imports.command()
@click.argument("import_id")
@click.option("--reason", required=True, help="shown to its owner")
@actor
@click.option("--yes", is_flag=True, help="do it without asking")
@as_json
@plainly
def fail(import_id: str, reason: str, actor: str, yes: bool, as_json: bool) -> None:
    """Give a live import up."""
    if not yes:
        click.confirm(f"Fail {import_id} for good?", abort=True, err=True)
    import_type = children.find_type(import_id)
    given_up = verdicts.fail(
        import_type, import_id, code="failed_by_operator", message=reason, actor=actor
    )
    if not given_up:
        raise Conflict("already_terminal")
    show({"failed": import_id}, as_json=as_json)


@imports.command("resume-all")
@click.option("--dry-run", is_flag=True, help="only count")
@as_json
@plainly
def resume_all(dry_run: bool, as_json: bool) -> None:
    """Begin a new run for everything in flight, after queue and workers died together."""
    found = [suspect for kind in ImportType for suspect in verdicts.in_flight_children(kind)]
    if not dry_run:
        for suspect in found:
            verdicts.start_new_run(suspect, reason="everything had died", for_a_person=True)
    show({"in_flight": len(found)}, as_json=as_json)


@imports.command()
@click.option("--dry-run", is_flag=True, help="only list")
@click.option("--yes", is_flag=True, help="do it without asking")
@as_json
@plainly
def gc(dry_run: bool, yes: bool, as_json: bool) -> None:
    """Delete objects older than a day that no row wants, as the scheduler does bit by bit."""
    if not (dry_run or yes):
        click.confirm("Delete what no row wants?", abort=True, err=True)
    settings = SchedulerSettings()
    janitor = Janitor(Storage(settings), settings)
    orphans: list[str] = []
    after: str | None = ""
    while after is not None:
        found, after = janitor.find_orphans(after)
        if not dry_run:
            janitor.delete_orphans(found)
        orphans += found
    show({"deleted": not dry_run, "orphans": orphans}, as_json=as_json)
