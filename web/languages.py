"""Which language to answer in: the switch, its cookie, then Accept-Language, else English."""

from __future__ import annotations

from flask import Response, request
from werkzeug.datastructures import LanguageAccept

from web.catalogue.text import Text

LANGUAGES = ("ja", "en")
COOKIE = "torikomi_language"
_YEAR_SECONDS = 365 * 24 * 3600


def language() -> str:
    """Return "ja" or "en" for the current request."""
    for choice in (request.args.get("lang"), request.cookies.get(COOKIE)):
        if choice in LANGUAGES:
            return str(choice)
    return _accepted(request.accept_languages)


def _accepted(wishes: LanguageAccept) -> str:
    """Return the language of the highest quality; `ja-JP` is a wish for `ja` (RFC 4647, 3.4).

    Werkzeug's own best_match prefers a language named exactly, whatever its quality.
    """
    quality: dict[str, float] = {}
    for tag, wish in wishes:
        name = tag.lower().partition("-")[0]
        quality[name] = max(wish, quality.get(name, 0))
    others = quality.get("*", 0)
    # Of equal wishes the first named wins, and English where none is named.
    names = [name for name in (*quality, "en", "ja") if name in LANGUAGES]
    best = max(names, key=lambda name: quality.get(name, others))
    return best if quality.get(best, others) > 0 else "en"


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
