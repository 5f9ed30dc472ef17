"""`db …` and `outbox …`: the schema, and what still waits for SQS."""

from __future__ import annotations

import click

from models import database, outbox, status
from scheduler.commands.output import as_json, plainly, show


@click.group()
def db() -> None:
    """The database schema."""


@db.command()
@as_json
@plainly
def migrate(as_json: bool) -> None:
    """Apply pending migrations under an advisory lock. Repeatable."""
    applied = database.migrate()
    if as_json:
        show({"applied": applied}, as_json=True)
    else:
        click.echo(f"applied: {', '.join(applied)}" if applied else "nothing to apply")


@click.group("outbox")
def outbox_group() -> None:
    """What still waits for SQS."""


@outbox_group.command("status")
@as_json
@plainly
def outbox_status(as_json: bool) -> None:
    """Show pending, leased and oldest items, the breaker, and the last queue depths."""
    breaker = status.get("dispatch_breaker")
    summary = outbox.pending_summary()
    summary["breaker"] = breaker.data["state"] if breaker else "closed"
    for row in status.list_kind("queue"):
        summary[row.name] = row.data
    show(summary, as_json=as_json)
