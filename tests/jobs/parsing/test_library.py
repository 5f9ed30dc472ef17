"""What the caller relies on: purity, determinism, stable codes, the command."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jobs.parsing
from jobs.parsing import PARSER_VERSION, ParseError, parse
from jobs.parsing.cleaning import clean, clean_name, clean_tree
from jobs.parsing.errors import CODES
from tests.jobs.parsing.conftest import FILES

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = Path(jobs.parsing.__file__).parent


def command(*arguments: object, seed: str = "0") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "jobs.parsing", *map(str, arguments)],
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("type", "name"),
    [
        ("page_import", "pdf/jsverb.pdf"),
        ("page_import", "html/table_06.html"),
        ("page_import", "csv/Symbol.csv"),
        ("code2des", "code/py-itsdangerous.zip"),
    ],
)
def test_the_same_input_gives_the_same_bytes_under_any_hash_seed(type, name):
    first, second = (command(type, FILES / name, seed=seed) for seed in ("1", "4242"))
    assert first.returncode == second.returncode == 0
    assert first.stdout == second.stdout


def test_the_command_prints_an_error_line_and_fails():
    done = command("page_import", FILES / "pdf/r6-user-password.pdf")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "file_encrypted"


def test_the_command_takes_a_name_and_an_encoding(tmp_path):
    path = tmp_path / "blob"
    path.write_bytes("é,1\n".encode("latin1"))
    done = command("page_import", path, "--name", "a.csv", "--encoding", "latin1")
    assert json.loads(done.stdout.split(b"\n")[1])["page"]["tables"] == [[["é", "1"]]]


def test_parsers_load_nothing_of_ours_and_no_network_library():
    script = (
        "import sys, jobs.parsing as p; p.preload('page_import'); p.preload('code2des');"
        "print([m for m in sys.modules if m.split('.')[0] in"
        " ('boto3','dramatiq','httpx','structlog','flask','peewee','psycopg2','models','web')"
        " or m.startswith('jobs.') and not m.startswith('jobs.parsing')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == b"[]"


def test_importing_the_package_alone_loads_no_parser():
    script = "import sys, jobs.parsing; print('pypdfium2' in sys.modules, 'lxml' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, cwd=ROOT, check=True)
    assert done.stdout.split() == [b"False", b"False"]


def test_every_code_in_the_sources_is_in_the_catalogue():
    sources = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    used = set(re.findall(r'ParseError\(\s*"(\w+)"', sources))
    assert "file_corrupt" in used
    assert used <= CODES


def test_progress_is_told_page_by_page(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("一\f二\f三")
    seen: list[tuple[int, int | None]] = []
    lines = list(
        parse(
            "page_import",
            path,
            file_name="a.txt",
            options={},
            progress=lambda done, total: seen.append((done, total)),
        )
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert lines[0]["document"]["parser_version"] == PARSER_VERSION


def test_an_unknown_type_is_refused(tmp_path):
    with pytest.raises(ParseError) as caught:
        list(parse("x", tmp_path, file_name="a", options={}, progress=lambda _d, _t: None))
    assert caught.value.code == "type_unsupported"


def test_strings_are_cleaned_and_names_composed():
    assert clean("a\0b\ud800c\ufffe\r\nd\x1b\te\u2028f") == "abc\nd\te\nf"
    assert clean_name("カ\u3099ラス\n.pdf") == "ガラス .pdf"
    assert clean_tree({"a\0": ["b\0", ("c\0", 1, None)]}) == {"a": ["b", ["c", 1, None]]}
