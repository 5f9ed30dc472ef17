"""E-mail (.eml): the usual headers, the body, and a list of what is attached.

Of alternatives the plain text is preferred to HTML. Messages within the message follow it, each
with its own headers. Text without a usable charset goes through the ladder, as Japanese mail often
declares none or the wrong one.
"""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.errors import MessageError
from email.message import Message

from jobs.parsing.errors import ParseError
from jobs.parsing.page_import import html, mail_parts
from jobs.parsing.page_import.document import Document, Heading, Page, Source, Table
from jobs.parsing.page_import.language import guess_language
from jobs.parsing.page_import.markup import escape_inline, escape_markdown, heading, table

MAX_PARTS = 500
_HEADERS = ("From", "To", "Cc", "Date")
#: a message in a message in a message: deeper ones are listed, not read
_MAX_DEPTH = 5
_PART = re.compile(rb"^(?:content-type[ \t]*:|--[^\s-])", re.IGNORECASE | re.MULTILINE)


@dataclass
class _Letter:
    """One message as it is shown; `level` is that of its heading."""

    level: int
    subject: str
    fields: list[tuple[str, str]]
    bodies: list[Page] = field(default_factory=list)
    attached: Table = field(default_factory=list)

    def text(self, label: str) -> Iterator[str]:
        """Yield the pieces of the plain text."""
        yield self.subject
        yield from (f"{name}: {value}" for name, value in self.fields)
        yield "\n\n".join(body.text for body in self.bodies if body.text)
        yield from (label, *map("\t".join, self.attached)) if self.attached else ()

    def markdown(self, label: str) -> Iterator[str]:
        """Yield the pieces of the Markdown."""
        if self.subject:
            yield heading(self.level, self.subject)
        yield "\n".join(f"- {name}: {escape_inline(text)}" for name, text in self.fields)
        yield from (body.markdown for body in self.bodies)
        if self.attached:
            yield table([[label, "Content-Type", "bytes"], *self.attached])


def read(source: Source) -> Document:
    """Return the message as one page. Raises ParseError archive_limits, file_corrupt."""
    data = source.read()
    if len(_PART.findall(data)) > 4 * MAX_PARTS:
        raise ParseError("archive_limits", "The message has too many parts.")
    try:
        message = email.message_from_bytes(data, policy=email.policy.compat32)
        count = sum(1 for part in message.walk() if not part.is_multipart())
        if count > MAX_PARTS:
            raise ParseError("archive_limits", f"The message has more than {MAX_PARTS} parts.")
        letters = list(_letters(message, source, 1))
    except (RecursionError, ValueError, LookupError, MessageError) as error:
        raise ParseError("file_corrupt", "The message is nested too deeply.") from error
    return _document(letters)


def _letters(message: Message, source: Source, level: int) -> Iterator[_Letter]:
    """Yield a message, then those it carries."""
    fields = [(n, text) for n in _HEADERS if (text := mail_parts.header(message, n))]
    fields = [(n, mail_parts.date(text) if n == "Date" else text) for n, text in fields]
    letter = _Letter(level, mail_parts.header(message, "Subject"), fields)
    carried = []
    for part in mail_parts.leaves(message):
        if mail_parts.is_body(part):
            letter.bodies.append(_body(part, source))
            continue
        letter.attached.append(mail_parts.attachment(part))
        if (inner := mail_parts.inner(part)) is not None and level < _MAX_DEPTH:
            carried.append(inner)
    yield letter
    for inner in carried:
        yield from _letters(inner, source, level + 1)


def _body(part: Message, source: Source) -> Page:
    text = mail_parts.text_of(part)
    if part.get_content_type() == "text/plain":
        text = text.strip("\n")
        return Page(number=1, text=text, markdown=escape_markdown(text))
    inner = Source(
        content=text.encode("utf-8"),
        file_name=source.file_name,
        detected_type="html",
        options={"encoding": "utf-8"},
        budget=source.budget,
    )
    return next(html.read(inner).pages)


def _document(letters: list[_Letter]) -> Document:
    first = letters[0]
    bodies = [body for letter in letters for body in letter.bodies]
    language = guess_language("\n".join([first.subject, *(body.text for body in bodies)]))
    label = "添付ファイル" if language == "ja" else "Attachments"
    warnings = [warning for body in bodies for warning in body.warnings]
    if not any(body.text.strip() for body in bodies):
        warnings.append("no_text: this message has no text.")
    page = Page(
        number=1,
        text="\n".join(piece for letter in letters for piece in letter.text(label) if piece),
        markdown="\n\n".join(p for letter in letters for p in letter.markdown(label) if p),
        tables=[rows for body in bodies for rows in body.tables],
        warnings=list(dict.fromkeys(warnings)),
    )
    titled = [letter for letter in letters if letter.subject]
    return Document(
        page_count=1,
        pages=iter([page]),
        title=first.subject or None,
        author=next((value for name, value in first.fields if name == "From"), None),
        language=language,
        outline=[Heading(title=each.subject, level=each.level, page=1) for each in titled],
    )
