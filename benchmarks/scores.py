"""The two parsers' own benchmarks as part of `all`: what they print is kept beside the table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.measure import Options, Row

ROOT = Path(__file__).resolve().parents[1]
_LIMIT_SECONDS = 300


def page_import(options: Options) -> list[Row]:
    """Score Page Import on the corpus of the tests."""
    corpus = ROOT / "tests" / "corpus" / "files"
    return _score(options, "page_import", str(corpus), "--repeat", "1" if options.quick else "3")


def code2des(options: Options) -> list[Row]:
    """Score Code2Des on the sources of the product itself."""
    return _score(options, "code2des", str(ROOT / "jobs"))


def _score(options: Options, name: str, *arguments: str) -> list[Row]:
    command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, timeout=_LIMIT_SECONDS, check=False
    )
    (options.out / f"{name}.txt").write_text(done.stdout, encoding="utf-8")
    print(done.stdout, flush=True)
    if not done.stdout:
        raise SystemExit(f"{name} printed nothing")
    return []
