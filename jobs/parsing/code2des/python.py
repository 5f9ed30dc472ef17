"""Python: parse a file within its time, walk its tree, count its lines and errors."""

from __future__ import annotations

import time
from functools import lru_cache
from importlib.metadata import version

import tree_sitter_python
from tree_sitter import Language, Node, Parser

from jobs.parsing.code2des.facts import FileFacts, SourceFile
from jobs.parsing.code2des.python_imports import Resolver
from jobs.parsing.code2des.python_nodes import docstring
from jobs.parsing.code2des.python_tables import read_table
from jobs.parsing.code2des.python_walk import Walk

__all__ = ["Resolver", "analyse", "grammars"]

PARSE_SECONDS = 10.0
#: no file as small as this takes longer, whatever is in it
_SAFE_BYTES = 128 * 1024
_CHUNK_BYTES = 64 * 1024


@lru_cache(maxsize=1)
def _language() -> Language:
    return Language(tree_sitter_python.language())


@lru_cache(maxsize=1)
def grammars() -> dict[str, str]:
    """Return name and version of the grammar packages."""
    return {"tree-sitter-python": version("tree-sitter-python")}


def analyse(source: SourceFile) -> FileFacts:
    """Return the facts of one file. Raises ValueError when parsing takes too long."""
    data = source.text.encode("utf-8")
    if len(data) > _SAFE_BYTES:
        _rehearse(data)
    tree = Parser(_language()).parse(data)
    facts = FileFacts(source=source, doc=docstring(tree.root_node))
    _count_lines(facts)
    Walk(facts).run(tree.root_node)
    tables = map(read_table, facts.types)
    facts.tables.extend(table for table in tables if table is not None)
    _count_errors(facts, tree.root_node)
    return facts


def _rehearse(data: bytes) -> None:
    """Parse within PARSE_SECONDS or raise ValueError.

    Only a parser that reads by callback can be stopped, but its nodes are slow to give their text,
    so its tree is thrown away.
    """
    end = time.process_time() + PARSE_SECONDS
    Parser(_language()).parse(
        lambda offset, _point: data[offset : offset + _CHUNK_BYTES],
        progress_callback=lambda _offset, _has_error: time.process_time() > end,
    )


def _count_errors(facts: FileFacts, root: Node) -> None:
    stack = [root]
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            facts.error_nodes += 1
            line = node.start_point[0] + 1
            facts.error_line = min(line, facts.error_line or line)
        elif node.has_error:
            stack.extend(node.children)


def _count_lines(facts: FileFacts) -> None:
    for line in facts.source.text.split("\n"):
        stripped = line.strip()
        if stripped.startswith("#"):
            facts.comment_lines += 1
        elif stripped:
            facts.code_lines += 1
