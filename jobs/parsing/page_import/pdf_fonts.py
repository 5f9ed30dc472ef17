"""Fonts that a PDF expects from the machine: without a Japanese one pdfium drops text silently.

Only text in fonts that are not embedded is affected. No error tells of it, so we look ourselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from PIL import ImageFont

#: where pdfium looks on Linux
FONT_FOLDERS = (
    Path("/usr/share/fonts"),
    Path("/usr/share/X11/fonts"),
    Path("/usr/local/share/fonts"),
)
_JAPANESE = re.compile(
    r"ipa(?:ex)?[gm]|cjk|takao|vl-?p?gothic|japanese|mincho|notosansjp|notoserifjp|gothic",
    re.IGNORECASE,
)
#: fonts that pdfium brings along
_STANDARD = re.compile(r"Helvetica|Times|Courier|Symbol|ZapfDingbats|Arial")
_MAX_OBJECTS = 2_000
#: a letter, and a place that no font fills
_KANA, _NOWHERE = "あ", "\U0010ffff"


def has_japanese_font() -> bool:
    """Say whether the machine has a Japanese font."""
    return japanese_font() is not None


@lru_cache(maxsize=1)
def japanese_font() -> str | None:
    """Return the file of a Japanese font of this machine; looked up once a process."""
    return find_japanese_font(FONT_FOLDERS)


def find_japanese_font(folders: Iterable[Path]) -> str | None:
    """Return a font file below `folders` that has a Japanese name and really draws kana."""
    return next(
        (
            str(path)
            for folder in folders
            for path in sorted(folder.rglob("*"))
            if path.suffix.lower() in (".ttf", ".otf", ".ttc")
            and _JAPANESE.search(path.name)
            and _draws_kana(path)
        ),
        None,
    )


def _draws_kana(path: Path) -> bool:
    try:
        font = ImageFont.truetype(str(path), 32)
        return bytes(font.getmask(_KANA)) != bytes(font.getmask(_NOWHERE))
    except (OSError, ValueError):
        return False


def uses_outside_font(page: Any) -> bool:
    """Say whether text of a page is set in a font that the file does not bring along."""
    try:
        objects = page.get_objects(filter=[raw.FPDF_PAGEOBJ_TEXT])
        for count, text in enumerate(objects):
            font = text.get_font()
            if not font.is_embedded and not _STANDARD.match(font.get_base_name()):
                return True
            if count > _MAX_OBJECTS:
                break
    except pdfium.PdfiumError:
        return False
    return False
