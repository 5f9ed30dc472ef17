"""One grammar with our query: parse within a time, and ask only what the grammar knows.

A query that names a node which the installed grammar lacks is asked without that pattern, and the
file carries a warning, instead of failing every file of the language.
"""

from __future__ import annotations

import importlib
import itertools
import re
import time
from functools import lru_cache
from importlib.metadata import version

from tree_sitter import Language, Node, Parser, Query, QueryCursor, QueryError, Tree

PARSE_SECONDS = 5.0
#: no file as small as this takes longer, whatever is in it
_SAFE_BYTES = 32 * 1024
_CHUNK_BYTES = 64 * 1024
#: the parser asks thousands of times a second; the clock of the process is slow to read
_LOOKS = 16
#: no written source comes near it
MAX_DEPTH = 2_000
MAX_TOKENS = 8_000
_PROBES = 256
#: a level takes a byte or more, so what nests deeply spans more than this
_PROBE_BYTES = 1024
_PATTERN = re.compile(r"\n\s*\n")


class TooDeep(ValueError):
    """A source nests more deeply than can be asked in time."""


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
        text. Parsing again with the first tree at hand costs a twentieth and binds it to `data`.
        """
        parser = Parser(self.language)
        if len(data) <= _SAFE_BYTES:
            return parser.parse(data)
        end = time.process_time() + PARSE_SECONDS
        asked = itertools.count()
        first = parser.parse(
            lambda offset, _point: data[offset : offset + _CHUNK_BYTES],
            progress_callback=lambda _offset, _has_error: (
                next(asked) % _LOOKS == 0 and time.process_time() > end
            ),
        )
        return parser.parse(data, first)

    def captures(self, root: Node) -> dict[str, list[Node]]:
        """Return the nodes that the query names. Raises TooDeep."""
        if _is_too_deep(root):
            raise TooDeep("the source nests too deeply")
        return QueryCursor(self._query).captures(root)


def _is_too_deep(root: Node) -> bool:
    """Say whether the tree nests so deeply that a query would cost the square of it.

    The binding offers no way to stop a query that is safe, so depth is probed at places that stand
    close enough together to hit every region that could matter.
    """
    size = root.end_byte
    if root.descendant_count < MAX_DEPTH:
        return False
    for offset in range(0, size, max(size // _PROBES, _PROBE_BYTES)):
        cursor = root.walk()
        depth = 0
        while cursor.goto_first_child_for_byte(offset) is not None:
            depth += 1
            if depth > MAX_DEPTH:
                return True
        if cursor.goto_parent() and cursor.node is not None and _is_rubble(cursor.node):
            return True
    return _is_rubble(root)


def _is_rubble(node: Node) -> bool:
    """Say whether a node holds very many unnamed tokens side by side: as slow as depth."""
    tokens = node.child_count - node.named_child_count
    return tokens > MAX_TOKENS and tokens > 2 * node.named_child_count


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
