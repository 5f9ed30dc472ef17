"""Choose what to analyse: from one file or an archive, with a reason for all that is left out."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from jobs.parsing.cleaning import clean, clean_name
from jobs.parsing.code2des.archive import MAX_MEMBER_BYTES, Archive, Member
from jobs.parsing.code2des.facts import SourceFile
from jobs.parsing.code2des.languages import MODULES, language_of
from jobs.parsing.code2des.tar_archive import TarArchive
from jobs.parsing.encodings import decode
from jobs.parsing.errors import ParseError

_VENDORED = frozenset(
    (
        *("node_modules", "vendor", "third_party", "site-packages", "dist", "build"),
        *(".git", "__pycache__", "__MACOSX", ".venv", "venv", ".tox", ".eggs"),
    )
)
_MANIFESTS = re.compile(
    r"(?:pyproject\.toml|requirements[\w.-]*\.txt|package\.json|composer\.json|Cargo\.toml|go\.mod"
    r"|(?:ts|js)config[\w.-]*\.json|pom\.xml|build\.gradle(?:\.kts)?|Gemfile|.*\.csproj)$"
)
_GENERATED = re.compile(r"@generated|DO NOT EDIT|自動生成")
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)
#: of ASCII all that `clean` changes
_CONTROLS = bytes({*range(0x20), 0x7F} - {*b"\t\n"})
_MAX_LINE_CHARACTERS = 20_000
_MAX_MEAN_LINE_CHARACTERS = 500
_BINARY_BYTES = 8192


@dataclass(frozen=True)
class Skipped:
    """A file that is only listed."""

    path: str
    language: str | None
    size_bytes: int
    reason: str


@dataclass
class Sources:
    """What an input holds."""

    root_kind: str
    files: list[SourceFile] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    manifests: dict[str, str] = field(default_factory=dict)
    warnings: list[dict[str, Any]] = field(default_factory=list)

    def skip(self, path: str, size_bytes: int, reason: str) -> None:
        """List a file without analysing it; what may surprise becomes a warning too."""
        self.skipped.append(Skipped(path, language_of(path), size_bytes, reason))
        if reason not in ("not_source", "vendored", "language_unsupported"):
            self.warnings.append({"code": reason, "path": path, "line": None, "detail": None})


def from_file(path: Path, file_name: str, forced: str | None) -> Sources:
    """Take one source file. Raises ParseError code_unsupported when it is none that we read."""
    name = clean_name(PurePosixPath(file_name.replace("\\", "/")).name) or "source"
    size = path.stat().st_size
    if size == 0:
        raise ParseError("file_empty", "The file has no bytes.")
    with path.open("rb") as stream:
        data = stream.read(MAX_MEMBER_BYTES + 1)
    language = language_of(name) or ("python" if _has_python_shebang(data) else None)
    if language is None or language not in MODULES:
        raise ParseError("code_unsupported", f"{name} is no source file of a known language.")
    sources = Sources("file")
    if len(data) > MAX_MEMBER_BYTES:
        raise ParseError("code_unsupported", "The file is larger than 1 MiB; no source was read.")
    _take(sources, name, language, data, forced)
    if not sources.files:
        reason = sources.skipped[0].reason
        raise ParseError("code_unsupported", f"The file was not read as source code: {reason}.")
    return sources


def from_archive(path: Path, forced: str | None, tick: Callable[[], None]) -> Sources:
    """Take the source files of a ZIP or tar. Raises ParseError code_unsupported without any."""
    is_zip = zipfile.is_zipfile(path)
    sources = Sources("zip" if is_zip else "tar")
    archive = Archive(path) if is_zip else TarArchive(path)
    folded: dict[str, str] = {}
    for member in archive.members():
        tick()
        reason = member.refusal or _uninteresting(member)
        if reason:
            sources.skip(member.path, member.size_bytes, reason)
            continue
        _check_case(sources, folded, member.path)
        _take_member(sources, archive, member, forced)
    if not sources.files:
        reasons = sorted({skipped.reason for skipped in sources.skipped})
        message = "The archive has no source file of a language that is read"
        raise ParseError("code_unsupported", f"{message} ({', '.join(reasons) or 'empty'}).")
    return sources


def _uninteresting(member: Member) -> str | None:
    *folders, name = member.path.split("/")
    if any(part in _VENDORED or part.endswith(".egg-info") for part in folders):
        return "vendored"
    if _MANIFESTS.match(name):
        return None
    language = language_of(member.path)
    if language is None:
        return "not_source"
    return None if language in MODULES else "language_unsupported"


def _check_case(sources: Sources, folded: dict[str, str], path: str) -> None:
    other = folded.setdefault(path.casefold(), path)
    if other != path:
        detail = f"differs only in case from {other}"
        warning = {"code": "case_conflict", "path": path, "line": None, "detail": detail}
        sources.warnings.append(warning)


def _take_member(
    sources: Sources, archive: Archive | TarArchive, member: Member, forced: str | None
) -> None:
    try:
        data = archive.read(member)
    except ValueError:
        sources.skip(member.path, member.size_bytes, "damaged")
        return
    language = language_of(member.path)
    if data is None:
        sources.skip(member.path, member.size_bytes, "too_large")
    elif language is None:
        sources.manifests[member.path] = clean(decode(data).text)
    else:
        _take(sources, member.path, language, data, forced)


def _take(sources: Sources, path: str, language: str, data: bytes, forced: str | None) -> None:
    declared = _CODING.search(b"\n".join(data[:1000].split(b"\n")[:2]))
    decoded = decode(
        data, forced=forced, declared=declared.group(1).decode("ascii") if declared else None
    )
    if b"\0" in data[:_BINARY_BYTES] and not decoded.encoding.startswith("utf-16"):
        sources.skip(path, len(data), "binary")
        return
    text = _cleaned(decoded.text)
    if reason := _unreadable(text):
        sources.skip(path, len(data), reason)
        return
    for warning in decoded.warnings:
        code, _, detail = warning.partition(": ")
        sources.warnings.append({"code": code, "path": path, "line": None, "detail": detail})
    source = SourceFile(
        path=path,
        language=language,
        text=text,
        encoding=decoded.encoding,
        newline="crlf" if "\r\n" in decoded.text else "cr" if "\r" in decoded.text else "lf",
        size_bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
    )
    sources.files.append(source)


def _cleaned(text: str) -> str:
    """Return the text without what nobody can use; most is plain ASCII and soon seen to be so."""
    text = text.replace("\f", "").replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and len(text.encode().translate(None, _CONTROLS)) == len(text):
        return text
    return clean(text)


def _unreadable(text: str) -> str | None:
    if len(text) > _MAX_LINE_CHARACTERS:
        lines = text.split("\n")
        is_long = max(map(len, lines)) > _MAX_LINE_CHARACTERS
        if is_long or len(text) / len(lines) > _MAX_MEAN_LINE_CHARACTERS:
            return "minified"
    head = "\n".join(text.split("\n", 5)[:5])
    return "generated" if _GENERATED.search(head) else None


def _has_python_shebang(data: bytes) -> bool:
    return data.startswith(b"#!") and b"python" in data.split(b"\n", 1)[0]
