"""The three sentences that every code has in every language."""

from __future__ import annotations

from typing import NamedTuple


class Text(NamedTuple):
    """What happened, why it can happen, and what to do next."""

    title: str
    cause: str
    next_step: str
