"""Which pages of a document a caller wants: "1-3,8,20-"."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PageRange:
    """Page numbers from 1; an open end is None."""

    parts: tuple[tuple[int, int | None], ...]

    @classmethod
    def parse(cls, text: str) -> PageRange:
        """Read a range that the web has checked."""
        parts = []
        for part in text.split(","):
            first, dash, last = part.partition("-")
            parts.append((int(first), (int(last) if last else None) if dash else int(first)))
        return cls(tuple(parts))

    def __contains__(self, number: int) -> bool:
        return any(
            first <= number and (last is None or number <= last) for first, last in self.parts
        )

    def among(self, count: int) -> list[int]:
        """Return the wanted ones of `count` pages, in order."""
        return [number for number in range(1, count + 1) if number in self]


#: What a document without a range gives: all of it.
EVERY_PAGE = PageRange(((1, None),))
