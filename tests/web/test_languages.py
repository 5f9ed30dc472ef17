"""The language of an answer: what the caller's header asks for, by quality."""

from __future__ import annotations

import pytest
from flask import Flask

from web.languages import language


@pytest.mark.parametrize(
    ("header", "answered"),
    [
        ("ja-JP,en;q=0.5", "ja"),
        ("ja-JP,ja;q=0.9,en-US;q=0.8,en;q=0.7", "ja"),
        ("JA-jp", "ja"),
        ("en-US,ja;q=0.3", "en"),
        ("en-GB;q=0.8,ja;q=0.9", "ja"),
        ("en;q=0.2,ja-JP-x-test;q=0.3", "ja"),
        ("fr,ja;q=0.1", "ja"),
        ("ja;q=0.7,en;q=0.7", "ja"),
        ("en;q=0.7,ja;q=0.7", "en"),
        ("fr-FR,de", "en"),
        ("de,*;q=0.5", "en"),
        ("*", "en"),
        ("en;q=0,*", "ja"),
        ("ja;q=0", "en"),
        ("javanese", "en"),
        ("", "en"),
        (";;q=x,,", "en"),
    ],
)
def test_the_language_of_the_highest_quality_answers(
    app: Flask, header: str, answered: str
) -> None:
    with app.test_request_context(headers={"Accept-Language": header}):
        assert language() == answered
