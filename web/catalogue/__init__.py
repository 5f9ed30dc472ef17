"""Every code that a person or program can meet: what it means, why it came, what to do.

`REQUEST_CODES` answer a request and carry an HTTP status; `ITEM_CODES` are the reasons why an
import failed and stand in its `error.code`. Codes are stable; texts may be improved at any time.
"""

from __future__ import annotations

from dataclasses import dataclass

from web.catalogue.access import ACCESS_TEXTS
from web.catalogue.direct import DIRECT_TEXTS
from web.catalogue.endpoints import ENDPOINT_TEXTS
from web.catalogue.failures import FAILURES_TEXTS
from web.catalogue.files import FILES_TEXTS
from web.catalogue.general import GENERAL_TEXTS
from web.catalogue.intake import INTAKE_TEXTS
from web.catalogue.items import ITEM_TEXTS
from web.catalogue.options import OPTIONS_ITEM_TEXTS, OPTIONS_TEXTS
from web.catalogue.text import Text

LANGUAGES = ("ja", "en")


@dataclass(frozen=True)
class Entry:
    """One code. `status` is None for the failure of an item."""

    code: str
    status: int | None
    retryable: bool
    ja: Text
    en: Text

    def text(self, language: str) -> Text:
        """Return the words in `language`; English for anything unknown."""
        return self.ja if language == "ja" else self.en


REQUEST_CODES: dict[str, Entry] = {
    code: Entry(code, status, retryable, ja, en)
    for texts in (
        FILES_TEXTS,
        INTAKE_TEXTS,
        DIRECT_TEXTS,
        ENDPOINT_TEXTS,
        OPTIONS_TEXTS,
        ACCESS_TEXTS,
        GENERAL_TEXTS,
        FAILURES_TEXTS,
    )
    for code, (status, retryable, ja, en) in texts.items()
}
ITEM_CODES: dict[str, Entry] = {
    code: Entry(code, None, retryable, ja, en)
    for texts in (ITEM_TEXTS, OPTIONS_ITEM_TEXTS)
    for code, (retryable, ja, en) in texts.items()
}


def request_entry(code: str) -> Entry:
    """Return the entry of a request code; an unknown code is a programming error (KeyError)."""
    return REQUEST_CODES[code]


def item_entry(code: str) -> Entry:
    """Return the entry of an item failure; a code of a newer worker reads as `parse_crashed`."""
    return ITEM_CODES.get(code, ITEM_CODES["parse_crashed"])
