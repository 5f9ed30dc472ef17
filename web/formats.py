"""Which extensions each type of import takes. What a file really is, the worker finds out."""

from __future__ import annotations

from models.states import ImportType
from web.errors import WebError

EXTENSIONS: dict[ImportType, tuple[str, ...]] = {
    ImportType.PAGE_IMPORT: (
        ".pdf",
        ".html",
        ".htm",
        ".xhtml",
        ".md",
        ".markdown",
        ".txt",
        ".text",
        ".log",
        ".csv",
        ".tsv",
        ".docx",
        ".docm",
        ".pptx",
        ".pptm",
        ".ppsx",
        ".xlsx",
        ".xlsm",
        ".xlsb",
        ".xls",
        ".ods",
        ".json",
        ".jsonl",
        ".eml",
        ".zip",
        ".png",
        ".jpg",
        ".jpeg",
        ".tif",
        ".tiff",
        ".webp",
        ".gif",
        ".bmp",
    ),
    ImportType.CODE2DES: (
        ".zip",
        ".tar",
        ".tgz",
        ".gz",
        ".py",
        ".pyi",
        ".pyw",
        ".java",
        ".js",
        ".jsx",
        ".mjs",
        ".cjs",
        ".ts",
        ".tsx",
        ".mts",
        ".cts",
        ".c",
        ".h",
        ".cc",
        ".cpp",
        ".cxx",
        ".hpp",
        ".hh",
        ".hxx",
        ".sql",
        ".ddl",
        ".cbl",
        ".cob",
        ".cpy",
        ".copy",
        ".pco",
        ".go",
        ".cs",
        ".rb",
        ".php",
        ".rs",
        ".kt",
        ".kts",
    ),
}


def import_type(text: str | None) -> ImportType:
    """Return the type that `text` names. Raises WebError("type_unsupported")."""
    try:
        return ImportType(text or "")
    except ValueError as error:
        raise WebError("type_unsupported", errors=[{"pointer": "/type"}]) from error


def check_extension(type: ImportType, file_name: str) -> None:
    """Refuse a declared extension that the type never takes; no extension is left to the worker."""
    dot = file_name.rfind(".")
    extension = file_name[dot:].lower() if 0 < dot < len(file_name) - 1 else ""
    if extension and extension not in EXTENSIONS[type]:
        raise WebError(
            "extension_unsupported", errors=[{"pointer": "/file_name", "extension": extension}]
        )
