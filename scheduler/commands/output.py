"""What every command shares: data on stdout, a failure as one line on stderr.

The line is `error: CODE: what happened; next: what to do`, with `--json` an object of the same. The
exit code is 1 when it could not be done, 2 when the command was used wrongly. Never a stack trace:
`LOG_LEVEL=DEBUG` logs it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import IO, Any, ParamSpec, TypeVar

import click
import structlog
from pydantic import ValidationError

from jobs.errors import QueueUnavailable, StorageUnavailable
from jobs.logs import on_one_line
from models import database
from models.errors import Conflict, ModelsError, NotFound
from models.settings import DatabaseSettings

P = ParamSpec("P")
R = TypeVar("R")

DOCTOR = "run `flask --app app doctor`"
_ALLOWED = {
    "already_terminal": "nothing; `imports explain` tells how it ended",
    "not_failed": "nothing; only what has failed can begin anew",
    "source_expired": "have the file uploaded again",
    "cursor_invalid": "begin without --cursor",
    "state_changed": "look at it again with `imports explain`",
}

log = structlog.get_logger(__name__)

as_json = click.option("--json", "as_json", is_flag=True, help="one JSON object")
limit = click.option(
    "--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="lines at most"
)


class CommandError(click.ClickException):
    """A command could not do its work; it says what to do next."""

    def __init__(self, code: str, message: str, next_step: str) -> None:
        super().__init__(message)
        self.code = code
        self.next_step = next_step
        self.as_json = False

    def show(self, file: IO[Any] | None = None) -> None:
        """Write the one line."""
        told = {"code": self.code, "message": self.message, "next": self.next_step}
        line = f"{self.code}: {self.message}; next: {self.next_step}"
        click.echo(
            _json({"error": told}) if self.as_json else f"error: {on_one_line(line)}",
            file=file or sys.stderr,
        )


def plainly(command: Callable[P, R]) -> Callable[P, R]:
    """Turn every error into a CommandError."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except CommandError as error:
            error.as_json = bool(kwargs.get("as_json"))
            raise
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:  # the edge: an operator gets a line, the log gets the rest
            log.debug("command_failed", exc_info=True)
            told = explained(error)
            told.as_json = bool(kwargs.get("as_json"))
            raise told from error

    return run


def explained(error: Exception) -> CommandError:
    """Return what an operator is told about an error."""
    if isinstance(error, NotFound):
        return CommandError(
            "not_found", f"no import has the ID {error}", "find it with `imports list`"
        )
    if isinstance(error, Conflict):
        step = _ALLOWED.get(error.code, "look at it with `imports explain`")
        return CommandError(error.code, "its state does not allow this", step)
    if isinstance(error, ModelsError):
        try:
            DatabaseSettings()
        except ValidationError as unset:
            return explained(unset)
        return CommandError(error.code, f"the database does not answer ({error})", DOCTOR)
    if isinstance(error, QueueUnavailable):
        return CommandError(error.code, f"SQS does not answer ({error.reason})", DOCTOR)
    if isinstance(error, StorageUnavailable):
        return CommandError(error.code, f"S3 does not answer ({error})", DOCTOR)
    if isinstance(error, ValidationError):
        return CommandError("settings_invalid", settings_trouble(error), DOCTOR)
    if not _schema_is_current():
        return CommandError(
            "schema_outdated",
            "the schema is not that of this code",
            "run `flask --app app db migrate`",
        )
    return CommandError(
        "internal_error",
        f"{type(error).__name__}: {error}",
        "run it again with LOG_LEVEL=DEBUG and report what it logs",
    )


def settings_trouble(error: ValidationError) -> str:
    """Say which settings are wrong and how, without their values."""
    return ", ".join(
        f"{'_'.join(str(part) for part in problem['loc']).upper()} "
        + ("is missing" if problem["type"] == "missing" else f"is wrong ({problem['msg']})")
        for problem in error.errors(include_input=False, include_url=False, include_context=False)
    )


def _schema_is_current() -> bool:
    try:
        return database.schema_is_current()
    except Exception:  # the edge: the first error is the one to tell
        return True


def show(data: Mapping[str, Any], *, as_json: bool) -> None:
    """Write an object: as JSON, or a line a field with lists indented."""
    if as_json:
        click.echo(_json(data))
        return
    for name, value in data.items():
        if isinstance(value, list):
            click.echo(f"{name}:")
            for entry in value:
                click.echo(f"  {on_one_line(_words(entry))}")
        else:
            click.echo(f"{name}: {on_one_line(_words(value))}")


def _json(data: Mapping[str, Any]) -> str:
    """Return JSON that a terminal can show: what would move or turn it is escaped, as JSON may."""
    return on_one_line(json.dumps(data, ensure_ascii=False, default=str))


def _words(value: object) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name}={each}" for name, each in value.items() if each is not None)
    return "-" if value is None else str(value)


def actor(command: Callable[P, R]) -> Callable[P, R]:
    """Add `--as`: who is recorded in the history."""
    return click.option(
        "--as",
        "--actor",
        "actor",
        default="operator",
        show_default=True,
        callback=_fits,
        help="who; recorded in the history",
    )(command)


def _fits(_context: click.Context, _option: click.Parameter, value: str) -> str:
    if not 0 < len(value) <= 50 or not value.isprintable():
        raise click.BadParameter("1 to 50 printable characters")
    return value
