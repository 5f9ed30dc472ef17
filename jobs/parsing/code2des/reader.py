"""Describe one source file or an archive of a source tree: model and documents as result lines."""

from __future__ import annotations

import gc
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from jobs.parsing.budget import Budget
from jobs.parsing.cleaning import clean_name, clean_tree
from jobs.parsing.code2des.diagrams import draw_diagrams
from jobs.parsing.code2des.document import write_document
from jobs.parsing.code2des.facts import FileFacts
from jobs.parsing.code2des.grammar import TooDeep
from jobs.parsing.code2des.languages import MODULES, language_of, load
from jobs.parsing.code2des.model import build_model
from jobs.parsing.code2des.sources import Sources, from_archive, from_file
from jobs.parsing.code2des.tar_archive import is_tar
from jobs.parsing.errors import PARSER_VERSION, ParseError

#: sections of the model that hold slices of text which was cleaned when it was decoded
_SLICES = frozenset(
    ("files", "modules", "types", "functions", "relations", "hotspots", "cycles", "packages")
)
#: languages whose names come from columns of bytes or from unescaped strings
_REWRITTEN = frozenset({"cobol", "sql"})


def read(
    path: Path,
    *,
    file_name: str,
    options: Mapping[str, Any],
    progress: Callable[[int, int | None], None],
) -> Iterator[dict[str, Any]]:
    """Yield the document, the design, the Markdown, and each source text. Raises ParseError."""
    budget = Budget()
    forced = options.get("encoding")
    forced = forced if isinstance(forced, str) and forced else None
    if path.stat().st_size == 0:
        raise ParseError("file_empty", "The file has no bytes.")
    if language_of(file_name) is None and (zipfile.is_zipfile(path) or is_tar(path)):
        sources = from_archive(path, forced, budget.check)
    else:
        sources = from_file(path, file_name, forced)
    with _collector_at_rest():
        files = _analyse(sources, budget, progress)
        model = _cleaned(build_model(sources, files, _root_name(file_name)), files)
        budget.check()
        model["diagrams"] = draw_diagrams(model)
        budget.check()
        documents = {language: write_document(model, language) for language in ("ja", "en")}
        yield {"document": clean_tree(_head(sources, files, model))}
        yield {"design": model}
        yield {"markdown": clean_tree(documents)}
        for facts in sorted(files, key=lambda each: each.source.path):
            yield {"source": {"path": facts.source.path, "text": facts.source.text}}


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Keep the cyclic collector from walking a model that holds no cycles, until it is taken."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.freeze()  # and back among the old, or enabling walks all that is new at once
            gc.unfreeze()
            gc.enable()


def _cleaned(model: dict[str, Any], files: list[FileFacts]) -> dict[str, Any]:
    """Return the model without what PostgreSQL refuses, looking only where it could be."""
    all_over = any(facts.source.language in _REWRITTEN for facts in files)
    return {
        name: section if name in _SLICES and not all_over else clean_tree(section)
        for name, section in model.items()
    }


def _analyse(
    sources: Sources, budget: Budget, progress: Callable[[int, int | None], None]
) -> list[FileFacts]:
    """Analyse every file; one that cannot be analysed becomes a warning."""
    found: list[FileFacts] = []
    total = len(sources.files)
    for done, source in enumerate(sources.files, start=1):
        try:
            found.append(load(source.language).analyse(source))
        except TooDeep:
            sources.skip(source.path, source.size_bytes, "too_deep")
        except (ValueError, RecursionError):
            sources.skip(source.path, source.size_bytes, "parse_timeout")
        progress(done, total)
        budget.check()
    if not found:
        raise ParseError("parse_timeout", "No source file could be parsed in time.")
    return found


def _head(sources: Sources, files: list[FileFacts], model: dict[str, Any]) -> dict[str, Any]:
    is_single = sources.root_kind == "file"
    return {
        "schema": 1,
        "type": "code2des",
        "parser_version": PARSER_VERSION,
        "detected_type": files[0].source.language if is_single else sources.root_kind,
        "page_count": None,
        "title": model["project"]["name"],
        "author": None,
        "encoding": files[0].source.encoding if is_single else None,
        "language": None,
        "outline": [],
        "warnings": [_warning(entry) for entry in model["warnings"][:200]],
    }


def _warning(entry: dict[str, Any]) -> str:
    place = entry["path"] + (f":{entry['line']}" if entry["line"] else "")
    return f"{entry['code']}: {place}" + (f" ({entry['detail']})" if entry["detail"] else "")


def _root_name(file_name: str) -> str:
    name = clean_name(PurePosixPath(file_name.replace("\\", "/")).name)
    stem = PurePosixPath(name).stem
    return stem.removesuffix(".tar") or "source"


def preload() -> None:
    """Import every language and build its parser once."""
    for language in MODULES:
        load(language).grammars()
