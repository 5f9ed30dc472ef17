"""The first lines that a person reads say what is missing, too."""

from jobs.parsing.page_import.pdf_fonts import japanese_font
from jobs.worker.equipment import FONT_PACKAGE as WORKERS_WORD
from local.greeting import FONT_PACKAGE, missing_font


def test_a_machine_without_a_japanese_font_is_told_what_to_install():
    english, japanese = missing_font(None)

    assert f"sudo apt-get install {FONT_PACKAGE}" in english
    assert f"sudo apt-get install {FONT_PACKAGE}" in japanese
    assert WORKERS_WORD.endswith(FONT_PACKAGE)


def test_a_machine_with_one_is_told_nothing():
    assert missing_font(japanese_font()) == []
