"""What `doctor` finds out about one part, and the facts that S3 and SQS tell about themselves."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any

#: AWS refuses signatures that are older; reports bear a third of it.
#: https://docs.aws.amazon.com/AmazonS3/latest/API/RESTAuthentication.html
MAX_SKEW_SECONDS = 300
SKEW_WARNING_SECONDS = 5


class Level(StrEnum):
    """How bad it is; only a problem makes `doctor` fail."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One finding; `next_step` says what to do unless it is ok."""

    part: str
    level: Level
    said: str
    next_step: str = ""


def ok(part: str, said: str) -> Finding:
    """Say that a part is as it should be."""
    return Finding(part=part, level=Level.OK, said=said)


def warning(part: str, said: str, next_step: str) -> Finding:
    """Say that something works but will not always."""
    return Finding(part=part, level=Level.WARNING, said=said, next_step=next_step)


def problem(part: str, said: str, next_step: str) -> Finding:
    """Say that something does not work."""
    return Finding(part=part, level=Level.PROBLEM, said=said, next_step=next_step)


def clock(part: str, offset_seconds: float | None) -> Finding:
    """Judge how far the clock of a part is from ours; it told its time to the second."""
    if offset_seconds is None:
        return ok(f"{part} clock", "it does not tell its time")
    away = abs(offset_seconds)
    said = f"{away:.0f} s away from this machine's"
    if away < SKEW_WARNING_SECONDS:
        return ok(f"{part} clock", said)
    step = "let NTP set the clocks of both machines"
    return (warning if away < MAX_SKEW_SECONDS else problem)(f"{part} clock", said, step)


def offset_of_answer(answer: Mapping[str, Any]) -> float | None:
    """Return the clock of an AWS answer's Date header minus ours, in seconds, or None."""
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return offset_of_date(headers.get("date"))


def offset_of_date(date: str | None) -> float | None:
    """Return a Date header's clock minus ours, in seconds, or None."""
    if not date:
        return None
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except ValueError:
        return None
