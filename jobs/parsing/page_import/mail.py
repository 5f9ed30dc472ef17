"""E-mail (.eml): the usual headers, the body, and a list of what is attached.

The plain text is preferred to HTML. Text without a usable charset goes through the ladder, as
Japanese mail often declares none or the wrong one.
"""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Sequence
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime

from jobs.parsing.cleaning import clean, clean_name
from jobs.parsing.encodings import decode
from jobs.parsing.errors import ParseError
from jobs.parsing.page_import import html
from jobs.parsing.page_import.document import Document, Heading, Page, Source, Table
from jobs.parsing.page_import.language import guess_language
from jobs.parsing.page_import.markup import escape_inline, escape_markdown, heading, table

MAX_PARTS = 500
_HEADERS = ("From", "To", "Cc", "Date")
_MAX_HEADER_CHARACTERS = 10_000
_PART = re.compile(rb"^(?:content-type[ \t]*:|--[^\s-])", re.IGNORECASE | re.MULTILINE)


def read(source: Source) -> Document:
    """Return the message as one page. Raises ParseError archive_limits, file_corrupt."""
    data = source.read()
    if len(_PART.findall(data)) > 4 * MAX_PARTS:
        raise ParseError("archive_limits", "The message has too many parts.")
    try:
        message = email.message_from_bytes(data, policy=email.policy.compat32)
        parts = [part for part in message.walk() if not part.is_multipart()]
    except (RecursionError, ValueError, LookupError, MessageError) as error:
        raise ParseError("file_corrupt", "The message is nested too deeply.") from error
    if len(parts) > MAX_PARTS:
        raise ParseError("archive_limits", f"The message has more than {MAX_PARTS} parts.")
    bodies = [part for part in parts if _is_body(part)]
    body = _plain(bodies) or _html(bodies, source)
    fields = [(name, text) for name in _HEADERS if (text := _header(message, name))]
    fields = [(name, _date(text) if name == "Date" else text) for name, text in fields]
    attached = [_attachment(part) for part in parts if not _is_body(part)]
    return _document(_header(message, "Subject"), fields, body, attached)


def _document(
    subject: str, fields: Sequence[tuple[str, str]], body: Page, attached: Table
) -> Document:
    language = guess_language(f"{subject}\n{body.text}")
    markdown = [heading(1, subject)] if subject else []
    markdown.append("\n".join(f"- {name}: {escape_inline(text)}" for name, text in fields))
    text = [subject, *(f"{name}: {value}" for name, value in fields), body.text]
    markdown.append(body.markdown)
    if attached:
        label = "添付ファイル" if language == "ja" else "Attachments"
        rows = [[label, "Content-Type", "bytes"], *attached]
        markdown.append(table(rows))
        text += [label, *("\t".join(row) for row in attached)]
    warnings = [] if body.text.strip() else ["no_text: this message has no text."]
    page = Page(
        number=1,
        text="\n".join(line for line in text if line),
        markdown="\n\n".join(part for part in markdown if part),
        tables=body.tables,
        warnings=[*body.warnings, *warnings],
    )
    return Document(
        page_count=1,
        pages=iter([page]),
        title=subject or None,
        author=next((value for name, value in fields if name == "From"), None),
        language=language,
        outline=[Heading(title=subject, level=1, page=1)] if subject else [],
    )


def _is_body(part: Message) -> bool:
    if part.get_content_disposition() == "attachment" or part.get_filename():
        return False
    return part.get_content_type() in ("text/plain", "text/html")


def _text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    return clean(decode(content, declared=_charset(part)).text)


def _charset(part: Message) -> str | None:
    try:
        named = part.get_content_charset()
    except (LookupError, ValueError):
        return None
    return None if named in ("us-ascii", "ascii") else named


def _plain(bodies: Sequence[Message]) -> Page | None:
    texts = [_text(part).strip("\n") for part in bodies if part.get_content_type() == "text/plain"]
    text = "\n\n".join(part for part in texts if part.strip())
    return Page(number=1, text=text, markdown=escape_markdown(text)) if text else None


def _html(bodies: Sequence[Message], source: Source) -> Page:
    texts = [_text(part) for part in bodies if part.get_content_type() == "text/html"]
    if not texts:
        return Page(number=1, text="", markdown="")
    inner = Source(
        content="\n".join(texts).encode("utf-8"),
        file_name=source.file_name,
        detected_type="html",
        options={"encoding": "utf-8"},
        budget=source.budget,
    )
    return next(html.read(inner).pages)


def _attachment(part: Message) -> list[str]:
    payload = part.get_payload(decode=True)
    size = len(payload) if isinstance(payload, bytes) else 0
    return [clean_name(_decoded(part.get_filename() or "")), part.get_content_type(), str(size)]


def _header(message: Message, name: str) -> str:
    for key, value in message.raw_items():
        if key.lower() == name.lower():
            return _decoded(str(value))
    return ""


def _decoded(raw: str) -> str:
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


def _date(text: str) -> str:
    try:
        return parsedate_to_datetime(text).isoformat(sep=" ")
    except (ValueError, TypeError, IndexError, OverflowError):
        return text
