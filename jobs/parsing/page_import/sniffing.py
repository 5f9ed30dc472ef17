"""Find the type of a file in its bytes, then check it against its name.

Magic numbers first, ZIP member names and OLE stream names next, text last. A `%PDF-` mark counts
anywhere in the first 1,024 bytes, where viewers accept it too.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePath

from jobs.parsing.encodings import decode
from jobs.parsing.errors import ParseError
from jobs.parsing.page_import.document import open_content
from jobs.parsing.page_import.formats import SUFFIXES, display_name

_HEAD_BYTES = 65_536
_OLE_SCAN_BYTES = 4 * 1024 * 1024
_OLE_DIRECTORY_BYTES = 64 * 1024
_PDF_WINDOW_BYTES = 1024
_MAGIC: tuple[tuple[bytes, int, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", 0, "png"),
    (b"\xff\xd8\xff", 0, "jpeg"),
    (b"BM", 0, "bmp"),
    (b"GIF87a", 0, "gif"),
    (b"GIF89a", 0, "gif"),
    (b"II*\0", 0, "tiff"),
    (b"MM\0*", 0, "tiff"),
    (b"WEBP", 8, "webp"),
    (b"ftypheic", 4, "heic"),
    (b"ftyp", 4, "media"),
    (b"{\\rtf", 0, "rtf"),
    (b"%!PS", 0, "postscript"),
    (b"\x1f\x8b", 0, "gzip"),
    (b"7z\xbc\xaf\x27\x1c", 0, "7z"),
    (b"Rar!\x1a\x07", 0, "rar"),
    (b"BZh", 0, "bzip2"),
    (b"\xfd7zXZ\0", 0, "xz"),
    (b"\x7fELF", 0, "executable"),
    (b"SQLite format 3\0", 0, "sqlite"),
    (b"ID3", 0, "media"),
    (b"OggS", 0, "media"),
)
#: marks of two or three letters, which may also begin a text
_NEEDS_BINARY = frozenset({"bzip2", "bmp"})
_ZIP_MEMBERS = (
    ("word/", "docx"),
    ("ppt/", "pptx"),
    ("xl/workbook.bin", "xlsb"),
    ("xl/", "xlsx"),
    ("META-INF/MANIFEST.MF", "jar"),
)
ZIP_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
)
_ODF = {b"text": "odt", b"spreadsheet": "ods", b"presentation": "odp"}
_OLE_STREAMS = (
    ("EncryptedPackage", "encrypted"),
    ("WordDocument", "doc"),
    ("Workbook", "xls"),
    ("Book", "xls"),
    ("PowerPoint Document", "ppt"),
)
_HTML = re.compile(
    r"\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_MAIL = re.compile(
    r"(?:From |(?:Return-Path|Received|Delivered-To|MIME-Version|Message-ID):)[^\n]*\n"
    r"(?:[ \t][^\n]*\n|[!-9;-~]+:[^\n]*\n)*\s*\n?"
)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd]")
_TEXTUAL = frozenset({"text", "markdown", "csv", "tsv", "html", "json", "eml"})


@dataclass(frozen=True)
class Detected:
    """The type to read the file as, with what is wrong with its name."""

    type: str
    warnings: tuple[str, ...] = ()


def detect(content: Path | bytes, file_name: str) -> Detected:
    """Return the type of the file that `content` is or names.

    Raises ParseError: file_empty, file_encrypted, or file_corrupt when the bytes are neither what
    the name says nor anything else known.
    """
    with open_content(content) as stream:
        head = stream.read(_HEAD_BYTES)
    if not head:
        raise ParseError("file_empty", "The file has no bytes.")
    named = SUFFIXES.get(PurePath(file_name).suffix.lower())
    found = _by_magic(content, head) or _by_text(head, named)
    if found == "binary" and named is not None:
        return _refuse_binary(named)
    if named is None or found == named or {found, named} <= {"csv", "tsv"}:
        return Detected(found)
    if found in _TEXTUAL and named in ("text", "markdown", "csv", "tsv") and found != "html":
        return Detected(named)
    return Detected(
        found,
        (
            f"type_mismatch: named as {display_name(named)}, "
            f"but the content is {display_name(found)}.",
        ),
    )


def _refuse_binary(named: str) -> Detected:
    if named in _TEXTUAL:
        raise ParseError(
            "encoding_unknown", f"The file is named as {display_name(named)} but is no text."
        )
    raise ParseError(
        "file_corrupt", f"The file is named as {display_name(named)} but its content is not."
    )


def _by_magic(content: Path | bytes, head: bytes) -> str | None:
    if b"%PDF-" in head[: _PDF_WINDOW_BYTES + 5]:
        return "pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return _zip_type(content)
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return _ole_type(content)
    for magic, offset, name in _MAGIC:
        if head.startswith(magic, offset) and (name not in _NEEDS_BINARY or b"\0" in head):
            return name
    is_program = head.startswith(b"MZ") and b"\0" in head[:256]
    return "executable" if is_program else None


def _zip_type(content: Path | bytes) -> str:
    try:
        with open_content(content) as stream, zipfile.ZipFile(stream) as archive:
            names = archive.namelist()
            declared = archive.read("mimetype")[:200] if _small(archive, "mimetype") else b""
    except ZIP_DAMAGE as error:
        raise ParseError("file_corrupt", "The ZIP container is damaged.") from error
    if declared == b"application/epub+zip":
        return "epub"
    if declared.startswith(b"application/vnd.oasis.opendocument."):
        return _ODF.get(declared.rsplit(b".", 1)[1].split(b"-")[0], "zip")
    for prefix, name in _ZIP_MEMBERS:
        if any(member.startswith(prefix) for member in names):
            return name
    return "zip"


def _small(archive: zipfile.ZipFile, member: str) -> bool:
    return member in archive.namelist() and archive.getinfo(member).file_size <= 200


def _ole_type(content: Path | bytes) -> str:
    with open_content(content) as stream:
        data = stream.read(_OLE_SCAN_BYTES)
        # large workbooks of LibreOffice have their directory at the end
        sector_bytes = 1 << min(int.from_bytes(data[30:32], "little"), 12)
        stream.seek((int.from_bytes(data[48:52], "little") + 1) * sector_bytes)
        data += stream.read(_OLE_DIRECTORY_BYTES)
    for stream_name, name in _OLE_STREAMS:
        if stream_name.encode("utf-16-le") + b"\0\0" in data:
            if name == "encrypted":
                raise ParseError("file_encrypted", "The Office file is protected by a password.")
            return name
    return "ole"


def _by_text(head: bytes, named: str | None) -> str:
    whole = len(head) < _HEAD_BYTES
    text = decode(head if whole else _up_to_line_end(head)).text
    if len(_CONTROL.findall(text)) * 50 > len(text):
        return "binary"
    if named in ("markdown", "json", "eml", "csv", "tsv", "html"):
        return named
    if _HTML.match(text):
        return "html"
    if named not in ("text", "csv", "tsv") and _MAIL.match(text) and "\nSubject:" in text:
        return "eml"
    return _tabular(text) if named not in (None, "text") else "text"


def _up_to_line_end(head: bytes) -> bytes:
    """Cut a sample where no encoding has half a character, as far as one can tell."""
    cut = max(head.rfind(b"\n"), head.rfind(b">"))
    return head[: cut - cut % 4] if b"\0" in head else head[: cut + 1] or head


def _tabular(text: str) -> str:
    lines = [line for line in text.splitlines()[:20] if line.strip()]
    for mark, name in (("\t", "tsv"), (",", "csv")):
        counts = {line.count(mark) for line in lines}
        if len(lines) >= 2 and len(counts) == 1 and counts != {0}:
            return name
    return "text"
