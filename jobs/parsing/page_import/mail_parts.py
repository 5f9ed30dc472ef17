"""The parts of an e-mail: which are its body, in what order, and what is attached."""

from __future__ import annotations

from collections.abc import Iterator
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime

from jobs.parsing.cleaning import clean, clean_name
from jobs.parsing.encodings import decode

_MAX_HEADER_CHARACTERS = 10_000


def leaves(part: Message) -> Iterator[Message]:
    """Yield the parts of a message in order; one that is a message itself stays whole.

    Of alternatives (RFC 2046, 5.1.4) the first plain text that says something is taken, else the
    first that says anything: the sender means them to be the same.
    """
    if not part.is_multipart() or inner(part) is not None:
        yield part
        return
    versions = [list(leaves(child)) for child in part.get_payload() if isinstance(child, Message)]
    chosen = _best(versions) if part.get_content_type() == "multipart/alternative" else None
    for version in versions:
        is_dropped = chosen is not None and version is not chosen
        yield from (leaf for leaf in version if not (is_dropped and is_body(leaf)))


def _best(versions: list[list[Message]]) -> list[Message] | None:
    for kinds in (("text/plain",), ("text/plain", "text/html")):
        for version in versions:
            bodies = [leaf for leaf in version if is_body(leaf)]
            known = all(leaf.get_content_type() in kinds for leaf in bodies)
            if known and any(text_of(leaf).strip() for leaf in bodies):
                return version
    return versions[0] if versions else None


def inner(part: Message) -> Message | None:
    """Return the message that a part carries, as one that was forwarded does."""
    if part.get_content_type() != "message/rfc822" or not part.is_multipart():
        return None
    found = part.get_payload(0)
    return found if isinstance(found, Message) else None


def is_body(part: Message) -> bool:
    """Say whether a part is there to be read and not to be saved."""
    if part.get_content_disposition() == "attachment" or part.get_filename():
        return False
    return part.get_content_type() in ("text/plain", "text/html")


def text_of(part: Message) -> str:
    """Return the text of a part; without a usable charset it is found out."""
    payload = part.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    return clean(decode(content, declared=_charset(part)).text)


def _charset(part: Message) -> str | None:
    try:
        named = part.get_content_charset()
    except (LookupError, ValueError):
        return None
    return None if named in ("us-ascii", "ascii") else named


def attachment(part: Message) -> list[str]:
    """Return name, type and number of bytes of what is attached; a message is named as titled."""
    message = inner(part)
    name = clean_name(decoded(part.get_filename() or ""))
    if message is not None and not name:
        name = header(message, "Subject")
    files = [part] if message is None else [p for p in message.walk() if not p.is_multipart()]
    contents = [
        payload for file in files if isinstance(payload := file.get_payload(decode=True), bytes)
    ]
    return [name, part.get_content_type(), str(sum(map(len, contents)))]


def header(message: Message, name: str) -> str:
    """Return a header as text, empty when there is none."""
    for key, value in message.raw_items():
        if key.lower() == name.lower():
            return decoded(str(value))
    return ""


def decoded(raw: str) -> str:
    """Return a header with its encoded words read, and with bytes outside of them guessed."""
    raw = raw[:_MAX_HEADER_CHARACTERS]
    if not raw.isascii() or "\x1b" in raw:
        raw = decode(raw.encode("utf-8", "surrogateescape")).text
    try:
        pieces = decode_header(raw)
    except (MessageError, ValueError):
        return " ".join(clean(raw).split())
    text = "".join(
        piece if isinstance(piece, str) else decode(piece, declared=charset).text
        for piece, charset in pieces
    )
    return " ".join(clean(text).split())


def date(text: str) -> str:
    """Return a date as ISO 8601 with a space, as it stands where it is none."""
    try:
        return parsedate_to_datetime(text).isoformat(sep=" ")
    except (ValueError, TypeError, IndexError, OverflowError):
        return text
