"""The command: every check, one line a finding, exit code 1 when one is a problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict

import click
import structlog
from pydantic_settings import BaseSettings

from jobs.findings import Finding, Level, problem
from jobs.logs import on_one_line
from jobs.settings import QueueSettings, StorageSettings, WorkerSettings
from scheduler.commands.output import as_json, explained, plainly, show
from scheduler.doctor import aws, database, machine, settings
from scheduler.settings import SchedulerSettings

Check = Callable[[], Iterator[Finding]]

log = structlog.get_logger(__name__)


def doctor_command(web_settings: type[BaseSettings], sign_in: Check) -> click.Command:
    """Build the command; the web room gives its settings and its check of Cognito."""
    classes: dict[str, type[BaseSettings]] = {
        "web": web_settings,
        "scheduler": SchedulerSettings,
        "worker": WorkerSettings,
    }

    @click.command("doctor")
    @click.option(
        "--process",
        "processes",
        multiple=True,
        type=click.Choice(list(classes)),
        help="only for it",
    )
    @click.option("--write", is_flag=True, help="also store, read and delete an object")
    @as_json
    @plainly
    def doctor(processes: Sequence[str], write: bool, as_json: bool) -> None:
        """Check settings, rights, reachability, clocks, versions, and say what to do."""
        chosen = {name: classes[name] for name in processes or classes}
        found = list(_examine(chosen, sign_in, write=write))
        _print(found, as_json=as_json)
        if any(finding.level is Level.PROBLEM for finding in found):
            raise click.exceptions.Exit(1)

    return doctor


def _examine(
    chosen: Mapping[str, type[BaseSettings]], sign_in: Check, *, write: bool
) -> Iterator[Finding]:
    yield from _guarded("settings", lambda: settings.check(chosen))
    yield from _guarded("versions", machine.check_versions)
    worker = settings.read(WorkerSettings) if "worker" in chosen else None
    directory = worker.worker_temp_dir if worker is not None else None
    yield from _guarded("disk", lambda: machine.check_disk(directory))
    if {"web", "scheduler"} & set(chosen):
        yield from _guarded("database", database.check)
    yield from _guarded("bucket", lambda: aws.check_bucket(StorageSettings(), write=write))
    if {"scheduler", "worker"} & set(chosen):
        dead = "scheduler" in chosen
        yield from _guarded(
            "queues", lambda: aws.check_queues(QueueSettings(), worker, dead_letters=dead)
        )
    if "web" in chosen:
        yield from _guarded("sign-in", sign_in)
    if worker is not None:
        yield from _guarded("web", lambda: machine.check_web(worker))


def _guarded(part: str, check: Check) -> Iterator[Finding]:
    """Let a check that fails itself be one more finding."""
    try:
        yield from check()
    except Exception as error:  # the edge: the other checks must still be made
        log.debug("check_failed", part=part, exc_info=True)
        told = explained(error)
        yield problem(part, f"{told.code}: {told.message}", told.next_step)


def _print(found: Sequence[Finding], *, as_json: bool) -> None:
    problems = sum(finding.level is Level.PROBLEM for finding in found)
    if as_json:
        show({"problems": problems, "findings": [asdict(each) for each in found]}, as_json=True)
        return
    for finding in found:
        step = f"; next: {finding.next_step}" if finding.next_step else ""
        click.echo(on_one_line(f"{finding.level:<8}{finding.part}: {finding.said}{step}"))
    click.echo(f"{problems} problems in {len(found)} findings")
