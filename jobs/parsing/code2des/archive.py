"""Read the members of a ZIP as streams: nothing is extracted, limits count bytes really read.

zipfile renames `../x` to `x` and writes links as files when it extracts; here the raw name decides,
and what is unsafe is skipped with a warning. Names without the UTF-8 flag are read as UTF-8, then
as CP932, over all names at once.
"""

from __future__ import annotations

import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.parsing.cleaning import clean_name
from jobs.parsing.errors import ParseError

MAX_TOTAL_BYTES = 200 * 1024 * 1024
MAX_MEMBER_BYTES = 1024 * 1024
MAX_RATIO = 100
MAX_ENTRIES = 20_000
MAX_DEPTH = 32
MAX_PATH_BYTES = 512
_CHUNK_BYTES = 64 * 1024
#: what zipfile raises for members that lie about themselves
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
)
_UTF8_FLAG = 0x800
_ENCRYPTED_FLAG = 0x1
_NESTED = (".zip", ".jar", ".war", ".ear", ".whl", ".tar", ".tgz", ".gz", ".7z", ".rar", ".xz")


@dataclass(frozen=True)
class Member:
    """One member: its safe path, the size it claims, and why it must not be read (or None)."""

    path: str
    size_bytes: int
    refusal: str | None
    info: Any  # what the archive's own library calls a member


class Archive:
    """An open ZIP with its limits. Raises ParseError archive_limits, file_corrupt."""

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except _DAMAGE as error:
            raise ParseError("file_corrupt", "The ZIP archive is damaged.") from error
        infos = self._zip.infolist()
        if len(infos) > MAX_ENTRIES:
            raise ParseError("archive_limits", f"The archive has more than {MAX_ENTRIES} entries.")
        files = [info for info in infos if not info.is_dir()]
        if files and all(info.flag_bits & _ENCRYPTED_FLAG for info in files):
            raise ParseError("file_encrypted", "The archive is protected by a password.")
        self._allowed = min(MAX_TOTAL_BYTES, MAX_RATIO * path.stat().st_size + MAX_MEMBER_BYTES)
        self._read = 0
        self._codec = _name_codec(infos)
        self._files = files

    def members(self) -> Iterator[Member]:
        """Yield every file of the archive once, sorted by path; duplicates are refused."""
        found = sorted(
            ((_path(info, self._codec), index, info) for index, info in enumerate(self._files)),
            key=lambda entry: entry[:2],
        )
        seen: set[str] = set()
        for raw, _, info in found:
            path = clean_name(raw)
            refusal = _refusal(raw, info) or ("duplicate_name" if path in seen else None)
            seen.add(path)
            yield Member(path, info.file_size, refusal, info)

    def read(self, member: Member) -> bytes | None:
        """Return the content, or None when it has more than MAX_MEMBER_BYTES.

        Raises ParseError archive_limits; ValueError when this member is damaged.
        """
        chunks: list[bytes] = []
        size = 0
        try:
            with self._zip.open(member.info) as stream:
                while chunk := stream.read(_CHUNK_BYTES):
                    size += len(chunk)
                    self._count(len(chunk))
                    if size > MAX_MEMBER_BYTES:
                        return None
                    chunks.append(chunk)
        except _DAMAGE as bad:
            raise ValueError("damaged member") from bad
        return b"".join(chunks)

    def _count(self, size: int) -> None:
        self._read += size
        if self._read > self._allowed:
            raise ParseError("archive_limits", "The archive unpacks to more than allowed.")


def _name_codec(infos: list[zipfile.ZipInfo]) -> str:
    raw = [
        info.orig_filename.encode("cp437", "replace")
        for info in infos
        if not info.flag_bits & _UTF8_FLAG
    ]
    for codec in ("utf-8", "cp932"):
        try:
            b"\n".join(raw).decode(codec)
        except UnicodeDecodeError:
            continue
        return codec
    return "cp437"


def _path(info: zipfile.ZipInfo, codec: str) -> str:
    if info.flag_bits & _UTF8_FLAG:
        return info.orig_filename
    return info.orig_filename.encode("cp437", "replace").decode(codec, "replace")


def name_refusal(raw: str) -> str | None:
    """Return why a member of that name must not be read, whatever it is; None when it may."""
    parts = raw.split("/")
    unsafe = raw.startswith("/") or "\\" in raw or "\0" in raw or ".." in parts or raw[1:2] == ":"
    if unsafe:
        return "unsafe_path"
    if len(parts) > MAX_DEPTH or len(raw.encode("utf-8", "replace")) > MAX_PATH_BYTES:
        return "path_too_long"
    return "nested_archive" if raw.lower().endswith(_NESTED) else None


def _refusal(raw: str, info: zipfile.ZipInfo) -> str | None:
    refusal = name_refusal(raw)
    if refusal is not None and refusal != "nested_archive":
        return refusal
    mode = info.external_attr >> 16
    if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "link"
    if info.flag_bits & _ENCRYPTED_FLAG:
        return "encrypted"
    return refusal
