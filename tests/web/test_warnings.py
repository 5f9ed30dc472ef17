"""Warnings of the parsers and the worker have words in both languages."""

import re
from pathlib import Path

from flask import Flask
from flask_babel import force_locale

from web.warnings import warning_codes, warning_words

ROOT = Path(__file__).parents[2]
_WARNING = re.compile(r'"([a-z]+(?:_[a-z]+)+): ')
#: read by people who parse by hand, not in results
_OTHERS = {"python_version"}


def test_every_warning_in_the_code_has_words(app: Flask) -> None:
    places = [*(ROOT / "jobs" / "parsing" / "page_import").glob("*.py")]
    places += (ROOT / "jobs" / "worker").glob("*.py")
    used = {code for place in places for code in _WARNING.findall(place.read_text("utf-8"))}

    with app.test_request_context():
        assert used - _OTHERS == warning_codes()


def test_a_warning_is_told_in_the_readers_language(app: Flask) -> None:
    with app.test_request_context():
        with force_locale("ja"):
            assert (
                warning_words("image_failed: no picture") == "このページの画像は作れませんでした。"
            )
            skipped = warning_words("member_skipped: a/b.doc: type_unsupported.")
            assert skipped.endswith(": a/b.doc: type_unsupported.")
            assert not skipped.startswith("A file")
        with force_locale("en"):
            assert warning_words("image_failed: x") == "No picture of this page could be made."
        assert warning_words("brand_new: something <b>") == "brand_new: something <b>"
