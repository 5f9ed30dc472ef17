"""C."""

from __future__ import annotations

from jobs.parsing.code2des import sweep
from jobs.parsing.code2des.c_family import C_QUERY, CFamily
from jobs.parsing.code2des.c_imports import Resolver

__all__ = ["Resolver", "analyse", "grammars"]


analyse, grammars = sweep.reading(lambda: CFamily("tree_sitter_c", C_QUERY))
