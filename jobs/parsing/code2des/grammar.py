"""One grammar with our query: parse within a time, and ask only what the grammar knows.

A query that names a node which the installed grammar lacks is asked without that pattern, and the
file carries a warning, instead of failing every file of the language.
"""

from __future__ import annotations

import importlib
import re
import time
from functools import lru_cache
from importlib.metadata import version

from tree_sitter import Language, Node, Parser, Query, QueryCursor, QueryError, Tree

PARSE_SECONDS = 10.0
#: no file as small as this takes longer, whatever is in it
_SAFE_BYTES = 128 * 1024
_CHUNK_BYTES = 64 * 1024
_PATTERN = re.compile(r"\n\s*\n")


class Grammar:
    """A tree-sitter grammar of the wheel `package`; patterns of `query` stand apart by a line."""

    def __init__(self, package: str, query: str, function: str = "language") -> None:
        module = importlib.import_module(package)
        self.language = Language(getattr(module, function)())
        self.package = package.replace("_", "-")
        self.version = version(self.package)
        self.missing: list[str] = []
        self._query = self._compile(query)

    def _compile(self, query: str) -> Query:
        patterns = [pattern.strip() for pattern in _PATTERN.split(query) if pattern.strip()]
        try:
            return Query(self.language, "\n\n".join(patterns))
        except QueryError:
            known = [pattern for pattern in patterns if self._knows(pattern)]
            return Query(self.language, "\n\n".join(known))

    def _knows(self, pattern: str) -> bool:
        try:
            Query(self.language, pattern)
        except QueryError as error:
            self.missing.append(str(error).split("\n", 1)[0])
            return False
        return True

    def parse(self, data: bytes) -> Tree:
        """Parse UTF-8 text. Raises ValueError when it takes longer than PARSE_SECONDS.

        Only a parser that reads by callback can be stopped, but its nodes are slow to give their
        text, so a large file is first parsed that way and that tree is thrown away.
        """
        if len(data) > _SAFE_BYTES:
            end = time.process_time() + PARSE_SECONDS
            Parser(self.language).parse(
                lambda offset, _point: data[offset : offset + _CHUNK_BYTES],
                progress_callback=lambda _offset, _has_error: time.process_time() > end,
            )
        return Parser(self.language).parse(data)

    def captures(self, root: Node) -> dict[str, list[Node]]:
        """Return the nodes that the query names."""
        return QueryCursor(self._query).captures(root)


@lru_cache(maxsize=64)
def load_grammar(package: str, query: str, function: str = "language") -> Grammar:
    """Return the grammar, built once in a process."""
    return Grammar(package, query, function)


def errors_of(root: Node) -> tuple[int, int | None]:
    """Return the number of places that could not be parsed, and the line of the first."""
    count, first = 0, None
    stack = [root]
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            count += 1
            line = node.start_point[0] + 1
            first = min(line, first or line)
        elif node.has_error:
            stack.extend(node.children)
    return count, first
