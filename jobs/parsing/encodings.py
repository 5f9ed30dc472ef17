"""Decode bytes of unknown encoding: one ladder for documents and source code, Japanese first.

Steps: a forced or declared encoding, BOM, UTF-16/32 by the pattern of NUL bytes, ISO-2022-JP by its
escapes, strict UTF-8 over the whole input, UTF-8 with a few broken bytes, CP932 against EUC-JP by
score, Korean and Chinese by a second opinion, else Windows-1252 with a warning. `cp932`, not
`shift_jis`, because of 髙, ① and ㈱.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from jobs.parsing.neighbours import has_kana, korean_or_chinese

_SAMPLE_CHARACTERS = 20_000
_SCORE_FLOOR = 0.5
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
#: labels that mean more than Python's codec of that name, as browsers read them
_ALIASES = {
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "sjis": "cp932",
    "x-sjis": "cp932",
    "ms_kanji": "cp932",
    "windows-31j": "cp932",
    "euc-jp": "euc_jp",
    "x-euc-jp": "euc_jp",
    "iso-2022-jp": "iso2022_jp",
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "us-ascii": "cp1252",
    "windows-1252": "cp1252",
    "utf8": "utf-8",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "ks_c_5601-1987": "cp949",
    "euc-kr": "cp949",
}
#: the beginning of a language tag, the longer first → what its texts may be written in
_LANGUAGE_CODECS = {
    "zh-tw": ("big5", "cp950", "gb18030"),
    "zh-hant": ("big5", "cp950", "gb18030"),
    "zh": ("gb18030", "big5"),
    "ko": ("cp949",),
    "ru": ("cp1251",),
    "en": ("cp1252",),
    "de": ("cp1252",),
    "fr": ("cp1252",),
    "es": ("cp1252",),
}
_EUC_CODECS = ("euc_jp", "euc_jis_2004")
_JIS_CODECS = ("iso2022_jp", "iso2022_jp_ext", "iso2022_jp_2004")
_JIS_ESCAPE = re.compile(rb"\x1b(?:\$[@B]|\$\([DO-Q]|\([JI])")
_MULTIBYTE = re.compile("[^\x00-\x7f\ufffd]")
_PLAUSIBLE = re.compile(
    "[\t\n\r -~\xa0-\u024f\u2010-\u203e\u3000-\u30ff\u4e00-\u9fff\uff00-\uff9f]"
)


@dataclass(frozen=True)
class Decoded:
    """Text with the name of its encoding; `certain` is False when it was guessed by score."""

    text: str
    encoding: str
    certain: bool
    warnings: tuple[str, ...] = ()


def decode(
    data: bytes,
    *,
    forced: str | None = None,
    declared: str | None = None,
    language: str | None = None,
) -> Decoded:
    """Decode `data` by the ladder; never fails, the last step takes every byte.

    A `forced` encoding (chosen by a person) wins over everything, with replacement characters if
    need be; a `declared` one (HTML meta, coding line) must fit strictly or is ignored. `language`,
    a person's hint ("ja", "zh-TW"), decides between encodings where the bytes leave a choice.
    """
    if forced and (codec := _codec(forced)):
        text = data.decode(codec, "replace")
        warned = ("encoding_broken: some bytes do not fit the chosen encoding.",)
        return Decoded(text.removeprefix("\ufeff"), codec, True, warned if "\ufffd" in text else ())
    for step in (_by_bom, _by_nul_pattern, _by_escapes, _by_utf8):
        if found := step(data):
            return found
    if declared and (codec := _codec(declared)):
        candidates = _EUC_CODECS if codec == "euc_jp" else (codec,)
        for candidate in candidates:
            if (fitting := _strict(data, candidate)) is not None:
                return Decoded(fitting, codec, True)
    return _by_nearly_utf8(data) or _by_language(data, language or "") or _by_score(data)


def _codec(label: str) -> str | None:
    name = label.strip().lower()
    name = _ALIASES.get(name, name)
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    if not getattr(info, "_is_text_encoding", True) or name in ("idna", "punycode", "undefined"):
        return None
    return name


def _strict(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except UnicodeError:
        return None


def _by_bom(data: bytes) -> Decoded | None:
    for mark, codec in _BOMS:
        if data.startswith(mark):
            body = data[len(mark) :]
            text = _strict(body, codec)
            if text is not None:
                return Decoded(text, codec, True)
            if codec == "utf-8":
                return None
            warned = ("encoding_broken: the file ends or breaks inside a character.",)
            return Decoded(body.decode(codec, "replace"), codec, True, warned)
    return None


def _by_nul_pattern(data: bytes) -> Decoded | None:
    head = data[:65_536]
    if b"\0" not in head:
        return None
    # text in UTF-8 with a stray NUL is no UTF-16: that would have one in every Latin character
    least = len(head) // 8 if _strict(data, "utf-8") is not None else 0
    for codec, width, zeros in (
        ("utf-32-le", 4, (3,)),
        ("utf-32-be", 4, (0,)),
        ("utf-16-le", 2, (1,)),
        ("utf-16-be", 2, (0,)),
    ):
        counts = [head[offset::width].count(0) for offset in range(width)]
        rest = sum(count for offset, count in enumerate(counts) if offset not in zeros)
        mostly = len(head) // width * 0.9
        ruled = counts[zeros[0]] >= mostly if width == 4 else counts[zeros[0]] > least + 8 * rest
        if ruled and len(data) % width == 0 and (text := _strict(data, codec)) is not None:
            sample = text[:_SAMPLE_CHARACTERS]
            if len(_PLAUSIBLE.findall(sample)) >= 0.9 * len(sample):
                return Decoded(text, codec, True)
    return None


def _by_escapes(data: bytes) -> Decoded | None:
    if not _JIS_ESCAPE.search(data) or not data.isascii():
        return None
    for codec in _JIS_CODECS:
        if (text := _strict(data, codec)) is not None:
            return Decoded(text, "iso2022_jp", True)
    return None


def _by_utf8(data: bytes) -> Decoded | None:
    text = _strict(data, "utf-8")
    return None if text is None else Decoded(text.removeprefix("\ufeff"), "utf-8", True)


def _by_nearly_utf8(data: bytes) -> Decoded | None:
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    broken, good = text.count("\ufffd"), len(_MULTIBYTE.findall(text))
    if good < 4 or broken * 20 > good:
        return None
    warning = "encoding_broken: the text is UTF-8 with broken bytes, shown as U+FFFD."
    return Decoded(text, "utf-8", False, (warning,))


def _by_language(data: bytes, language: str) -> Decoded | None:
    """Take the first encoding of the language that fits strictly; of Japanese ones the likelier."""
    tag = language.lower()
    if tag.startswith("ja"):
        texts = {codec: _strict(data, codec) for codec in ("cp932", "euc_jp")}
        fitting = {codec: text for codec, text in texts.items() if text is not None}
        if not fitting:
            return None
        codec = max(fitting, key=lambda name: japanese_score(fitting[name]))
        return Decoded(fitting[codec], codec, False)
    for prefix, codecs_of_it in _LANGUAGE_CODECS.items():
        if tag.startswith(prefix):
            for codec in codecs_of_it:
                if (text := _strict(data, codec)) is not None:
                    return Decoded(text, codec, False)
            return None
    return None


def _by_score(data: bytes) -> Decoded:
    best = (0.0, "", "")
    for codec, name in (("cp932", "cp932"), *((codec, "euc_jp") for codec in _EUC_CODECS)):
        text = _strict(data, codec)
        if text is not None and (score := japanese_score(text)) > best[0]:
            best = (score, name, text)
    if (best[0] < _SCORE_FLOOR or not has_kana(best[2])) and (other := korean_or_chinese(data)):
        return Decoded(other[1], other[0], False)
    if best[0] >= _SCORE_FLOOR:
        return Decoded(best[2], best[1], False)
    warning = "encoding_guessed: no known encoding fits; read as Windows-1252."
    return Decoded(data.decode("cp1252", "replace"), "cp1252", False, (warning,))


_NON_ASCII = re.compile("[^\x00-\x7f]")
_KANA = re.compile("[ぁ-んァ-ヶー]")
_KANJI = re.compile("[一-龠々]")
_MARKS = re.compile(
    "[、。・「」『』（）！？：；％＆＋－＝～〜①-⑳Ⅰ-Ⅹ㈱№０-９Ａ-Ｚａ-ｚ　○●◎△▲□■☆★→]"
)
_HALF_RUN = re.compile("[ｦ-ﾟ]{3,}")
_HALF = re.compile("[｡-ﾟ]")
_PRIVATE = re.compile("[\ue000-\uf8ff\x80-\x9f]")


def japanese_score(text: str) -> float:
    """Score how much the non-ASCII characters of `text` look Japanese; above 0.5 they do."""
    sample = "".join(_NON_ASCII.findall(text[: 40 * _SAMPLE_CHARACTERS])[:_SAMPLE_CHARACTERS])
    if not sample:
        return 0.0
    kanji = "".join(_KANJI.findall(sample))
    common = sum(0xB0 <= code[0] <= 0xCF for c in kanji if (code := c.encode("euc_jp", "ignore")))
    in_runs = sum(len(run) for run in _HALF_RUN.findall(sample))
    points = 2.0 * len(_KANA.findall(sample)) + len(_MARKS.findall(sample))
    points += 1.0 * common + 0.3 * (len(kanji) - common)
    points += 0.8 * in_runs - 2.0 * (len(_HALF.findall(sample)) - in_runs)
    points -= 5.0 * len(_PRIVATE.findall(sample))
    return points / len(sample)
