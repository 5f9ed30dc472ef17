"""Python: parse a file within its time, walk its tree, count its lines and errors."""

from __future__ import annotations

from jobs.parsing.code2des.facts import FileFacts, SourceFile
from jobs.parsing.code2des.grammar import errors_of, load_grammar
from jobs.parsing.code2des.python_imports import Resolver
from jobs.parsing.code2des.python_nodes import docstring
from jobs.parsing.code2des.python_tables import read_table
from jobs.parsing.code2des.python_walk import QUERY, Walk

__all__ = ["Resolver", "analyse", "grammars"]


def grammars() -> dict[str, str]:
    """Return name and version of the grammar package; builds parser and query."""
    grammar = load_grammar("tree_sitter_python", QUERY)
    return {grammar.package: grammar.version}


def analyse(source: SourceFile) -> FileFacts:
    """Return the facts of one file. Raises ValueError when parsing takes too long."""
    tree = load_grammar("tree_sitter_python", QUERY).parse(source.text.encode("utf-8"))
    facts = FileFacts(source=source, doc=docstring(tree.root_node))
    _count_lines(facts)
    Walk(facts).run(tree.root_node)
    tables = map(read_table, facts.types)
    facts.tables.extend(table for table in tables if table is not None)
    facts.error_nodes, facts.error_line = errors_of(tree.root_node)
    return facts


def _count_lines(facts: FileFacts) -> None:
    lines = [line for line in map(str.strip, facts.source.text.split("\n")) if line]
    facts.comment_lines = sum(line[0] == "#" for line in lines)
    facts.code_lines = len(lines) - facts.comment_lines
