"""Open the ZIP package of an Office file: its parts, their relationships, its properties.

Limits count the bytes really inflated, because declared sizes lie. A DTD is refused before the XML
is parsed. Elements are known by their local names only: strict files have other namespaces.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO
from urllib.parse import unquote

import lxml.etree

from jobs.parsing.cleaning import clean
from jobs.parsing.errors import ParseError
from jobs.parsing.page_import.document import Source
from jobs.parsing.page_import.sniffing import ZIP_DAMAGE

MAX_PARTS = 20_000
MAX_PART_BYTES = 64 * 1024 * 1024
MAX_RATIO = 200
_FREE_BYTES = 8 * 1024 * 1024
_CHUNK_BYTES = 256 * 1024
_DOCTYPES = tuple("<!DOCTYPE".encode(codec) for codec in ("ascii", "utf-16-le", "utf-16-be"))
_MAX_PROPERTY_CHARACTERS = 2_000


@dataclass(frozen=True)
class Relationship:
    """Where a part points to: `kind` is the last word of the type, `target` a part or a URL."""

    kind: str
    target: str
    is_external: bool


class Package:
    """An open package. Raises ParseError file_corrupt, archive_limits."""

    def __init__(self, source: Source) -> None:
        try:
            self._zip = source.closing.enter_context(zipfile.ZipFile(source.open()))
        except ZIP_DAMAGE as error:
            raise ParseError("file_corrupt", "The Office file is damaged.") from error
        infos = self._zip.infolist()
        if len(infos) > MAX_PARTS:
            raise ParseError("archive_limits", f"The file has more than {MAX_PARTS} parts.")
        self._infos = {_part_name(info.filename): info for info in infos}

    def __contains__(self, name: str) -> bool:
        return _part_name(name) in self._infos

    def chunks(self, name: str, max_bytes: int = MAX_PART_BYTES) -> Iterator[bytes]:
        """Yield the content of a part. Nothing when the part does not exist."""
        info = self._infos.get(_part_name(name))
        if info is None:
            return
        allowed = min(max_bytes, info.compress_size * MAX_RATIO + _FREE_BYTES)
        size = 0
        try:
            with self._zip.open(info) as stream:
                while chunk := stream.read(_CHUNK_BYTES):
                    size += len(chunk)
                    if size > allowed:
                        raise ParseError("archive_limits", "The file unpacks to more than allowed.")
                    yield chunk
        except ZIP_DAMAGE as error:
            raise ParseError("file_corrupt", f"The part {name} is damaged.") from error

    def read(self, name: str) -> bytes:
        """Return a part; empty when it does not exist."""
        return b"".join(self.chunks(name))

    def stream(self, name: str, max_bytes: int) -> BinaryIO:
        """Return a part as a stream that inflates as it is read."""
        return io.BufferedReader(_Chunks(self.chunks(name, max_bytes)), _CHUNK_BYTES)

    def xml(self, name: str) -> Any | None:
        """Return the root element of a part, or None when the part does not exist."""
        data = self.read(name)
        return parse_xml(data, name) if data else None

    def relationships(self, name: str) -> dict[str, Relationship]:
        """Return what a part points to, by identifier; the package itself has the name ''."""
        folder, base = posixpath.split(_part_name(name))
        root = self.xml(posixpath.join(folder, "_rels", f"{base}.rels"))
        found: dict[str, Relationship] = {}
        for element in () if root is None else children(root, "Relationship"):
            target, external = element.get("Target") or "", element.get("TargetMode") == "External"
            if not external:
                target = _part_name(posixpath.join("/", folder, unquote(target)))
            kind = (element.get("Type") or "").rpartition("/")[2]
            found[element.get("Id") or ""] = Relationship(kind, target, external)
        return found

    def target(self, name: str, kind: str) -> str | None:
        """Return the part of that kind that `name` points to."""
        related = self.relationships(name).values()
        return next((one.target for one in related if one.kind == kind), None)

    def properties(self) -> dict[str, str]:
        """Return the core properties, such as `title` and `creator`, where they have text."""
        part = self.target("", "core-properties") or "docprops/core.xml"
        root = self.xml(part)
        texts = {local(e): clean(e.text or "").strip() for e in (() if root is None else root)}
        return {name: text[:_MAX_PROPERTY_CHARACTERS] for name, text in texts.items() if text}


class _Chunks(io.RawIOBase):
    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._left = next(self._chunks, b"")
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


def parse_xml(data: bytes, name: str) -> Any:
    """Parse one part. Raises ParseError file_corrupt for a DTD, bad XML, 256 levels of nesting."""
    if any(mark in data for mark in _DOCTYPES):
        raise ParseError("file_corrupt", f"The part {name} has a DTD, which Office files never do.")
    parser = lxml.etree.XMLParser(
        resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        return lxml.etree.fromstring(data, parser)
    except (lxml.etree.XMLSyntaxError, ValueError) as error:
        raise ParseError(
            "file_corrupt", f"The part {name} is broken or nested too deeply."
        ) from error


def local(element: Any) -> str:
    """Return the name of an element without its namespace."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def children(element: Any, *names: str) -> Iterator[Any]:
    """Yield the children of those local names."""
    return (child for child in element if local(child) in names)


def child(element: Any, *path: str) -> Any | None:
    """Return the element down a path of local names, or None."""
    for name in path:
        element = next(children(element, name), None) if element is not None else None
    return element


def attribute(element: Any, name: str) -> str | None:
    """Return an attribute by its local name."""
    if element is None:
        return None
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return None


def value_of(element: Any, *path: str) -> str | None:
    """Return the `val` attribute of the element down a path of local names."""
    return attribute(child(element, *path), "val")


def number(text: str | None, default: int = 0) -> int:
    """Return a number written in at most nine digits, else `default`."""
    text = (text or "").strip()
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 10 else default


def _part_name(name: str) -> str:
    return posixpath.normpath(name.replace("\\", "/").lstrip("/")).lower() if name else ""
