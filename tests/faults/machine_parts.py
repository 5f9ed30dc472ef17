"""The hands, works and results that the state machine moves about."""

import gzip
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, settings

from jobs.messages import canonical_json
from models import transitions
from models.outbox import Claimed
from models.states import ImportType
from tests.builders import result
from tests.faults.fakes import Message
from tests.faults.invariants import Row

CI = settings(
    max_examples=25,
    stateful_step_count=50,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
FAULTS = ("down", "reply_lost", "first_refused", "first_missing", "first_hopeless")
#: Rounds of everything after which a drained product has nothing left to do.
DRAIN_ROUNDS = 25


def machine_runs(row: Row) -> int:
    """How many runs machines started since a person last had a say."""
    events = [event["event"] for event in row.events]
    last = max((n for n, e in enumerate(events) if e in {"retried", "redriven"}), default=-1)
    return events[last + 1 :].count("new_run")


@dataclass
class Hand:
    """What one scheduler holds between its claim and its mark."""

    claims: list[Claimed] = field(default_factory=list)
    acknowledged: list[Claimed] = field(default_factory=list)
    sent: bool = False


@dataclass
class Work:
    """One worker's run of one delivery; it may speak again long after it should have ended."""

    message: Message
    type: ImportType
    child_id: str
    run: int


def finished(kind: ImportType, digest: str) -> transitions.ReportedResult:
    """What a worker made of a file."""
    if kind is ImportType.PAGE_IMPORT:
        return result(digest * 64)
    return transitions.ReportedResult(
        sha256=digest * 64,
        detected_type="text/x-python",
        page_count=None,
        document={},
        design={"schema": "code2des/1"},
        markdown={"ja": "設計", "en": "design"},
    )


def packed(kind: ImportType) -> bytes:
    """A result object as a worker stores it."""
    about = finished(kind, "d")
    lines: list[dict[str, Any]] = [{"document": {"type": kind, "detected_type": "text/plain"}}]
    if about.pages is not None:
        lines += [{"page": page} for page in about.pages]
    else:
        lines += [{"design": about.design}, {"markdown": about.markdown}]
    return gzip.compress(b"".join(canonical_json(line) + b"\n" for line in lines), mtime=0)


PACKED = {kind: packed(kind) for kind in ImportType}


def chosen(things: list[Any], number: int) -> Any:
    """Pick one of them by a number, or None when there is none."""
    return things[number % len(things)] if things else None


#: name of a deed → the strategies of its arguments
DEEDS: dict[str, dict[str, Any]] = {}
#: every name as often as its weight says
NAMES: list[str] = []


def deed(*, weight: int = 1, **strategies: Any) -> Any:
    """Declare something that can happen.

    One rule draws all deeds: Hypothesis turns some rules off in each example, and with thirty of
    them a message would hardly ever come from its claim to its result.
    """

    def declare(function: Any) -> Any:
        DEEDS[function.__name__] = strategies
        NAMES.extend([function.__name__] * weight)
        return function

    return declare
