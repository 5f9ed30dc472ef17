"""The numerals that Word counts lists in: 1, ①, ア, 一, IV …"""

from __future__ import annotations

from collections.abc import Callable, Mapping

_KATAKANA = (
    "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"
)
_HALF_KATAKANA = "ｱｲｳｴｵｶｷｸｹｺｻｼｽｾｿﾀﾁﾂﾃﾄﾅﾆﾇﾈﾉﾊﾋﾌﾍﾎﾏﾐﾑﾒﾓﾔﾕﾖﾗﾘﾙﾚﾛﾜｦﾝ"
_IROHA = (
    "イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテ"
    "アサキユメミシヱヒモセスン"
)
_HALF_IROHA = "ｲﾛﾊﾆﾎﾍﾄﾁﾘﾇﾙｦﾜｶﾖﾀﾚｿﾂﾈﾅﾗﾑｳｨﾉｵｸﾔﾏｹﾌｺｴﾃｱｻｷﾕﾒﾐｼｪﾋﾓｾｽﾝ"
_DIGITS = "〇一二三四五六七八九"
_ROMAN = (
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
)


def numeral(value: int, kind: str) -> str:
    """Return `value` in the number format of that name; decimal digits when it is not known."""
    writer = _WRITERS.get(kind)
    return str(value) if writer is None or value < 1 else writer(value)


def _roman(value: int) -> str:
    text = ""
    for amount, letters in _ROMAN:
        times, value = divmod(value, amount) if value < 4000 else (0, value)
        text += letters * times
    return text or str(value)


def _letters(value: int) -> str:
    times, index = divmod(value - 1, 26)
    return chr(65 + index) * (times + 1) if times < 10 else str(value)


def _kanji(value: int) -> str:
    """Return 二十三 for 23."""
    if value > 9999:
        return str(value)
    text = ""
    for amount, unit in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, value = divmod(value, amount)
        if digit:
            text += ("" if digit == 1 and unit else _DIGITS[digit]) + unit
    return text


def _kanji_digits(value: int) -> str:
    return "".join(_DIGITS[int(digit)] for digit in str(value))


def _circled(value: int) -> str:
    for first, last, start in ((1, 20, 0x2460), (21, 35, 0x3251), (36, 50, 0x32B1)):
        if first <= value <= last:
            return chr(start + value - first)
    return f"({value})"


def _from(alphabet: str) -> Callable[[int], str]:
    return lambda value: alphabet[(value - 1) % len(alphabet)]


def _full_width(value: int) -> str:
    return "".join(chr(ord(digit) + 0xFEE0) for digit in str(value))


_WRITERS: Mapping[str, Callable[[int], str]] = {
    "upperRoman": _roman,
    "lowerRoman": lambda value: _roman(value).lower(),
    "upperLetter": _letters,
    "lowerLetter": lambda value: _letters(value).lower(),
    "decimalZero": lambda value: f"{value:02}",
    "decimalFullWidth": _full_width,
    "decimalFullWidth2": _full_width,
    "decimalEnclosedCircle": _circled,
    "decimalEnclosedParen": lambda value: f"({value})",
    "aiueo": _from(_HALF_KATAKANA),
    "aiueoFullWidth": _from(_KATAKANA),
    "iroha": _from(_HALF_IROHA),
    "irohaFullWidth": _from(_IROHA),
    "japaneseCounting": _kanji,
    "chineseCounting": _kanji,
    "chineseCountingThousand": _kanji,
    "taiwaneseCounting": _kanji,
    "taiwaneseCountingThousand": _kanji,
    "ideographDigital": _kanji_digits,
    "japaneseDigitalTenThousand": _kanji_digits,
    "none": lambda _: "",
}
