"""JavaScript and JSX."""

from __future__ import annotations

from functools import lru_cache

from jobs.parsing.code2des import sweep
from jobs.parsing.code2des.ecmascript import EcmaScript
from jobs.parsing.code2des.ecmascript_imports import Resolver
from jobs.parsing.code2des.ecmascript_query import JAVASCRIPT, JSX, QUERY
from jobs.parsing.code2des.facts import FileFacts, SourceFile

__all__ = ["Resolver", "analyse", "grammars"]


@lru_cache(maxsize=1)
def _dialect() -> EcmaScript:
    return EcmaScript("tree_sitter_javascript", "language", QUERY + JAVASCRIPT + JSX)


def analyse(source: SourceFile) -> FileFacts:
    """Return the facts of one file. Raises ValueError when parsing takes too long."""
    return sweep.analyse(source, _dialect())


def grammars() -> dict[str, str]:
    """Return name and version of the grammar package."""
    return sweep.grammars(_dialect())
