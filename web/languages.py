"""Which language to answer in: the switch, its cookie, then Accept-Language, else English."""

from __future__ import annotations

from flask import Response, request

from web.catalogue.text import Text

LANGUAGES = ("ja", "en")
COOKIE = "torikomi_language"
_YEAR_SECONDS = 365 * 24 * 3600


def language() -> str:
    """Return "ja" or "en" for the current request."""
    for choice in (request.args.get("lang"), request.cookies.get(COOKIE)):
        if choice in LANGUAGES:
            return str(choice)
    return request.accept_languages.best_match(LANGUAGES, default="en") or "en"


def remember(response: Response, *, secure: bool) -> None:
    """Keep a choice made by `?lang=` for the next pages."""
    choice = request.args.get("lang")
    if choice in LANGUAGES:
        response.set_cookie(
            COOKIE, choice, max_age=_YEAR_SECONDS, secure=secure, httponly=True, samesite="Lax"
        )


def advice(words: Text, written: str | None = None) -> str:
    """Return why it came and what to do as running text; Japanese takes no space between.

    `written` is the language of the words where no request tells it.
    """
    return ("" if (written or language()) == "ja" else " ").join((words.cause, words.next_step))
