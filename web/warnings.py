"""What the reader of a file warns of, in the words of who reads the result.

A warning is a stable code, a colon and an English sentence. The API gives it as it is.
"""

from __future__ import annotations

from flask_babel import gettext


def warning_words(warning: str) -> str:
    """Return a warning in the reader's language; one of a newer worker as it is."""
    code, _, detail = warning.partition(":")
    return str(_words(detail.strip()).get(code, warning))


def warning_codes() -> frozenset[str]:
    """Return every code that has words here."""
    return frozenset(_words(""))


def _words(detail: str) -> dict[str, str]:
    return {
        "characters_removed": gettext("Control characters that nobody can read were removed."),
        "csv_quotes_broken": gettext(
            "A quote is never closed; quotes were read as plain characters."
        ),
        "font_missing": gettext(
            "A font of this page is neither embedded nor installed; Japanese text may be lost."
        ),
        "formula_no_value": gettext(
            "Formulas of this sheet were never calculated; their cells are blank."
        ),
        "html_too_complex": gettext(
            "There are too many nested tags or attributes; the text has no structure."
        ),
        "image_failed": gettext("No picture of this page could be made."),
        "image_too_large": gettext("This image has more pixels than can be shown."),
        "image_too_slow": gettext("Drawing this page takes too long, so it has no picture."),
        "images_limited": gettext(
            "The last pages have no pictures: there are too many, or making them took too long."
        ),
        "json_invalid": gettext("The file is not valid JSON; it is shown as plain text."),
        "no_text": gettext("There is no text on this page."),
        "no_text_layer": gettext("This page has no text of its own; it may be a scanned image."),
        "ocr_empty": gettext("No text was found in this picture."),
        "ocr_failed": gettext("The text in this picture could not be read."),
        "ocr_limited": gettext("The text of the last pages was not read: it took too long."),
        "ocr_timeout": gettext("Reading the text in this picture took too long."),
        "page_failed": gettext("This page is damaged and could not be read."),
        "rows_uneven": gettext("The rows have different numbers of cells."),
        "sheet_hidden": gettext("This sheet is hidden in the workbook."),
        "slide_hidden": gettext("This slide is hidden in the show."),
        "table_spans_ignored": gettext(
            "A table has too many cells; its merged cells were ignored."
        ),
        "type_mismatch": gettext("The file is not what its name says; it was read as what it is."),
        "vertical_text": gettext("Columns were read from right to left."),
        "member_skipped": gettext("A file in the archive was not read: %(detail)s", detail=detail),
        "sheet_skipped": gettext("A sheet was not read: %(detail)s", detail=detail),
    }
