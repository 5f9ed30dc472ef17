"""JavaScript and JSX."""

from __future__ import annotations

from jobs.parsing.code2des import sweep
from jobs.parsing.code2des.ecmascript import EcmaScript
from jobs.parsing.code2des.ecmascript_imports import Resolver
from jobs.parsing.code2des.ecmascript_query import JAVASCRIPT, JSX, QUERY

__all__ = ["Resolver", "analyse", "grammars"]


analyse, grammars = sweep.reading(
    lambda: EcmaScript("tree_sitter_javascript", "language", QUERY + JAVASCRIPT + JSX)
)
