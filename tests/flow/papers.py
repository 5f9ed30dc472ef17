"""Documents for the flow tests: the corpus, and larger ones made of its pages."""

import io
from pathlib import Path

import pypdfium2 as pdfium

ROOT = Path(__file__).parents[2]
CORPUS = ROOT.parent / "shared" / "corpus"
OWN = ROOT / "tests" / "corpus" / "files"


def corpus_files() -> list[Path]:
    """The files of the shared corpus; its small copy when it is absent."""
    root = CORPUS if CORPUS.is_dir() else OWN
    found = [path for path in root.rglob("*") if path.is_file() and path.parent.name != "code"]
    return sorted(path for path in found if path.name not in {"MANIFEST.md", "LICENCES.md"})


def large_pdf(min_bytes: int) -> bytes:
    """A PDF of at least that size, made of the pages of the largest corpus PDF over and over."""
    source_path = max(
        (p for p in corpus_files() if p.suffix == ".pdf"), key=lambda path: path.stat().st_size
    )
    target = pdfium.PdfDocument.new()
    with pdfium.PdfDocument(source_path) as source:
        for _ in range(min_bytes // source_path.stat().st_size + 2):
            target.import_pages(source)
    buffer = io.BytesIO()
    target.save(buffer)
    target.close()
    content = buffer.getvalue()
    assert len(content) >= min_bytes
    return content
