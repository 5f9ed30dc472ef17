"""The encodings that a caller may name: those of text that the readers of files decode with.

The web knows no parser, so the labels that only browsers know stand here once more; a test
compares both.
"""

from __future__ import annotations

import codecs

#: What browsers call encodings that Python knows under other names (WHATWG Encoding Standard).
LABELS = frozenset(
    {"x-sjis", "windows-31j", "ms_kanji", "x-euc-jp", "ks_c_5601-1987", "shift-jis", "sjis"}
)
#: Codecs of str that are none of files: escapes, host names, one that always fails.
_NO_TEXT = frozenset({"idna", "mbcs", "oem", "punycode", "undefined", "utf-7"})
_ESCAPES = "unicode-escape"


def is_known(label: str) -> bool:
    """Return whether text can be read in the encoding of this name."""
    name = label.lower()
    if name in LABELS:
        return True
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return False
    canonical = found.name.replace("_", "-")
    if canonical in _NO_TEXT or canonical.endswith(_ESCAPES):
        return False
    # A private name, but the one that bytes.decode itself asks (CPython, Python/codecs.c).
    return found._is_text_encoding
