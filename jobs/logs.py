"""Structured logs: one JSON object a line on stderr, whatever text is logged.

Call `configure()` once per process; bind identifiers with `structlog.contextvars`.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, Protocol

import structlog

#: Characters that end a line, move the cursor or turn text around in a terminal or viewer:
#: DEL and C1, line and paragraph separator, bidi controls, BOM, and surrogates (not UTF-8).
_HOSTILE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")

_CONTROLS = re.compile("[\x00-\x1f]")

#: Libraries that log requests, headers or whole messages below this level.
_QUIET = ("boto3", "botocore", "urllib3", "s3transfer", "httpx", "httpcore", "dramatiq")


class HowToLog(Protocol):
    """What `LogSettings` says; named here so that this file stands on nothing of ours."""

    @property
    def log_format(self) -> str: ...

    @property
    def log_level(self) -> str: ...


def configure(component: str, settings: HowToLog) -> None:
    """Send structlog and standard logging of this process to stderr, one object a line."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
        _component(component),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
    ]
    for_people = settings.log_format == "pretty" or (
        settings.log_format == "auto" and sys.stderr.isatty()
    )
    renderer = _render_pretty if for_people else _render_json
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    # Our own events go past standard logging: a third of the time for each of 10,000 a tick.
    structlog.configure(
        processors=[*shared, renderer],
        logger_factory=lambda *_: _Lines(handler),
        wrapper_class=structlog.make_filtering_bound_logger(root.level),
        cache_logger_on_first_use=False,
    )


class _Lines:
    """Writes finished lines where the handler does, never into the middle of one of its own.

    As in standard logging, a closed pipe or a full disk costs the line and not the work.
    """

    def __init__(self, handler: logging.StreamHandler[Any]) -> None:
        self._handler = handler

    def msg(self, line: str) -> None:
        """Write one line."""
        handler = self._handler
        handler.acquire()
        try:
            handler.stream.write(line + "\n")
            handler.flush()
        except (OSError, ValueError):  # ValueError: the stream is closed
            pass
        finally:
            handler.release()

    debug = info = warning = error = critical = msg


def _component(name: str) -> structlog.typing.Processor:
    def add(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event.setdefault("component", name)
        return event

    return add


def _escape(text: str) -> str:
    return _HOSTILE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _as_json(value: object) -> str:
    return _escape(json.dumps(value, ensure_ascii=False, default=str))


def on_one_line(text: str) -> str:
    """Return any text fit for a terminal: on one line, with nothing that moves or turns it."""
    return _CONTROLS.sub(lambda match: f"\\u{ord(match.group()):04x}", _escape(text))


def _render_json(_: object, __: str, event: Mapping[str, Any]) -> str:
    first = {key: event[key] for key in ("ts", "level", "event", "component") if key in event}
    return _as_json({**first, **event})


def _render_pretty(_: object, __: str, event: Mapping[str, Any]) -> str:
    rest = {k: v for k, v in event.items() if k not in ("ts", "level", "event", "component")}
    words = [
        str(event.get("ts", ""))[11:19],
        str(event.get("level", "")).ljust(7),
        str(event.get("component", "")).ljust(9),
        _as_json(str(event.get("event", "")))[1:-1],
        *(f"{key}={_as_json(value)}" for key, value in rest.items()),
    ]
    return " ".join(words)
