"""E-mail: Japanese headers and bodies, attachments, hostile nesting."""

from email.message import EmailMessage

import pytest

from jobs.parsing import ParseError


def page(lines):
    return lines[1]["page"]


def test_iso_2022_jp_is_read(imported, corpus):
    lines = imported(corpus("eml/japanese_iso_2022.eml"))
    assert lines[0]["document"]["title"] == "まみむめも"
    assert page(lines)["text"].endswith("To: みける <raasdnil@gmail.com>\nすみません。")


def test_attachments_are_listed(imported):
    message = EmailMessage()
    message["Subject"] = "御見積書"
    message["From"] = "山田 <y@example.jp>"
    message["Date"] = "Mon, 30 Nov 2026 09:00:00 +0900"
    message.set_content("添付をご確認ください。")
    message.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename="見積.pdf")
    found = page(imported(message.as_bytes(), "a.eml"))
    assert "- Date: 2026-11-30 09:00:00+09:00" in found["markdown"]
    assert "| 見積.pdf | application/pdf | 8 |" in found["markdown"]
    assert "添付ファイル" in found["text"]


def test_html_is_read_when_there_is_no_plain_text(imported):
    message = EmailMessage()
    message["Subject"] = "x"
    message.set_content("<p>こんにちは <b>世界</b></p>", subtype="html", charset="shift_jis")
    assert "こんにちは **世界**" in page(imported(message.as_bytes(), "a.eml"))["markdown"]


@pytest.mark.parametrize("charset", ["", "; charset=us-ascii", "; charset=nonsense"])
@pytest.mark.parametrize("codec", ["cp932", "euc_jp", "iso2022_jp", "utf-8"])
def test_wrong_or_missing_charsets_are_found_out(imported, charset, codec):
    body = "平素より大変お世話になっております。ご確認をお願いいたします。"
    head = f"From: a@example.jp\nContent-Type: text/plain{charset}\nSubject: ".encode()
    mail = head + "ご連絡".encode(codec) + b"\n\n" + body.encode(codec)
    lines = imported(mail, "a.eml")
    assert page(lines)["text"].endswith(body)
    assert lines[0]["document"]["title"] == "ご連絡"


def test_thousands_of_nested_parts_have_an_end(imported):
    head = "".join(
        f"Content-Type: multipart/mixed; boundary=b{number}\n\n--b{number}\n"
        for number in range(2_000)
    )
    with pytest.raises(ParseError) as caught:
        imported(head.encode() + b"Content-Type: text/plain\n\nx", "a.eml")
    assert caught.value.code in ("archive_limits", "file_corrupt")


def test_a_hundred_thousand_parts_are_refused(imported):
    head = b"Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n"
    with pytest.raises(ParseError) as caught:
        imported(head + b"--b\n\nx\n" * 100_000, "a.eml")
    assert caught.value.code == "archive_limits"
