"""Equal lines give equal bytes; nothing read back is larger or stranger than agreed."""

import gzip
import hashlib

import pytest

from jobs.errors import ReportInvalid
from jobs.results import pack_result, read_result

LINES = b'{"document":{"schema":1}}\n{"page":{"number":1,"text":"\xe5\x90\x8d"}}\n'


def test_packing_is_deterministic_to_the_byte(tmp_path):
    lines = tmp_path / "lines"
    lines.write_bytes(LINES)
    for name in ("one", "two"):
        pack_result(lines, tmp_path / name)

    packed = (tmp_path / "one").read_bytes()
    assert packed == (tmp_path / "two").read_bytes()
    assert packed[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    assert hashlib.sha256(gzip.decompress(packed)).digest() == hashlib.sha256(LINES).digest()


def test_lines_come_back_with_their_kinds(tmp_path):
    (tmp_path / "lines").write_bytes(LINES)
    pack_result(tmp_path / "lines", tmp_path / "packed")

    assert list(read_result(tmp_path / "packed", len(LINES))) == [
        ("document", {"schema": 1}),
        ("page", {"number": 1, "text": "名"}),
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b'{"page":{}}\n',
        b'{"document":{}}\n{"document":{}}\n',
        b'{"document":{},"page":{}}\n',
        b'{"document":{"n":NaN}}\n',
        b'{"surprise":{}}\n',
        b'{"document":' + b"[" * 100_000 + b"\n",
        b'{"document":{}}\n' + b'{"page":' + b"1" * 5000 + b"}\n",
    ],
)
def test_wrong_lines_are_invalid(tmp_path, content):
    path = tmp_path / "packed"
    path.write_bytes(gzip.compress(content))

    with pytest.raises(ReportInvalid):
        list(read_result(path, 4096))


def test_a_bomb_is_refused_at_the_bound(tmp_path):
    path = tmp_path / "packed"
    path.write_bytes(gzip.compress(b'{"document":"' + bytes(50 << 20)))

    with pytest.raises(ReportInvalid, match="more than 4096 bytes"):
        list(read_result(path, 4096))


@pytest.mark.parametrize("cut", [0, 5, 30, -1])
def test_broken_gzip_is_invalid(tmp_path, cut):
    path = tmp_path / "packed"
    path.write_bytes(gzip.compress(LINES)[:cut])

    with pytest.raises(ReportInvalid):
        list(read_result(path, 4096))
