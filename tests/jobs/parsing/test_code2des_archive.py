"""Archives: nothing leaves its place, nothing unpacks without end."""

import io
import stat
import zipfile

import pytest

from jobs.parsing import ParseError


def zipped(*members, compression=zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as out:
        for name, content in members:
            out.writestr(name, content)
    return stream.getvalue()


def skipped(lines):
    files = next(line["design"] for line in lines if "design" in line)["files"]
    return {file["path"]: file["reason"] for file in files if file["status"] == "skipped"}


def refused(described, content):
    with pytest.raises(ParseError) as caught:
        described(content, "a.zip")
    return caught.value.code


@pytest.mark.parametrize("name", ["../../evil.py", "/etc/evil.py", "C:/evil.py", "a/../../e.py"])
def test_paths_that_lead_out_are_skipped_with_a_warning(described, name):
    lines = described(zipped(("ok.py", "x = 1\n"), (name, "y = 2\n")), "slip.zip")
    assert skipped(lines) == {name: "unsafe_path"}
    assert lines[0]["document"]["warnings"] == [f"unsafe_path: {name}"]


def test_links_nested_archives_and_vendored_code_are_skipped(described):
    link = zipfile.ZipInfo("link.py")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    content = zipped(
        ("ok.py", "x = 1\n"),
        (link, "/etc/passwd"),
        ("inner.zip", zipped(("a.py", ""))),
        ("node_modules/x.py", "x"),
        ("a.scala", "x"),
    )
    assert skipped(described(content, "a.zip")) == {
        "link.py": "link",
        "inner.zip": "nested_archive",
        "node_modules/x.py": "vendored",
        "a.scala": "language_unsupported",
    }


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicate_names_are_read_once(described):
    lines = described(zipped(("a.py", "def one(): ...\n"), ("a.py", "def two(): ...\n")), "a.zip")
    design = lines[1]["design"]
    assert [f["name"] for f in design["functions"]] == ["one"]
    assert [w["code"] for w in design["warnings"]] == ["duplicate_name"]


def test_japanese_member_names_in_cp932_are_read(described):
    content = zipped(("AAAA/BBBBBB.py", "x = 1\n"))
    name = "設計/注文表.py".encode("cp932")
    assert len(name) == len(b"AAAA/BBBBBB.py")
    lines = described(content.replace(b"AAAA/BBBBBB.py", name), "a.zip")
    assert lines[1]["design"]["files"][0]["path"] == "設計/注文表.py"


def test_a_bomb_is_archive_limits(described):
    bomb = zipped(*((f"a{number}.py", b"#" + b"\n" * 1_000_000) for number in range(120)))
    assert refused(described, bomb) == "archive_limits"


def test_a_giant_member_is_skipped_without_being_read_whole(described):
    lines = described(zipped(("a.py", b" " * 50_000_000), ("b.py", "x = 1\n")), "a.zip")
    assert skipped(lines) == {"a.py": "too_large"}


def test_too_many_entries_are_archive_limits(described):
    many = zipped(*((f"{n}.py", "") for n in range(20_001)), compression=zipfile.ZIP_STORED)
    assert refused(described, many) == "archive_limits"


def test_an_encrypted_archive_is_file_encrypted(described):
    data = bytearray(zipped(("a.py", "x = 1\n")))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    assert refused(described, bytes(data)) == "file_encrypted"


def test_a_damaged_member_is_a_warning(described):
    data = zipped(("a.py", "x = 1\n" * 50), ("b.py", "y = 1\n"), compression=zipfile.ZIP_STORED)
    broken = data.replace(b"x = 1\nx", b"x = 2\nx", 1)
    assert skipped(described(broken, "a.zip")) == {"a.py": "damaged"}


def test_a_truncated_archive_is_file_corrupt_or_no_source(described):
    data = zipped(("a.py", "x = 1\n" * 500))
    assert refused(described, data[: len(data) // 2]) in ("file_corrupt", "code_unsupported")


def test_a_member_that_lies_about_its_place_is_a_warning(described):
    data = bytearray(zipped(("a.py", "x = 1\n"), ("b.py", "y = 1\n")))
    entry = data.index(b"PK\x01\x02")
    data[entry + 42 : entry + 46] = b"\xf0\xff\xff\x7f"
    assert skipped(described(bytes(data), "a.zip")) == {"a.py": "damaged"}
