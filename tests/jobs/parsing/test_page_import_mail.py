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


def test_every_part_of_the_body_is_read_in_its_order(imported):
    message = EmailMessage()
    message["Subject"] = "x"
    message.set_content("<p>大事な<b>本文</b></p>", subtype="html")
    message.make_mixed()
    message.attach(_text("メーリングリストの署名"))
    assert page(imported(message.as_bytes(), "a.eml"))["text"].endswith(
        "大事な本文\n\nメーリングリストの署名"
    )


def test_of_alternatives_one_is_read(imported):
    message = EmailMessage()
    message.set_content("平文")
    message.add_alternative("<p>装飾文</p>", subtype="html")
    message.get_payload()[1].add_related(b"GIF89a", "image", "gif", filename="絵.gif")
    found = page(imported(message.as_bytes(), "a.eml"))
    assert "平文" in found["text"]
    assert "装飾文" not in found["text"]
    assert "| 絵.gif | image/gif | 6 |" in found["markdown"]


def test_a_blank_plain_alternative_is_passed_over(imported):
    message = EmailMessage()
    message.set_content("  \n")
    message.add_alternative("<p>装飾文</p>", subtype="html")
    assert page(imported(message.as_bytes(), "a.eml"))["text"] == "装飾文"


def test_a_forwarded_message_follows_with_its_own_headers(imported):
    forwarded = EmailMessage()
    forwarded["Subject"] = "元の件名"
    forwarded["From"] = "佐藤 <s@example.jp>"
    forwarded.set_content("元の本文")
    message = EmailMessage()
    message["Subject"] = "転送"
    message.set_content("<p>ご参考までに</p>", subtype="html")
    message.add_attachment(forwarded)
    lines = imported(message.as_bytes(), "a.eml")
    size = len("元の本文\n".encode())
    assert page(lines)["markdown"] == (
        "# 転送\n\nご参考までに\n\n| 添付ファイル | Content-Type | bytes |\n| --- | --- | --- |\n"
        f"| 元の件名 | message/rfc822 | {size} |\n\n"
        "## 元の件名\n\n- From: 佐藤 \\<s@example.jp>\n\n元の本文"
    )
    assert [entry["level"] for entry in lines[0]["document"]["outline"]] == [1, 2]


def _text(content):
    part = EmailMessage()
    part.set_content(content)
    return part
