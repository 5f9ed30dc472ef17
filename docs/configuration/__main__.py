"""Write the table of all settings from their classes: `python -m docs.configuration`."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings

from jobs.settings import LogSettings, StorageSettings, WorkerSettings
from models.settings import DatabaseSettings
from scheduler.settings import SchedulerSettings
from web.settings import WebSettings

TARGET = Path(__file__).resolve().parents[1] / "configuration.md"

#: The settings classes of each process, as app.py, scheduler and worker compose them.
PROCESSES: dict[str, tuple[type[BaseSettings], ...]] = {
    "web": (WebSettings, LogSettings, StorageSettings, DatabaseSettings),
    "scheduler": (SchedulerSettings,),
    "worker": (WorkerSettings,),
    "release": (LogSettings, DatabaseSettings),
}

#: Variables that a setting does not read: who does, and what they mean.
OTHERS = {
    "PORT": ("Procfile, run.py", "8000", "The port of the web process."),
    "BIND_HOST": ("Procfile", "0.0.0.0", "The address that it listens on."),  # noqa: S104
    "WEB_CONCURRENCY": ("Procfile", "1", "Processes of gunicorn."),
    "WEB_THREADS": ("Procfile", "16", "Threads of each; an upload holds one."),
    "TORIKOMI_DATA": ("run.py", "./var", "The data directory of the embedded default."),
    "AWS_DEFAULT_REGION": ("boto3", "required", "The same as AWS_REGION."),
    "AWS_ACCESS_KEY_ID": ("boto3", "", "Empty where the machine has a role."),
    "AWS_SECRET_ACCESS_KEY": ("boto3", "", "Its secret."),
}

HEAD = """# Configuration

Every setting is an environment variable; what is empty counts as not set. A process refuses to
start without what it requires and says which; `flask --app app doctor` says more. `release` and the
operator's commands read what their part needs.

Written by `python -m docs.configuration` from the settings classes; a test compares.
"""


def main() -> int:
    """Write docs/configuration.md."""
    TARGET.write_text(render(), "utf-8")
    return 0


def render() -> str:
    """Return the document."""
    parts = [HEAD]
    for fragment in fragments():
        rows = [
            f"| `{name.upper()}` | {', '.join(readers(fragment, name))} | {default(field)} "
            f"| {meaning(fragment, name)} |"
            for name, field in own_fields(fragment).items()
        ]
        parts.append(_table(_title(fragment), "Read by", rows))
    rows = [
        f"| `{name}` | {who} | {f'`{value}`' if value not in ('', 'required') else value or '-'} "
        f"| {what} |"
        for name, (who, value, what) in OTHERS.items()
    ]
    parts.append(_table("What other programs read", "Read by", rows))
    return "\n".join(parts)


def _table(title: str, readers_title: str, rows: list[str]) -> str:
    head = f"| Variable | {readers_title} | Default | Meaning |\n|---|---|---|---|"
    return "\n".join([f"## {title}", "", head, *rows, ""])


def _title(fragment: type[BaseSettings]) -> str:
    return (fragment.__doc__ or "").strip().splitlines()[0].rstrip(".")


def fragments() -> list[type[BaseSettings]]:
    """Return every class that declares settings, the most general first."""
    found: dict[type[BaseSettings], None] = {}
    for classes in PROCESSES.values():
        for each in classes:
            for base in reversed(each.__mro__):
                if issubclass(base, BaseSettings) and own_fields(base):
                    found[base] = None
    return list(found)


def own_fields(fragment: type[BaseSettings]) -> dict[str, FieldInfo]:
    """Return the fields that a class declares itself."""
    own = fragment.__dict__.get("__annotations__", {})
    return {name: field for name, field in fragment.model_fields.items() if name in own}


def readers(fragment: type[BaseSettings], name: str) -> list[str]:
    """Return the processes whose settings have this field."""
    return [
        process
        for process, classes in PROCESSES.items()
        if any(issubclass(each, fragment) and name in each.model_fields for each in classes)
    ]


def default(field: FieldInfo) -> str:
    """Return the default as it is written in the environment."""
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "required"
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return f"`{int(value)}`"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"`{value}`"


def meaning(fragment: type[BaseSettings], name: str) -> str:
    """Return the `#:` comment above a field, as one sentence."""
    before: list[str] = []
    for line in inspect.getsource(fragment).splitlines():
        comment = re.match(r"\s*#: ?(.*)", line)
        if comment:
            before.append(comment[1].strip())
            continue
        if re.match(rf"\s*{name}\s*:", line):
            break
        before = []
    text = " ".join(before)
    text = text[:1].upper() + text[1:]
    return text if not text or text.endswith(".") else f"{text}."


if __name__ == "__main__":
    sys.exit(main())
