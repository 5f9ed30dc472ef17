"""The type of a file comes from its bytes; its name is only checked against them."""

import io
import zipfile

import pytest

from jobs.parsing import ParseError
from jobs.parsing.page_import.sniffing import detect
from tests.jobs.parsing.office_files import WORD, paragraph, xls


def refused(imported, *arguments):
    with pytest.raises(ParseError) as caught:
        imported(*arguments)
    return caught.value


@pytest.mark.parametrize(
    ("head", "shown"),
    [
        (b"\0\0\0\x18ftypheic" + b"\0" * 20, "HEIC"),
        (b"\x1f\x8b\x08" + b"\0" * 20, "gzip"),
        (b"\x7fELF" + b"\0" * 20, "executable"),
        (b"{\\rtf1 x}", "RTF"),
    ],
)
def test_other_bytes_are_named_whatever_the_file_is_called(imported, head, shown):
    error = refused(imported, head, "report.pdf")
    assert error.code == "type_unsupported"
    assert shown in error.message


def test_an_encrypted_office_file_is_file_encrypted(imported, corpus):
    assert refused(imported, corpus("xlsx/pass_protected.xlsx")).code == "file_encrypted"


def test_a_damaged_container_is_file_corrupt(imported, corpus):
    assert refused(imported, corpus("docx/testWORD_truncated.docx")).code == "file_corrupt"
    assert refused(imported, b"\x01\x02\x03" * 500, "a.pdf").code == "file_corrupt"


def test_a_mislabelled_file_is_read_as_what_it_is(imported, corpus):
    lines = imported(corpus("pdf/noembed-sjis.pdf").read_bytes(), "報告.docx")
    assert lines[0]["document"]["detected_type"] == "pdf"
    assert lines[0]["document"]["warnings"] == [
        "type_mismatch: named as Word (.docx), but the content is PDF."
    ]
    lines = imported("名前,値\n山田,1\n".encode("cp932"), "表.xlsx")
    assert lines[0]["document"]["detected_type"] == "csv"
    assert lines[1]["page"]["tables"] == [[["名前", "値"], ["山田", "1"]]]


def test_html_is_recognised_without_a_name(imported):
    lines = imported(b"\n<!-- x --><!DOCTYPE html><p>x", "download")
    assert lines[0]["document"]["detected_type"] == "html"


def test_text_without_a_known_suffix_is_text(imported):
    assert imported("設定=1\n".encode(), "app.conf")[0]["document"]["detected_type"] == "text"


def test_a_zip_with_unusual_member_order_is_still_word(imported):
    stream = io.BytesIO()
    docx_body = f"<w:document {WORD}><w:body>{paragraph('文')}</w:body></w:document>"
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("word/document.xml", docx_body)
        archive.writestr("[Content_Types].xml", "<x/>")
    assert imported(stream.getvalue(), "x")[0]["document"]["detected_type"] == "docx"


def test_an_ole_directory_at_the_end_of_a_large_file_is_found():
    small = xls()
    # sector 1 is the directory; it goes where sector 9999 is
    head, directory, rest = small[:1024], small[1024:1536], small[1536:]
    head = head[:48] + (9999).to_bytes(4, "little") + head[52:]
    large = (head + rest).ljust(10_000 * 512, b"\1") + directory
    assert detect(large, "a.xls").type == "xls"
    assert detect(large[:5_000_000], "a.xls").type == "ole"
