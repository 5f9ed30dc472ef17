"""Why a file cannot be taken in. One class: the code tells the cases apart.

The codes are shared with the web, which shows them in Japanese and English.
"""

from __future__ import annotations

#: Raise it when the same input may give other lines: stored results carry it.
PARSER_VERSION: str = "3"

CODES = frozenset(
    {
        "type_unsupported",
        "file_encrypted",
        "password_wrong",
        "page_range_empty",
        "file_corrupt",
        "file_empty",
        "pages_exceeded",
        "encoding_unknown",
        "no_pages",
        "archive_limits",
        "code_unsupported",
        "result_too_large",
        "parse_timeout",
        "parse_memory",
    }
)


class ParseError(Exception):
    """The file cannot be taken in; `code` is one of CODES, `message` an English sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"
