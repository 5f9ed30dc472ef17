"""Score Code2Des on a source tree: `python -m benchmarks.code2des PATH [--ctags ctags]`.

Prints, per language, recall and precision of types, functions and imports against an oracle
(Python's `ast`, the TypeScript compiler where Node has it, `javac` where there is a JDK, Universal
Ctags for the rest), and the processor time of the
whole design against the bare tree-sitter parse of the same bytes in the same process.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

from benchmarks.code2des_facts import definitions, imports
from benchmarks.code2des_oracles import Oracle, oracles_for
from jobs.parsing import parse, preload
from jobs.parsing.code2des.languages import DISPLAY, language_of

_GRAMMARS = {
    "python": ("tree_sitter_python", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "go": ("tree_sitter_go", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "rust": ("tree_sitter_rust", "language"),
    "kotlin": ("tree_sitter_kotlin", "language"),
}


def main(arguments: list[str] | None = None) -> int:
    """Score a tree; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.code2des", description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--ctags", default="ctags", help="Universal Ctags to compare with")
    chosen = parser.parse_args(arguments)
    files = [p for p in sorted(chosen.path.rglob("*")) if p.is_file() and language_of(p.name)]
    preload("code2des")
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "tree.zip"
        size = _pack(chosen.path, files, archive)
        started = time.process_time()
        lines = list(_parse(archive))
        seconds = time.process_time() - started
    design = next(line["design"] for line in lines if "design" in line)
    parsed = {f["path"] for f in design["files"] if f["status"] != "skipped"}
    bare = _bare_parse(chosen.path, parsed)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"files {len(files)}, {size / 1e6:.2f} MB, {len(parsed)} described")
    print(f"whole design {seconds:.2f} s of processor, {size / 1e6 / seconds:.2f} MB/s")
    print(f"bare parse   {bare:.2f} s; design at {bare / seconds:.2f} of its speed")
    print(f"peak memory  {peak:.0f} MB")
    _score(chosen.path, parsed, design, chosen.ctags)
    return 0


def _pack(root: Path, files: list[Path], archive: Path) -> int:
    size = 0
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as out:
        for path in files:
            out.write(path, path.relative_to(root))
            size += path.stat().st_size
    return size


def _parse(archive: Path) -> Any:
    return parse(
        "code2des", archive, file_name="tree.zip", options={}, progress=lambda _done, _total: None
    )


def _bare_parse(root: Path, paths: set[str]) -> float:
    """Return the seconds that tree-sitter alone needs for the files that were described."""
    import importlib  # noqa: PLC0415 - only the grammars that the tree needs

    from tree_sitter import Language, Parser  # noqa: PLC0415

    parsers = {}
    contents = []
    for path in sorted(paths):
        grammar = _GRAMMARS.get(language_of(path) or "")
        if grammar is not None:
            if grammar not in parsers:
                module = importlib.import_module(grammar[0])
                parsers[grammar] = Parser(Language(getattr(module, grammar[1])()))
            contents.append((parsers[grammar], (root / path).read_bytes()))
    started = time.process_time()
    for parser, data in contents:
        parser.parse(data)
    return time.process_time() - started


def _score(root: Path, paths: set[str], design: dict[str, Any], ctags: str) -> None:
    languages = sorted({m["language"] for m in design["modules"]})
    print(f"{'language':<12}{'oracle':<12}{'kind':<11}{'truth':>7}{'recall':>8}{'precision':>11}")
    for language in languages:
        own = sorted(p for p in paths if language_of(p) == language)
        oracle: Oracle | None = oracles_for(language, ctags)
        if oracle is None:
            print(f"{DISPLAY[language]:<12}no oracle on this machine")
            continue
        truth = oracle.read(root, own)
        found = {**definitions(design, language), "imports": imports(root, own)}
        for kind, expected in truth.items():
            seen = found[kind]
            hit = sum((expected & seen).values())
            recall = hit / sum(expected.values()) if expected else 1.0
            precision = hit / sum(seen.values()) if seen else 1.0
            print(
                f"{DISPLAY[language]:<12}{oracle.name:<12}{kind:<11}{sum(expected.values()):>7}"
                f"{recall:>8.3f}{precision:>11.3f}"
            )
            for name, missing in list((expected - seen).items())[:5]:
                print(f"    missed {name} {missing}", file=sys.stderr)
            for name, extra in list((seen - expected).items())[:5]:
                print(f"    extra {name} {extra}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
