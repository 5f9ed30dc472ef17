"""Turn the end of a parsing child into a verdict on the file. Pure; no processes here."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jobs.worker.errors import DiskTrouble
from jobs.worker.walls import Limits

#: What Rust, C++, glibc and Python say on stderr before they abort for want of memory.
_OUT_OF_MEMORY = ("memory allocation of", "bad_alloc", "MemoryError", "Out of memory")

_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")
_MESSAGE_CHARACTERS = 500


@dataclass(frozen=True)
class ParseFailure:
    """Why a file has no result: a stable code and one English sentence."""

    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a child ended: its own last word, its exit status, what it used, what it complained."""

    exit: int
    cpu_seconds: float
    peak_bytes: int
    verdict: Mapping[str, Any] | None
    complaint: str
    out_of_time: bool = False


def judge(ending: Ending, limits: Limits) -> ParseFailure | None:
    """Return None for a parsed file, else why it has no result. Raises DiskTrouble."""
    if ending.out_of_time:
        return ParseFailure("parse_timeout", "the parser ran longer than allowed")
    if ending.exit == 0 and ending.verdict is not None:
        return _own_word(ending.verdict)
    if ending.exit == -signal.SIGXCPU or ending.cpu_seconds >= limits.cpu_seconds:
        return ParseFailure("parse_timeout", "the parser used more processor time than allowed")
    if ending.exit == -signal.SIGXFSZ:
        return ParseFailure("output_limit", "the result is larger than allowed")
    hungry = ending.peak_bytes >= limits.memory_bytes // 2
    complained = any(words in ending.complaint for words in _OUT_OF_MEMORY)
    # A SIGKILL that was not ours is the kernel's, for want of memory.
    if hungry or complained or ending.exit == -signal.SIGKILL:
        return ParseFailure("parse_memory", "the parser needed more memory than allowed")
    return ParseFailure("parse_crashed", f"the parser ended with status {ending.exit}")


def _own_word(verdict: Mapping[str, Any]) -> ParseFailure | None:
    kind = verdict.get("verdict")
    if kind == "completed":
        return None
    if kind == "machine":
        raise DiskTrouble(_clean(str(verdict.get("message"))))
    if kind != "failed":
        return ParseFailure("parse_crashed", "the parser ended without a verdict")
    code = verdict.get("code")
    if not isinstance(code, str) or not _CODE.fullmatch(code):
        return ParseFailure("parse_crashed", "the parser gave a reason that is none")
    return ParseFailure(code, _clean(str(verdict.get("message"))))


def _clean(text: str) -> str:
    """Bound a text and take out what neither UTF-8 nor PostgreSQL can hold."""
    kept = text[:_MESSAGE_CHARACTERS].replace("\x00", "")
    return kept.encode("utf-8", errors="replace").decode("utf-8")
