"""What a caller wishes for one file: its own name for it, and what the reader of it is told.

A form gives them as fields in front of the files, a raw body as query values with the password in
the header `File-Password`, a JSON batch as `custom_id` and `options` of each item. A password is
sealed before it is written anywhere; only a worker opens it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator, Field, SecretStr, StringConstraints, TypeAdapter

from jobs.sealing import seal
from models.states import ImportType
from web.encodings import is_known
from web.errors import WebError
from web.json_body import RequestBody, parse_json, validated
from web.services import services

#: What a caller calls an item; data, nothing more.
CustomId = Annotated[
    str, StringConstraints(min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f]+$")
]
_PART = r"[1-9][0-9]{0,5}(-([1-9][0-9]{0,5})?)?"
#: Options of a code2des: a source file has no pages.
_FOR_CODE = frozenset({"encoding"})
#: Names of options that are given as text, in a form or a query.
TEXT_NAMES = ("custom_id", "pages", "language", "images", "encoding")
PASSWORD = "password"  # noqa: S105 - the name of a field
PASSWORD_HEADER = "File-Password"  # noqa: S105 - the name of a header


def _ordered(text: str) -> str:
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if dash and last and int(last) < int(first):
            raise ValueError("a range ends before it begins")
    return text


def _known(encoding: str) -> str:
    if not is_known(encoding):
        raise ValueError("no text is in this encoding")
    return encoding


Encoding = Annotated[
    str, StringConstraints(pattern="^[A-Za-z0-9_.:-]{1,40}$"), AfterValidator(_known)
]
PageRange = Annotated[
    str,
    StringConstraints(max_length=200, pattern=rf"^{_PART}(,{_PART}){{0,49}}$"),
    AfterValidator(_ordered),
]


class Options(RequestBody):
    """What the reader of a file is told.

    `pages` are the pages, slides or sheets to read ("1-3,8,20-"), `language` is a hint for text
    whose encoding or script must be guessed, `images` asks for images of the pages, `encoding` is
    that of a text file, and `password` opens a protected file.
    """

    pages: PageRange | None = None
    language: (
        Annotated[str, StringConstraints(pattern="^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}$")] | None
    ) = None
    images: bool = True
    encoding: Encoding | None = None
    password: Annotated[SecretStr, Field(min_length=1, max_length=255)] | None = None

    def check(self, type: ImportType, place: str) -> None:
        """Refuse what the type has no use for, and a password that nobody could open."""
        if type == ImportType.CODE2DES:
            for name in sorted(self.model_fields_set - _FOR_CODE):
                raise WebError("option_unsupported", errors=[{"pointer": f"{place}/{name}"}])
        if self.password is not None and services().settings.public_key() is None:
            raise WebError("password_unsupported", errors=[{"pointer": f"{place}/{PASSWORD}"}])

    def shown(self, type: ImportType) -> dict[str, Any]:
        """Return the options that may be kept and shown: all but the password."""
        if type == ImportType.PAGE_IMPORT and not self.model_fields_set:
            return {"images": True}  # a batch has 100,000 of them
        if type == ImportType.CODE2DES:
            return {"encoding": self.encoding} if self.encoding else {}
        return self.model_dump(exclude_none=True, exclude={PASSWORD})

    def told(self, type: ImportType, child_id: str) -> dict[str, Any]:
        """Return the options as the worker gets them, the password sealed to this import."""
        told = self.shown(type)
        if self.password is None:
            return told
        if (key := services().settings.public_key()) is not None:
            told[PASSWORD] = seal(key, self.password.get_secret_value(), child_id)
        return told

    def print(self) -> dict[str, Any]:
        """Return what two equal wishes have in common; of a password only a keyed digest."""
        if not self.model_fields_set:
            return {"images": True}
        found = self.model_dump(exclude_none=True, exclude={PASSWORD})
        if self.password is not None:
            key = services().settings.session_secret.get_secret_value().encode()
            text = self.password.get_secret_value().encode()
            found[PASSWORD] = hmac.new(key, text, hashlib.sha256).hexdigest()
        return found


PLAIN = Options()


class Wish(RequestBody):
    """What is wished for one file."""

    custom_id: CustomId | None = None
    options: Options = PLAIN

    def request(self, type: ImportType) -> dict[str, Any]:
        """Return what the row of the item keeps of it."""
        kept: dict[str, Any] = {"options": self.options.shown(type)}
        return {"custom_id": self.custom_id, **kept} if self.custom_id is not None else kept

    def print(self) -> list[Any]:
        """Return what two equal wishes have in common."""
        return [self.custom_id, self.options.print()]


_WISHES = TypeAdapter(list[Wish])
NO_WISH = Wish()


@dataclass(frozen=True)
class Wishes:
    """The wishes of one request: the same for every file, or one for each in their order."""

    common: Wish = NO_WISH
    each: Sequence[Wish] | None = field(default=None)

    def of(self, index: int) -> Wish:
        """Return the wish for a file. Raises WebError when there is none."""
        if self.each is None:
            return self.common
        if index >= len(self.each):
            raise WebError("items_invalid", errors=[{"pointer": f"/items/{index}"}])
        return self.each[index]

    def check_count(self, files: int) -> None:
        """Refuse a request with more wishes than files."""
        if self.each is not None and len(self.each) != files:
            raise WebError("items_invalid", errors=[{"pointer": f"/items/{files}"}])

    def print(self) -> list[Any]:
        """Return what two equal requests have in common; empty when nothing is wished."""
        if self.each is not None:
            return [wish.print() for wish in self.each]
        return [] if self.common == NO_WISH else self.common.print()


def read_wish(texts: Mapping[str, str], type: ImportType) -> Wish:
    """Read the wish for a file out of form fields or query values. Raises WebError."""
    options: dict[str, Any] = {
        name: texts[name] for name in (*TEXT_NAMES, PASSWORD) if name in texts
    }
    value: dict[str, Any] = {}
    if "custom_id" in options:
        value["custom_id"] = options.pop("custom_id")
    if "images" in options:
        options["images"] = _flag(options["images"])
    wish = validated(Wish, value).model_copy(update={"options": validated(Options, options)})
    wish.options.check(type, "")
    return wish


def read_wishes(texts: Mapping[str, str], type: ImportType) -> Wishes:
    """Read the wishes of a form: `items` is JSON, one object a file, in the files' order."""
    common = read_wish(texts, type)
    if "items" not in texts:
        if common.custom_id is not None:
            raise WebError("field_unknown", errors=[{"pointer": "/custom_id"}])
        return Wishes(common)
    if common != NO_WISH:
        raise WebError("field_invalid", errors=[{"pointer": "/items"}])
    each = validated(_WISHES, parse_json(texts["items"].encode()), place="/items")
    names: set[str] = set()
    for index, wish in enumerate(each):
        wish.options.check(type, f"/items/{index}/options")
        if wish.custom_id in names:
            place = f"/items/{index}/custom_id"
            raise WebError(
                "items_invalid", errors=[{"pointer": place, "code": "custom_id_repeated"}]
            )
        names |= {wish.custom_id} - {None}  # type: ignore[arg-type]  # None is taken out
    return Wishes(each=each)


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise WebError("field_invalid", errors=[{"pointer": "/images"}])
    return text == "true"
