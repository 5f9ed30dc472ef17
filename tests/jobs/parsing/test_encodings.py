"""The encoding ladder, over the encodings that Japanese files come in."""

import pytest

from jobs.parsing.encodings import decode

SENTENCE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。\n"
SHORT = "注文番号,顧客名\n"
HALF_WIDTH = "13101,ﾄｳｷｮｳﾄ,ﾁﾖﾀﾞｸ,東京都,千代田区\n"


@pytest.mark.parametrize("text", [SENTENCE, SHORT, HALF_WIDTH, SENTENCE * 200])
@pytest.mark.parametrize(
    ("codec", "name"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8"),
        ("cp932", "cp932"),
        ("euc_jp", "euc_jp"),
        ("iso2022_jp_ext", "iso2022_jp"),
        ("utf-16", "utf-16-le"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("utf-32", "utf-32-le"),
        ("utf-32-be", "utf-32-be"),
    ],
)
def test_japanese_text_is_decoded_exactly(text, codec, name):
    decoded = decode(text.encode(codec))
    assert (decoded.text, decoded.encoding) == (text, name)


def test_vendor_characters_survive_in_cp932_and_euc_jp():
    assert decode("髙橋①㈱～－は山﨑と".encode("cp932")).text == "髙橋①㈱～－は山﨑と"
    assert decode("第①回は㈱です".encode("euc_jis_2004")).text == "第①回は㈱です"


def test_one_letter_after_100_000_of_ascii_counts():
    data = b"a" * 100_000 + "é".encode()
    assert decode(data).text.endswith("é")
    assert decode(data).encoding == "utf-8"


def test_western_text_is_not_taken_for_japanese():
    for text in ("Sélection naturelle, café, naïve", "Größe über Straße", "señor, año"):
        decoded = decode(text.encode("cp1252"))
        assert (decoded.text, decoded.encoding) == (text, "cp1252")
        assert decoded.warnings[0].startswith("encoding_guessed")


def test_utf_8_with_a_broken_byte_stays_utf_8():
    decoded = decode((SENTENCE * 3).encode() + b"\xe3\x81")
    assert decoded.text == SENTENCE * 3 + "\ufffd"
    assert decoded.warnings[0].startswith("encoding_broken")


def test_a_stray_nul_does_not_make_utf_16():
    assert decode("あ\0い".encode() + b" " * 400).text.startswith("あ\0い")


def test_a_declared_encoding_counts_when_it_fits_and_a_forced_one_always():
    korean = "안녕하세요".encode("cp949")
    assert decode(korean, declared="euc-kr").text == "안녕하세요"
    assert decode(SENTENCE.encode("cp932"), declared="utf-8").text == SENTENCE
    assert decode("é".encode("cp932", "ignore") + b"\xe9", forced="latin1").encoding == "cp1252"
    assert decode(SENTENCE.encode(), declared="no-such-codec").text == SENTENCE


def test_any_bytes_are_decoded_without_an_exception():
    for data in (b"", b"\xff\xfe", b"\0", b"\x1b$B", bytes(range(256)) * 3, b"\xff\xfe\0"):
        assert isinstance(decode(data).text, str)


KOREAN = (
    "이 문서는 우리 회사의 업무 절차를 설명하기 위해 작성되었습니다. 내용을 확인해 주시기 바랍니다."
)
SIMPLIFIED = "这是我们公司的一份文件，说明了在工作中要用到的方法和过程，你可以在这里看到所有的事。"
TRADITIONAL = "這是我們公司的一份文件，說明了在工作中要用到的方法和過程，你可以在這裡看到所有的事。"


@pytest.mark.parametrize(
    ("text", "codec"), [(KOREAN, "cp949"), (SIMPLIFIED, "gb18030"), (TRADITIONAL, "big5")]
)
@pytest.mark.parametrize("times", [1, 50])
def test_korean_and_chinese_are_told_from_japanese(text, codec, times):
    decoded = decode((text * times).encode(codec))
    assert (decoded.encoding, decoded.text) == (codec, text * times)


@pytest.mark.parametrize("codec", ["cp932", "euc_jp"])
@pytest.mark.parametrize(
    "text",
    [
        "北海道札幌市中央区,青森県弘前市,岩手県盛岡市,東京都千代田区霞が関",
        "氏名,住所,電話番号\n髙橋淳,名古屋市中区栄,〇五二\n".replace("髙", "高"),
        "株式会社山田商事 御中 請求書 合計金額 消費税 振込先 銀行口座",
        "国会議事堂 人事院 大学 中国 一般会計 年度 上下水道 地方自治",
    ],
)
def test_japanese_without_kana_stays_japanese(text, codec):
    decoded = decode((text + "\n").encode(codec))
    assert (decoded.encoding, decoded.text) == (codec, text + "\n")
