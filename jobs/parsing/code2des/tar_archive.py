"""Read the members of a .tar or .tar.gz in one pass; limits count bytes that come out of gzip.

Nothing is extracted, so `extractall` and its filters play no part: links, devices and sparse files
are skipped, unsafe names are skipped, and a bomb ends at the limit however it is packed.
"""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from jobs.parsing.cleaning import clean_name
from jobs.parsing.code2des.archive import (
    MAX_ENTRIES,
    MAX_MEMBER_BYTES,
    MAX_RATIO,
    MAX_TOTAL_BYTES,
    Member,
    name_refusal,
)
from jobs.parsing.errors import ParseError

_GZIP = b"\x1f\x8b"
_MAGIC = b"ustar"
_MAGIC_AT = 257
#: what tarfile and gzip raise for damaged input
_DAMAGE = (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, OverflowError)


def is_tar(path: Path) -> bool:
    """Say whether a file is a tar archive, plain or in gzip."""
    with path.open("rb") as stream:
        head = stream.read(_MAGIC_AT + len(_MAGIC))
    if not head.startswith(_GZIP):
        return head[_MAGIC_AT:] == _MAGIC
    try:
        with gzip.open(path) as inner:
            return inner.read(_MAGIC_AT + len(_MAGIC))[_MAGIC_AT:] == _MAGIC
    except _DAMAGE:
        return False


class _Counted:
    """A stream that ends the job when more comes out of it than allowed."""

    def __init__(self, stream: BinaryIO, allowed: int) -> None:
        self._stream = stream
        self._left = allowed

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes. Raises ParseError archive_limits."""
        found = self._stream.read(size)
        self._left -= len(found)
        if self._left < 0:
            raise ParseError("archive_limits", "The archive unpacks to more than allowed.")
        return found


class TarArchive:
    """An open tar with its limits. Raises ParseError archive_limits, file_corrupt."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as head:
            is_gzip = head.read(2) == _GZIP
        self._stream = gzip.open(path) if is_gzip else path.open("rb")  # noqa: SIM115 - see members
        allowed = MAX_TOTAL_BYTES
        if is_gzip:
            allowed = min(allowed, MAX_RATIO * path.stat().st_size + MAX_MEMBER_BYTES)
        counted = cast(BinaryIO, _Counted(cast(BinaryIO, self._stream), allowed))
        try:
            self._tar = tarfile.open(  # noqa: SIM115 - read to its end by members()
                fileobj=counted, mode="r|", encoding="utf-8", errors="surrogateescape"
            )
        except _DAMAGE as error:
            self._stream.close()
            raise ParseError("file_corrupt", "The tar archive is damaged.") from error

    def members(self) -> Iterator[Member]:
        """Yield every file once, in the order of the archive; read it before the next.

        The archive is closed at the end, also when the caller stops early.
        """
        try:
            yield from self._members()
        finally:
            self._stream.close()

    def _members(self) -> Iterator[Member]:
        seen: set[str] = set()
        count = 0
        while (info := self._next()) is not None:
            count += 1
            if count > MAX_ENTRIES:
                message = f"The archive has more than {MAX_ENTRIES} entries."
                raise ParseError("archive_limits", message)
            if info.isdir():
                continue
            raw = _name(info.name).removeprefix("./")
            path = clean_name(raw)
            refusal = name_refusal(raw) or _kind_refusal(info)
            refusal = refusal or ("duplicate_name" if path in seen else None)
            seen.add(path)
            yield Member(path, info.size, refusal, info)

    def _next(self) -> tarfile.TarInfo | None:
        try:
            return self._tar.next()
        except _DAMAGE as error:
            raise ParseError("file_corrupt", "The tar archive is damaged.") from error

    def read(self, member: Member) -> bytes | None:
        """Return the content, or None when it has more than MAX_MEMBER_BYTES.

        Raises ParseError archive_limits; ValueError when this member is damaged.
        """
        if member.size_bytes > MAX_MEMBER_BYTES:
            return None
        try:
            stream = self._tar.extractfile(cast(tarfile.TarInfo, member.info))
            return stream.read() if stream is not None else b""
        except _DAMAGE as bad:
            raise ValueError("damaged member") from bad


def _name(name: str) -> str:
    """Return a member's name: UTF-8, else CP932, as old Japanese archives have it."""
    raw = name.encode("utf-8", "surrogateescape")
    for codec in ("utf-8", "cp932", "euc_jp"):
        try:
            return raw.decode(codec)
        except UnicodeDecodeError:
            continue
    return raw.decode("utf-8", "replace")


def _kind_refusal(info: tarfile.TarInfo) -> str | None:
    if not info.isreg():
        return "link"
    return "damaged" if info.issparse() else None
