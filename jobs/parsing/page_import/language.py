"""Guess the language of a text from its scripts; None when the script does not tell."""

from __future__ import annotations

import re
from collections import Counter

_SAMPLE_CHARACTERS = 20_000
_JAPANESE_ENCODINGS = ("cp932", "euc_jp", "iso2022_jp")
_ENOUGH_HAN = 100
_KANA = re.compile("[\u3041-\u30ff\uff66-\uff9f]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_HAN = re.compile("[\u4e00-\u9fff]")
#: kanji in the form that only Japan writes
_ONLY_JAPANESE = re.compile(
    "[県駅沢浜広桜関歳塩検択釈竜険圏剣験駆亜悪囲応絵拡楽帰気勧観巻陥顕歩毎恵徳桟渋焼畳労営図仏伝売読]"
)
#: where the scripts that tell something begin
_TELLING = re.compile("[\u3041-\U0010ffff]")
_LETTER = re.compile(r"[^\W\d_]")


def guess_language(text: str, encoding: str | None = None) -> str | None:
    """Return `ja`, `ko`, `zh` or None; Latin letters alone are no evidence for one language.

    A Japanese `encoding` settles what Chinese characters without kana leave open.
    """
    sample = text[:_SAMPLE_CHARACTERS]
    if not _TELLING.search(sample):
        return None
    counts = Counter(sample)
    distinct = "".join(counts)

    def count(kind: re.Pattern[str]) -> int:
        return sum(counts[character] for character in kind.findall(distinct))

    letters = count(_LETTER)
    if not letters:
        return None
    kana, hangul, han = count(_KANA), count(_HANGUL), count(_HAN)
    if hangul * 10 > letters:
        return "ko"
    japanese = kana + count(_ONLY_JAPANESE)
    if (kana + han) * 10 > letters and japanese * 40 > han:
        return "ja"
    if han and encoding in _JAPANESE_ENCODINGS:
        return "ja"
    return "zh" if han * 2 > letters and han >= _ENOUGH_HAN else None
