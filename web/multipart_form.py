"""multipart/form-data as a stream: fields first, then the files, one after the other.

A thin layer over the `multipart` package's push parser in strict mode
(https://multipart.readthedocs.io/). No part is ever spooled or dropped: what is on the wire is
either handed out or refused with its own code.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import multipart

from web.body import READ_BYTES, RequestBody
from web.errors import WebError
from web.names import clean_name, extended_name

MAX_FIELDS = 16
MAX_FIELD_BYTES = 8 * 1024
#: The one field that grows with the number of files: what is wished for each of them.
ITEMS_FIELD = "items"
MAX_ITEMS_BYTES = 512 * 1024


@dataclass(frozen=True)
class IncomingFile:
    """One file on the wire; `stream` must be read to its end before the next file."""

    file_name: str
    content_type: str
    stream: Any  # a Readable: part of a multipart body, or the body itself


class MultipartForm:
    """Reads one form. Call `fields()` once, then iterate `files()`."""

    def __init__(self, body: RequestBody, content_type: str, *, max_files: int) -> None:
        kind, options = multipart.parse_options_header(content_type)
        if kind != "multipart/form-data" or not options.get("boundary"):
            raise WebError("multipart_malformed")
        self._body = body
        self._max_files = max_files
        self._events: deque[Any] = deque()  # segments, bytes, None: what the parser yields
        self._segment: Any = None  # the part whose body comes next; the package has no types
        self._end = b"\r\n--" + options["boundary"].encode("utf-8", "surrogateescape") + b"--"
        self._tail = b""
        try:
            self._parser = multipart.PushMultipartParser(
                options["boundary"], max_segment_count=max_files + MAX_FIELDS, strict=True
            )
        except multipart.MultipartError as error:
            raise WebError("multipart_malformed") from error

    def fields(
        self, allowed: Collection[str], check: Callable[[str, str], None] | None = None
    ) -> dict[str, str]:
        """Read the fields in front of the first file.

        `check` sees each as it comes and may refuse the request before more is read.
        """
        found: dict[str, str] = {}
        while (segment := self._next_segment()) is not None:
            if _file_name(segment) is not None:
                self._segment = segment
                return found
            if segment.name not in allowed:
                raise WebError("field_unknown", errors=[{"pointer": f"/{segment.name[:64]}"}])
            if segment.name in found:
                raise WebError("field_invalid", errors=[{"pointer": f"/{segment.name}"}])
            found[segment.name] = self._text(
                MAX_ITEMS_BYTES if segment.name == ITEMS_FIELD else MAX_FIELD_BYTES
            )
            if check is not None:
                check(segment.name, found[segment.name])
        return found

    def files(self, field: str) -> Iterator[IncomingFile]:
        """Yield every file; raises WebError for anything that is not one of `field`'s files."""
        count = 0
        segment = self._segment
        while segment is not None:
            raw_name = _file_name(segment)
            if raw_name is None:
                raise WebError("field_order", errors=[{"pointer": f"/{segment.name[:64]}"}])
            if segment.name != field:
                raise WebError("field_unknown", errors=[{"pointer": f"/{segment.name[:64]}"}])
            if raw_name == "":
                raise WebError("file_missing")
            count += 1
            if count > self._max_files:
                raise WebError("too_many_files")
            part = _Part(self)
            content_type = segment.header("Content-Type", "") or "application/octet-stream"
            yield IncomingFile(clean_name(raw_name), content_type, part)
            if not part.ended:
                raise RuntimeError("each file is read to its end before the next")
            segment = self._next_segment()

    def _text(self, limit_bytes: int) -> str:
        data = bytearray()
        while (event := self._next_event()) is not None:
            data += event
            if len(data) > limit_bytes:
                raise WebError("field_invalid")
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise WebError("field_invalid") from error

    def _next_segment(self) -> Any:
        return self._next_event(at_end_ok=True)

    def _next_event(self, *, at_end_ok: bool = False) -> Any:
        """Return the next parser event; at the end of the whole form None when that is fine."""
        while not self._events:
            chunk = self._body.read(READ_BYTES)
            try:
                if not chunk:
                    self._parser.close()
                    return None
                for piece in self._split_at_end(chunk):
                    self._events.extend(self._parser.parse(piece))
            except multipart.MultipartError as error:
                if at_end_ok and _is_blank_epilogue(error, chunk):
                    continue
                raise _refusal(error, at_end=not chunk) from error
        return self._events.popleft()

    def _split_at_end(self, chunk: bytes) -> Iterator[bytes]:
        """Cut behind the last boundary, so that the parser sees what follows and refuses it.

        Within one piece it would pass over that in silence, parts and all.
        """
        joined = self._tail + chunk
        found = joined.find(self._end)
        cut = found + len(self._end) - len(self._tail) if found >= 0 else len(chunk)
        self._tail = joined[1 - len(self._end) :]
        yield chunk[:cut]
        if chunk[cut:].strip(b"\r\n"):
            yield chunk[cut:]


class _Part:
    """The bytes of one file part, as the storage reads them."""

    def __init__(self, form: MultipartForm) -> None:
        self._form = form
        self._rest = b""
        self.ended = False

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes, b"" at the end of the part."""
        if not self._rest and not self.ended:
            event = self._form._next_event()
            self.ended = event is None
            self._rest = event or b""
        chunk, self._rest = self._rest[:size], self._rest[size:]
        return chunk


def _file_name(segment: Any) -> str | None:
    extended = extended_name(segment.header("Content-Disposition", ""))
    return extended if extended is not None else segment.filename


def _is_blank_epilogue(error: multipart.MultipartError, chunk: bytes) -> bool:
    """Tell whether strict mode stumbled over the CRLF that may follow the last boundary."""
    return isinstance(error, multipart.StrictParserError) and not chunk.strip(b"\r\n")


def _refusal(error: multipart.MultipartError, *, at_end: bool) -> WebError:
    if at_end:
        return WebError("body_truncated")
    if any(isinstance(argument, UnicodeDecodeError) for argument in error.args):
        return WebError("file_name_undecodable")
    if isinstance(error, multipart.ParserLimitReached) and "count" in str(error):
        return WebError(
            "too_many_files" if "segment count" in str(error) else "multipart_malformed"
        )
    return WebError("multipart_malformed")
