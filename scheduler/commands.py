"""The operator's commands: `flask --app app NOUN VERB`. Data on stdout, logs on stderr.

Exit codes: 0 done, 1 it could not be done (one sentence says why), 2 wrong use.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import click

from models import children, database, explain, outbox, redrives, status, verdicts
from models.errors import Conflict, ModelsError, NotFound
from models.states import ImportType

P = ParamSpec("P")
R = TypeVar("R")


def _plainly(command: Callable[P, R]) -> Callable[P, R]:
    """Turn the room's errors into one sentence and exit code 1."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except NotFound as error:
            raise click.ClickException(f"no import has the ID {error}") from error
        except Conflict as error:
            raise click.ClickException(f"its state does not allow this: {error.code}") from error
        except ModelsError as error:
            raise click.ClickException(f"the database does not answer: {error}") from error

    return run


def _print(data: Any, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(data, ensure_ascii=False, default=str))
        return
    for name, value in data.items():
        if isinstance(value, list):
            click.echo(f"{name}:")
            for entry in value:
                click.echo(f"  {entry}")
        else:
            click.echo(f"{name}: {value}")


@click.group()
def db() -> None:
    """The database schema."""


@db.command()
@_plainly
def migrate() -> None:
    """Apply pending migrations under an advisory lock. Repeatable."""
    applied = database.migrate()
    click.echo(f"applied: {', '.join(applied)}" if applied else "nothing to apply")


@click.group()
def imports() -> None:
    """Single imports."""


@imports.command("explain")
@click.argument("import_id")
@click.option("--json", "as_json", is_flag=True)
@_plainly
def explain_import(import_id: str, as_json: bool) -> None:
    """Tell one import's whole story, and why it waits."""
    _print(explain.tell(import_id), as_json)


@imports.command()
@click.argument("import_id")
@click.option("--actor", default="operator", show_default=True, help="recorded in the history")
@_plainly
def redrive(import_id: str, actor: str) -> None:
    """Start a failed import anew: same ID, same message, one run more."""
    redrives.redrive(import_id, actor=actor)
    click.echo(f"redriven: {import_id}")


@imports.command()
@click.argument("import_id")
@click.option("--reason", required=True, help="shown to its owner")
@click.option("--yes", is_flag=True, help="do it without asking")
@_plainly
def fail(import_id: str, reason: str, yes: bool) -> None:
    """Give a live import up."""
    if not yes:
        click.confirm(f"Fail {import_id} for good?", abort=True)
    import_type = children.find_type(import_id)
    if not verdicts.fail(import_type, import_id, code="failed_by_operator", message=reason):
        raise Conflict("already_terminal")
    click.echo(f"failed: {import_id}")


@imports.command("resume-all")
@click.option("--dry-run", is_flag=True, help="only count")
@_plainly
def resume_all(dry_run: bool) -> None:
    """Begin a new run for everything in flight, after queue and workers died together."""
    found = [suspect for kind in ImportType for suspect in verdicts.in_flight_children(kind)]
    if not dry_run:
        for suspect in found:
            verdicts.start_new_run(suspect, reason="everything had died", for_a_person=True)
    click.echo(f"in flight: {len(found)}")


@click.group("outbox")
def outbox_group() -> None:
    """What still waits for SQS."""


@outbox_group.command("status")
@click.option("--json", "as_json", is_flag=True)
@_plainly
def outbox_status(as_json: bool) -> None:
    """Show pending, leased and oldest items, the breaker, and the last queue depths."""
    breaker = status.get("dispatch_breaker")
    summary = outbox.pending_summary()
    summary["breaker"] = breaker.data["state"] if breaker else "closed"
    for row in status.list_kind("queue"):
        summary[row.name] = row.data
    _print(summary, as_json)


GROUPS = (db, imports, outbox_group)
