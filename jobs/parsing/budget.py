"""A soft limit on processor time, checked between pieces of work.

The sandbox kills a parser at its hard limit without a word; this one ends it a little earlier, at a
point where the reason can still be told.
"""

from __future__ import annotations

import time

from jobs.parsing.errors import ParseError

CPU_SECONDS = 270.0


class Budget:
    """Processor seconds of this process that one file may use from now on."""

    def __init__(self, cpu_seconds: float = CPU_SECONDS) -> None:
        self._end = time.process_time() + cpu_seconds

    def check(self) -> None:
        """Raise ParseError `parse_timeout` when the time is used up."""
        if time.process_time() > self._end:
            raise ParseError("parse_timeout", "Parsing took longer than allowed.")
