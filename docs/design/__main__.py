"""Write the design document of this project's own source: `python -m docs.design`."""

from __future__ import annotations

import sys
import tempfile
import zipfile
from pathlib import Path

from jobs.parsing import parse

ROOT = Path(__file__).resolve().parents[2]
#: rooms and files of the product; tests and tools are left out
SOURCES = ("app.py", "web", "models", "scheduler", "jobs", "migrations", "pyproject.toml")
SUFFIXES = (".py", ".sql", ".js", ".html", ".toml")


def main() -> int:
    """Describe the product and write `design.ja.md` and `design.en.md` beside this file."""
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "torikomi.zip"
        with zipfile.ZipFile(archive, "w") as out:
            for path in _files():
                out.write(path, path.relative_to(ROOT))
        lines = parse(
            "code2des",
            archive,
            file_name=archive.name,
            options={},
            progress=lambda _done, _total: None,
        )
        documents = next(line["markdown"] for line in lines if "markdown" in line)
    for language, text in documents.items():
        (Path(__file__).parent / f"design.{language}.md").write_text(text, "utf-8")
    return 0


def _files() -> list[Path]:
    found = []
    for name in SOURCES:
        path = ROOT / name
        found += [path] if path.is_file() else sorted(path.rglob("*"))
    return [path for path in found if path.is_file() and path.suffix in SUFFIXES]


if __name__ == "__main__":
    sys.exit(main())
