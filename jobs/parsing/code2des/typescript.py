"""TypeScript and TSX: two grammars in one package."""

from __future__ import annotations

from functools import lru_cache

from jobs.parsing.code2des import sweep
from jobs.parsing.code2des.ecmascript import EcmaScript
from jobs.parsing.code2des.ecmascript_imports import Resolver
from jobs.parsing.code2des.ecmascript_query import JSX, QUERY, TYPESCRIPT
from jobs.parsing.code2des.facts import FileFacts, SourceFile

__all__ = ["Resolver", "analyse", "grammars"]


@lru_cache(maxsize=2)
def _dialect(function: str) -> EcmaScript:
    query = QUERY + TYPESCRIPT + (JSX if function == "language_tsx" else "")
    return EcmaScript("tree_sitter_typescript", function, query)


def analyse(source: SourceFile) -> FileFacts:
    """Return the facts of one file. Raises ValueError when parsing takes too long."""
    is_tsx = source.path.lower().endswith("x")
    return sweep.analyse(source, _dialect("language_tsx" if is_tsx else "language_typescript"))


def grammars() -> dict[str, str]:
    """Return name and version of the grammar package; builds both grammars."""
    sweep.grammars(_dialect("language_tsx"))
    return sweep.grammars(_dialect("language_typescript"))
