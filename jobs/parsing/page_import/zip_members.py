"""ZIP: each member is a section, read as the document it is; nothing is extracted to disk.

Limits count bytes really inflated. Archives inside are not opened. A member that cannot be read is
a warning. Names without the UTF-8 flag are read as UTF-8, then as CP932, as Windows in Japan
writes them.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from jobs.parsing.cleaning import clean_name
from jobs.parsing.errors import ParseError
from jobs.parsing.page_import.dispatch import open_document
from jobs.parsing.page_import.document import Document, Heading, Page, Source
from jobs.parsing.page_import.markup import heading
from jobs.parsing.page_import.sniffing import ZIP_DAMAGE, detect

MAX_MEMBERS = 1_000
MAX_ENTRIES = 20_000
MAX_MEMBER_BYTES = 64 * 1024 * 1024
MAX_TOTAL_BYTES = 128 * 1024 * 1024
MAX_RATIO = 200
_FREE_BYTES = 8 * 1024 * 1024
_CHUNK_BYTES = 256 * 1024
_UTF8_FLAG, _ENCRYPTED_FLAG = 0x800, 0x1
_IGNORED = ("__MACOSX/", ".DS_Store", "Thumbs.db", "desktop.ini")


@dataclass(frozen=True)
class _Member:
    path: str
    document: Document
    warnings: tuple[str, ...]


def read(source: Source) -> Document:
    """Return the pages of all members. Raises ParseError archive_limits, file_corrupt, …"""
    members, warnings = [], []
    for path, data in _contents(source):
        if isinstance(data, str):
            warnings.append(f"member_skipped: {path}: {data}.")
            continue
        try:
            members.append(_open(source, path, data))
        except ParseError as error:
            if error.code in ("parse_timeout", "parse_memory"):
                raise
            warnings.append(f"member_skipped: {path}: {error.code}.")
    if not members:
        raise ParseError("no_pages", "The archive holds no document that can be read.")
    return Document(
        page_count=sum(member.document.page_count for member in members),
        pages=_pages(members),
        language=next((m.document.language for m in members if m.document.language), None),
        outline=list(_outline(members)),
        warnings=warnings,
    )


def _open(source: Source, path: str, data: bytes) -> _Member:
    if not data:
        raise ParseError("file_empty", "The member has no bytes.")
    if detect(data, path).type in ("zip", "jar"):
        raise ParseError("archive_limits", "Archives inside archives are not opened.")
    found, document = open_document(
        data,
        PurePosixPath(path).name,
        # a range counts the pages of the whole archive
        options={name: value for name, value in source.options.items() if name != "pages"},
        budget=source.budget,
        closing=source.closing,
    )
    return _Member(path, document, found.warnings)


def _contents(source: Source) -> Iterator[tuple[str, bytes | str]]:
    """Yield the path of each file with its bytes, or with the reason why it is skipped."""
    try:
        archive = source.closing.enter_context(zipfile.ZipFile(source.open()))
    except ZIP_DAMAGE as error:
        raise ParseError("file_corrupt", "The ZIP archive is damaged.") from error
    if len(archive.infolist()) > MAX_ENTRIES:
        raise ParseError("archive_limits", f"The archive has more than {MAX_ENTRIES} entries.")
    infos = [info for info in archive.infolist() if not info.is_dir()]
    if infos and all(info.flag_bits & _ENCRYPTED_FLAG for info in infos):
        raise ParseError("file_encrypted", "The archive is protected by a password.")
    codec = _name_codec(infos)
    named = sorted(((clean_name(_name(info, codec)), info) for info in infos), key=lambda n: n[0])
    named = [(path, info) for path, info in named if not _is_ignored(path)]
    if len(named) > MAX_MEMBERS:
        raise ParseError("archive_limits", f"The archive has more than {MAX_MEMBERS} files.")
    left = MAX_TOTAL_BYTES
    for path, info in named:
        source.budget.check()
        if info.flag_bits & _ENCRYPTED_FLAG:
            yield path, "file_encrypted"
            continue
        data = _inflate(archive, info, left)
        left -= len(data or b"")
        yield path, "file_corrupt" if data is None else data


def _inflate(archive: zipfile.ZipFile, info: zipfile.ZipInfo, left: int) -> bytes | None:
    allowed = min(left, MAX_MEMBER_BYTES, info.compress_size * MAX_RATIO + _FREE_BYTES)
    chunks, size = [], 0
    try:
        with archive.open(info) as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                size += len(chunk)
                if size > allowed:
                    raise ParseError("archive_limits", "The archive unpacks to more than allowed.")
                chunks.append(chunk)
    except ZIP_DAMAGE:
        return None
    return b"".join(chunks)


def _name_codec(infos: list[zipfile.ZipInfo]) -> str:
    raw = [_raw_name(info) for info in infos if not info.flag_bits & _UTF8_FLAG]
    for codec in ("utf-8", "cp932"):
        with suppress(UnicodeDecodeError):
            b"\n".join(raw).decode(codec)
            return codec
    return "cp437"


def _raw_name(info: zipfile.ZipInfo) -> bytes:
    return info.orig_filename.encode("cp437", "replace")


def _name(info: zipfile.ZipInfo, codec: str) -> str:
    is_unicode = info.flag_bits & _UTF8_FLAG
    name = info.orig_filename if is_unicode else _raw_name(info).decode(codec, "replace")
    return name.replace("\\", "/")


def _is_ignored(path: str) -> bool:
    return path.startswith(_IGNORED[0]) or PurePosixPath(path).name in _IGNORED[1:]


def _pages(members: list[_Member]) -> Iterator[Page]:
    number = 0
    for member in members:
        for index, page in enumerate(member.document.pages):
            number += 1
            if index:
                yield replace(page, number=number)
                continue
            yield replace(
                page,
                number=number,
                text=f"{member.path}\n{page.text}",
                markdown=f"{heading(1, member.path)}\n\n{page.markdown}",
                warnings=[*member.warnings, *member.document.warnings, *page.warnings],
            )


def _outline(members: list[_Member]) -> Iterator[Heading]:
    before = 0
    for member in members:
        yield Heading(title=member.path, level=1, page=before + 1)
        for entry in member.document.outline:
            page = None if entry.page is None else entry.page + before
            yield Heading(title=entry.title, level=entry.level + 1, page=page)
        before += member.document.page_count
