"""What a caller wishes for a document: some of its pages, a hint of its language, its password."""

import io
import random
import struct

import msoffcrypto
import pytest

from jobs.parsing import ParseError
from jobs.parsing.page_import.page_range import PageRange
from tests.jobs.parsing.office_files import pptx, row, shape, text_cell, xlsx
from tests.jobs.parsing.pdf_files import pdf, restricted, text


def numbers(lines):
    return [line["page"]["number"] for line in lines if "page" in line]


def document(lines):
    return lines[0]["document"]


def refusal(imported, *arguments, **options):
    with pytest.raises(ParseError) as caught:
        imported(*arguments, **options)
    return caught.value.code


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("1", [1]),
        ("2-3", [2, 3]),
        ("4-", [4, 5]),
        ("5,1,1-2", [1, 2, 5]),
        ("3-900000", [3, 4, 5]),
        ("9", []),
    ],
)
def test_a_range_names_pages(wanted, found):
    assert PageRange.parse(wanted).among(5) == found


def test_a_pdf_gives_the_pages_asked_for_under_their_own_numbers(imported):
    content = pdf(*(text("Helvetica", 20, 400, f"Page {n}") for n in range(1, 8)))
    lines = imported(content, "a.pdf", pages="2-3,6-")
    assert numbers(lines) == [2, 3, 6, 7]
    assert [line["page"]["text"].strip() for line in lines[1:]] == [
        f"Page {n}" for n in (2, 3, 6, 7)
    ]
    assert document(lines)["page_count"] == 7


def test_slides_and_sheets_are_chosen_too(imported):
    slides = pptx([shape("title", f"Slide {n}") for n in range(1, 4)])
    assert numbers(imported(slides, "a.pptx", pages="2")) == [2]
    assert document(imported(slides, "a.pptx", pages="2"))["page_count"] == 3
    sheets = xlsx({f"S{n}": row(1, text_cell("A1", f"cell {n}")) for n in range(1, 4)})
    assert numbers(imported(sheets, "a.xlsx", pages="3,1")) == [1, 3]


def test_a_range_behind_the_end_is_a_failure_of_its_own(imported):
    assert refusal(imported, pdf(text("Helvetica", 20, 400, "x")), "a.pdf", pages="2-") == (
        "page_range_empty"
    )
    with pytest.raises(ParseError, match="The last page is 1; none asked") as caught:
        imported(b"one page of text", "a.txt", pages="7")
    assert caught.value.code == "page_range_empty"


@pytest.mark.parametrize(
    ("language", "written", "encoding"),
    [
        ("zh-TW", "這是繁體中文的測試文件,請多多指教。", "big5"),
        ("zh", "这是简体中文的测试文件。", "gb18030"),
        ("ko", "이것은 시험 문서입니다.", "cp949"),
        ("ja", "表示", "cp932"),
        ("ru", "Это проверка кодировки.", "cp1251"),
    ],
)
def test_a_language_decides_what_the_bytes_leave_open(imported, language, written, encoding):
    lines = imported(written.encode(encoding), "a.txt", language=language)
    assert lines[1]["page"]["text"].strip() == written
    assert document(lines)["encoding"] == encoding


def test_a_language_that_the_bytes_contradict_changes_nothing(imported):
    lines = imported("これは日本語の文章です。".encode(), "a.txt", language="ko")
    assert lines[1]["page"]["text"].strip() == "これは日本語の文章です。"
    assert document(lines)["language"] == "ja"


def test_a_pdf_opens_with_its_password(imported, corpus):
    protected = corpus("pdf/r6-user-password.pdf")
    assert numbers(imported(protected, password="asdfzxcv")) == [1]
    assert refusal(imported, protected, password="wrong") == "password_wrong"
    assert refusal(imported, protected) == "file_encrypted"


def test_a_pdf_that_only_keeps_its_owners_rights_opens_with_any_password(imported):
    for password in ("", "owner", "the batch's own"):
        lines = imported(restricted("Quarterly report", "owner"), "a.pdf", password=password)
        assert lines[1]["page"]["text"] == "Quarterly report"


def encrypted(content: bytes, password: str) -> bytes:
    """Protect a ZIP; its comment fills the last cipher block, which the library leaves short."""
    fill = -len(content) % 16
    content = content[:-2] + struct.pack("<H", fill) + b" " * fill
    made = io.BytesIO()
    msoffcrypto.OfficeFile(io.BytesIO(content)).encrypt(password, made)
    return made.getvalue()


def test_an_office_file_opens_with_its_password(imported):
    noise = {"xl/media/noise": bytes(random.Random(4).randbytes(9000))}
    content = xlsx({"秘密": row(1, text_cell("A1", "内緒"))}, extra=noise)
    protected = encrypted(content, "合言葉")
    lines = imported(protected, "a.xlsx", password="合言葉")
    assert "内緒" in lines[1]["page"]["text"]
    assert document(lines)["detected_type"] == "xlsx"
    assert refusal(imported, protected, "a.xlsx", password="wrong") == "password_wrong"
    assert refusal(imported, protected, "a.xlsx") == "file_encrypted"
    cut = protected[: len(protected) // 2]
    assert refusal(imported, cut, "a.xlsx", password="合言葉") in {"file_encrypted", "file_corrupt"}


def test_a_password_of_a_file_that_has_none_is_no_trouble(imported):
    content = xlsx({"a": row(1, text_cell("A1", "x"))})
    assert numbers(imported(content, "a.xlsx", password="unused")) == [1]
    assert numbers(imported(b"text", "a.txt", password="unused")) == [1]
