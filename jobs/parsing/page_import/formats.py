"""The registry of document formats: type found in the bytes → module that reads it.

Adding a format = one module with `read(source) -> Document`, one line here, its bytes in sniffing.
"""

from __future__ import annotations

from collections.abc import Mapping

_HERE = "jobs.parsing.page_import"

READERS: Mapping[str, str] = {
    "pdf": f"{_HERE}.pdf",
    "html": f"{_HERE}.html",
    "markdown": f"{_HERE}.markdown",
    "text": f"{_HERE}.text",
    "csv": f"{_HERE}.delimited",
    "tsv": f"{_HERE}.delimited",
    "docx": f"{_HERE}.docx",
    "pptx": f"{_HERE}.pptx",
    "xlsx": f"{_HERE}.spreadsheet",
    "xlsb": f"{_HERE}.spreadsheet",
    "xls": f"{_HERE}.spreadsheet",
    "ods": f"{_HERE}.spreadsheet",
    "json": f"{_HERE}.json_text",
    "eml": f"{_HERE}.mail",
    "zip": f"{_HERE}.zip_members",
    "png": f"{_HERE}.images",
    "jpeg": f"{_HERE}.images",
    "tiff": f"{_HERE}.images",
    "webp": f"{_HERE}.images",
    "gif": f"{_HERE}.images",
    "bmp": f"{_HERE}.images",
}

#: type → module that draws its pages: `page_count(source)`, `draw(source, numbers)`,
#: `scan(source, number, side)`
PAINTERS: Mapping[str, str] = {
    "pdf": f"{_HERE}.pdf_pictures",
    "png": f"{_HERE}.raster_pictures",
    "jpeg": f"{_HERE}.raster_pictures",
    "tiff": f"{_HERE}.raster_pictures",
    "webp": f"{_HERE}.raster_pictures",
    "gif": f"{_HERE}.raster_pictures",
    "bmp": f"{_HERE}.raster_pictures",
}

#: file name suffix → the type that a user means by it
SUFFIXES: Mapping[str, str] = {
    ".pdf": "pdf",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdx": "markdown",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "text",
    ".text": "text",
    ".log": "text",
    ".docx": "docx",
    ".docm": "docx",
    ".dotx": "docx",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".xltx": "xlsx",
    ".xlsb": "xlsb",
    ".pptx": "pptx",
    ".pptm": "pptx",
    ".ppsx": "pptx",
    ".doc": "doc",
    ".xls": "xls",
    ".ppt": "ppt",
    ".odt": "odt",
    ".ods": "ods",
    ".odp": "odp",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".geojson": "json",
    ".eml": "eml",
    ".zip": "zip",
    ".png": "png",
    ".jpg": "jpeg",
    ".jpeg": "jpeg",
    ".gif": "gif",
    ".tif": "tiff",
    ".tiff": "tiff",
    ".webp": "webp",
    ".bmp": "bmp",
    ".rtf": "rtf",
}

NAMES: Mapping[str, str] = {
    "pdf": "PDF",
    "html": "HTML",
    "markdown": "Markdown",
    "text": "plain text",
    "csv": "CSV",
    "tsv": "TSV",
    "docx": "Word (.docx)",
    "xlsx": "Excel (.xlsx)",
    "xlsb": "Excel (.xlsb)",
    "pptx": "PowerPoint (.pptx)",
    "doc": "Word 97-2003 (.doc)",
    "xls": "Excel 97-2003 (.xls)",
    "ppt": "PowerPoint 97-2003 (.ppt)",
    "ole": "an OLE compound file",
    "odt": "OpenDocument text",
    "ods": "OpenDocument spreadsheet",
    "odp": "OpenDocument presentation",
    "epub": "EPUB",
    "jar": "a Java archive",
    "zip": "a ZIP archive",
    "json": "JSON",
    "eml": "an e-mail message",
    "png": "a PNG image",
    "jpeg": "a JPEG image",
    "gif": "a GIF image",
    "tiff": "a TIFF image",
    "webp": "a WebP image",
    "bmp": "a BMP image",
    "heic": "a HEIC image",
    "rtf": "RTF",
    "postscript": "PostScript",
    "gzip": "a gzip archive",
    "7z": "a 7-Zip archive",
    "rar": "a RAR archive",
    "bzip2": "a bzip2 archive",
    "xz": "an XZ archive",
    "executable": "an executable program",
    "sqlite": "a SQLite database",
    "media": "audio or video",
    "binary": "unknown binary data",
}


def display_name(detected_type: str) -> str:
    """Return the name of a type to show in a message."""
    return NAMES.get(detected_type, detected_type)
