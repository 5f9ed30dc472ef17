"""Tar archives: read in one pass, nothing unpacked without end, nothing outside its place."""

import gzip
import io
import os
import tarfile

import pytest

from jobs.parsing import ParseError
from tests.jobs.parsing.code_samples import design, markdown


def tarred(*members, mode="w:gz", encoding="utf-8"):
    """Return a tar; a member is (name, bytes) or a finished TarInfo."""
    stream = io.BytesIO()
    with tarfile.open(
        fileobj=stream, mode=mode, encoding=encoding, format=tarfile.GNU_FORMAT
    ) as out:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                out.addfile(member)
                continue
            info = tarfile.TarInfo(member[0])
            info.size = len(member[1])
            out.addfile(info, io.BytesIO(member[1]))
    return stream.getvalue()


def link(name, target, kind):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def skipped(model):
    return {f["path"]: f["reason"] for f in model["files"] if f["status"] == "skipped"}


@pytest.mark.parametrize(("mode", "name"), [("w", "a.tar"), ("w:gz", "a.tar.gz"), ("w:gz", "a")])
def test_a_tar_is_read_plain_and_in_gzip(described, mode, name):
    lines = described(tarred(("./src/a.py", "def 能(): ...\n".encode()), mode=mode), name)
    model = design(lines)
    assert [f["qualified"] for f in model["functions"]] == ["能"]
    assert model["files"][0]["path"] == "src/a.py"
    assert lines[0]["document"]["detected_type"] == "tar"
    assert "tarアーカイブ" in markdown(lines)["ja"]
    assert markdown(lines)["ja"].startswith("# a 設計書\n")


def test_links_devices_and_paths_that_lead_out_are_skipped(described):
    content = tarred(
        ("ok.py", b"x = 1\n"),
        link("s.py", "/etc/passwd", tarfile.SYMTYPE),
        link("h.py", "ok.py", tarfile.LNKTYPE),
        link("f.py", "", tarfile.FIFOTYPE),
        ("../evil.py", b"y = 1\n"),
        ("/abs.py", b"y = 1\n"),
        ("in.zip", b"PK"),
    )
    assert skipped(design(described(content, "a.tar.gz"))) == {
        "s.py": "link",
        "h.py": "link",
        "f.py": "link",
        "../evil.py": "unsafe_path",
        "/abs.py": "unsafe_path",
        "in.zip": "nested_archive",
    }


def test_japanese_names_in_cp932_are_read(described):
    content = tarred(("設計/表.py", b"x = 1\n"), mode="w", encoding="cp932")
    assert design(described(content, "a.tar"))["files"][0]["path"] == "設計/表.py"


def test_a_member_of_more_than_a_mebibyte_is_only_listed(described):
    noise = os.urandom(1 << 20)
    content = tarred(("big.py", noise + noise), ("b.py", b"x = 1\n"))
    assert skipped(design(described(content, "a.tgz"))) == {"big.py": "too_large"}


def test_a_bomb_in_gzip_is_archive_limits(described):
    bomb = tarred(("a.py", b"x = 1\n"), ("zero.bin", bytes(40_000_000)))
    with pytest.raises(ParseError) as caught:
        described(bomb, "a.tar.gz")
    assert caught.value.code == "archive_limits"


@pytest.mark.parametrize("cut", [300, 700])
def test_a_torn_archive_is_file_corrupt(described, cut):
    whole = gzip.decompress(tarred(("a.py", os.urandom(5000)), ("b.py", os.urandom(5000))))
    torn = gzip.compress(whole[: cut * 10])[:-9]
    with pytest.raises(ParseError) as caught:
        described(torn, "a.tar.gz")
    assert caught.value.code in ("file_corrupt", "code_unsupported")


def test_a_gzip_that_is_no_tar_is_code_unsupported(described):
    with pytest.raises(ParseError) as caught:
        described(gzip.compress(b"print(1)\n"), "a.gz")
    assert caught.value.code == "code_unsupported"
