"""Write the parts of a design document: headings, tables, code, diagrams, in one language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from jobs.parsing.code2des.phrases import PHRASES

_SPECIAL = re.compile(r"([\\|`*<\[\]~]|(?<!\w)_|_(?!\w))")
_NOTHING = "–"


class Writer:
    """Collects the Markdown of one document; `language` is `ja` or `en`."""

    def __init__(self, language: str) -> None:
        self._column = ("ja", "en").index(language)
        self._parts: list[str] = []
        self.size = 0

    def say(self, key: str, **values: object) -> str:
        """Return a phrase in the language of the document."""
        return PHRASES[key][self._column].format(**values)

    def heading(self, level: int, text: str) -> None:
        """Write a heading."""
        self._add(f"{'#' * level} {text}")

    def paragraph(self, text: str) -> None:
        """Write a paragraph that is Markdown already."""
        self._add(text)

    def phrase(self, key: str, **values: object) -> None:
        """Write a phrase as a paragraph."""
        self._add(self.say(key, **values))

    def items(self, lines: Sequence[str]) -> None:
        """Write a bullet list."""
        if lines:
            self._add("\n".join(f"- {line}" for line in lines))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Write a table; `columns` are phrase keys, cells are Markdown already."""
        self.grid([self.say(column) for column in columns], rows)

    def grid(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Write a table; heads and cells are Markdown already."""
        head = "| " + " | ".join(heads) + " |"
        rule = "|" + " --- |" * len(heads)
        self._add("\n".join([head, rule, *("| " + " | ".join(row) + " |" for row in rows)]))

    def facts(self, rows: Sequence[tuple[str, str]]) -> None:
        """Write a two-column table of phrase key and value."""
        self.table(("item", "content"), [(self.say(key), value) for key, value in rows])

    def diagram(self, model: dict[str, Any], identifier: str) -> bool:
        """Write the diagram with that id, if the model has it."""
        for entry in model["diagrams"]:
            if entry["id"] != identifier:
                continue
            title = entry["title_ja"] if self._column == 0 else entry["title_en"]
            self._add(f"**{cell(title)}**")
            self._add(f"```mermaid\n{entry['mermaid']}\n```")
            if entry["omitted"]:
                self.phrase("diagram_omitted", count=entry["omitted"])
            return True
        return False

    def _add(self, part: str) -> None:
        self._parts.append(part)
        self.size += len(part)

    def text(self) -> str:
        """Return the document."""
        return "\n\n".join(self._parts) + "\n"


def cell(value: object) -> str:
    """Return a value as the text of a table cell; nothing becomes a dash."""
    text = "" if value is None else " ".join(str(value).split())
    return _SPECIAL.sub(r"\\\1", text) if text else _NOTHING


def code(value: str | None) -> str:
    """Return a value as code inside a table cell."""
    text = " ".join((value or "").split())
    if not text:
        return _NOTHING
    if "`" not in text:
        return f"`{text}`".replace("|", "\\|")
    longest = max(map(len, re.findall("`+", text)))
    ticks = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}".replace("|", "\\|")


def place(path: str, line: int | None = None) -> str:
    """Return a file, or a line in it, as code."""
    return code(f"{path}:{line}" if line else path)


def short(identifier: str) -> str:
    """Return the readable part of an identifier: what stands after its path."""
    name = identifier.partition("#")[2] or identifier.removeprefix("module:")
    return name.split("(")[0]
