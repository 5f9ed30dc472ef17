"""ZIP: members are sections; names, limits, nesting and damage."""

import io
import zipfile

import pytest

from jobs.parsing import ParseError
from tests.jobs.parsing.office_files import package


def code_of(imported, content):
    with pytest.raises(ParseError) as caught:
        imported(content, "a.zip")
    return caught.value.code


def cp932_zip(names):
    """A ZIP as Windows in Japan writes it: CP932 names, no UTF-8 flag."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for index, name in enumerate(names):
            archive.writestr(f"{index}".ljust(len(name.encode("cp932")), "_"), b"a,b\n1,2\n")
    data = stream.getvalue()
    for index, name in enumerate(names):
        raw = name.encode("cp932")
        data = data.replace(f"{index}".ljust(len(raw), "_").encode(), raw)
    return data


def test_members_are_sections_with_their_own_pages(imported, corpus):
    lines = imported(corpus("zip/simple.zip"))
    assert [entry["title"] for entry in lines[0]["document"]["outline"][:1]] == ["ideas-page.html"]
    assert [line["page"]["number"] for line in lines[1:]] == [1, 2]
    assert "How to Get New Ideas" in lines[1]["page"]["text"]
    assert lines[2]["page"]["tables"][0][2] == ["Blues", "STL", "1"]


def test_japanese_names_from_windows_are_read(imported):
    lines = imported(cp932_zip(["売上表.csv", "資料/一覧能.csv"]), "a.zip")
    titles = [entry["title"] for entry in lines[0]["document"]["outline"]]
    assert titles == ["売上表.csv", "資料/一覧能.csv"]


def test_office_and_pdf_members_are_read(imported, corpus):
    parts = {
        name: corpus(name).read_bytes()
        for name in ("docx/61470.docx", "xlsx/date.xlsx", "pdf/noembed-sjis.pdf")
    }
    lines = imported(package(parts), "a.zip")
    text = "\n".join(line["page"]["text"] for line in lines[1:])
    assert all(words in text for words in ("東京(とうきょう)", "2021-01-01", "あいうえお"))


def test_bad_members_are_warnings(imported, corpus):
    parts = {
        "good.txt": "本文",
        "bad.docx": corpus("docx/testWORD_truncated.docx").read_bytes(),
        "inner.zip": package({"x.txt": "x"}),
        "empty.txt": "",
        "app.exe": b"MZ\0\0",
        "__MACOSX/._good.txt": b"\0\1",
    }
    lines = imported(package(parts), "a.zip")
    assert [line["page"]["text"] for line in lines[1:]] == ["good.txt\n本文"]
    assert lines[0]["document"]["warnings"] == [
        "member_skipped: app.exe: type_unsupported.",
        "member_skipped: bad.docx: file_corrupt.",
        "member_skipped: empty.txt: file_empty.",
        "member_skipped: inner.zip: archive_limits.",
    ]


def test_a_bomb_is_refused_by_what_it_really_unpacks_to(imported):
    assert code_of(imported, package({"a.txt": b"a" * 80_000_000})) == "archive_limits"


def test_too_many_files_are_refused(imported):
    content = package({f"{number}.txt": "x" for number in range(1_001)})
    assert code_of(imported, content) == "archive_limits"


def test_a_member_with_a_lying_size_is_damaged(imported):
    data = bytearray(package({"a.txt": "x" * 5_000, "b.txt": "本文"}))
    central = data.index(b"PK\x01\x02")
    data[central + 24 : central + 28] = (10).to_bytes(4, "little")
    lines = imported(bytes(data), "a.zip")
    assert lines[0]["document"]["warnings"] == ["member_skipped: a.txt: file_corrupt."]


def test_an_archive_without_documents_has_no_pages(imported):
    assert code_of(imported, package({"a.bin": b"\0\1\2\3" * 99})) == "no_pages"
