"""A second opinion on bytes that may be Korean or Chinese, by their commonest characters.

EUC-KR, GBK and EUC-JP share their byte ranges: Korean text decodes as EUC-JP without an error, to
rare kanji. Half of any Korean or a third of any Chinese text is made of some dozens of characters,
which a wrong decoding hits by chance only.
"""

from __future__ import annotations

import re

_SAMPLE_CHARACTERS = 20_000
_MIN_CHARACTERS = 12
_KANA = re.compile("[ぁ-んァ-ヶ]")
_NON_ASCII = re.compile("[^\x00-\x7f]")
_KOREAN = "이다는에을의가를은한고하도지로사기서리어해시인그자대나라부들과정수전아보제일상장주여니"
_CHINESE = (
    "的一是不了在人有我他这個个们們中来來上大为為和国國地到以说說时時要就出会會可也你对對生能而"
    "子那得于於着著下自之年过過发發后後作里裡用道行所然家种種事成方多经經么麼去法学學如都同"
)
#: codec, its commonest characters, the share of them that such text has at least
_CANDIDATES = (("cp949", _KOREAN, 0.25), ("gb18030", _CHINESE, 0.18), ("big5", _CHINESE, 0.18))


def has_kana(text: str) -> bool:
    """Say whether a text has as much kana as only Japanese has."""
    sample = "".join(_NON_ASCII.findall(text[:_SAMPLE_CHARACTERS]))
    return len(_KANA.findall(sample)) * 20 > len(sample)


def korean_or_chinese(data: bytes) -> tuple[str, str] | None:
    """Return the codec and the text when the bytes are plain Korean or Chinese, else None."""
    found: list[tuple[float, str, str]] = []
    for codec, common, least in _CANDIDATES:
        try:
            text = data.decode(codec)
        except UnicodeDecodeError:
            continue
        sample = "".join(_NON_ASCII.findall(text[: 40 * _SAMPLE_CHARACTERS])[:_SAMPLE_CHARACTERS])
        share = sum(map(sample.count, common)) / max(len(sample), 1)
        if len(sample) >= _MIN_CHARACTERS and share >= least:
            found.append((share, codec, text))
    return max(found)[1:] if found else None
