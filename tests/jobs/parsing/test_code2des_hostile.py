"""Hostile sources end with a result, in time and memory; the same input gives the same bytes."""

import hashlib
import random
import subprocess
import sys

import pytest

from jobs.parsing.code2des import grammar
from tests.jobs.parsing.code_samples import CODE, archive, design

SUFFIXES = ("py", "java", "js", "ts", "go", "c", "cpp", "cs", "rb", "php", "rs", "kt", "sql", "cbl")


def broken(text, width=200):
    """Return the text in lines, so that it does not count as minified."""
    return "\n".join(text[start : start + width] for start in range(0, len(text), width))


def test_deep_parentheses_in_every_language_end(described, monkeypatch):
    monkeypatch.setattr(grammar, "PARSE_SECONDS", 0.3)
    head = {"php": "<?php\n"}
    deep = broken("(" * 60_000 + ")" * 60_000)
    files = {f"deep.{s}": f"{head.get(s, '')}x = {deep};\n" for s in SUFFIXES}
    model = design(described(archive(files), "deep.zip"))
    states = {f["path"] for f in model["files"] if f["status"] != "skipped"}
    given_up = {w["path"] for w in model["warnings"] if w["code"] in ("parse_timeout", "too_deep")}
    assert states | given_up == set(files)
    assert {"deep.sql", "deep.cbl"} <= states


def test_a_sum_of_very_many_terms_is_given_up_and_the_rest_described(described):
    files = {"sum.js": "x = " + "a +\n" * 150_000 + "b;\n", "ok.js": "function f() {}\n"}
    model = design(described(archive(files), "sum.zip"))
    assert [f["name"] for f in model["functions"]] == ["f"]
    assert [(w["code"], w["path"]) for w in model["warnings"]] == [("too_deep", "sum.js")]


def test_functions_nested_without_end_stay_small(described):
    depth = 600
    nested = "function f(){\n" * depth + "}" * depth + "\n"
    chain = "$a" + broken("->b(1)" * 800, 240) + ";\n"
    model = design(described(archive({"n.js": nested, "c.php": f"<?php\n{chain}"}), "n.zip"))
    assert model["totals"]["files_parsed"] == 2
    assert max(len(f["qualified"]) for f in model["functions"]) < 500


def test_random_bytes_as_source_are_binary_or_described(described):
    noise = random.Random(7)
    files = {
        f"r{n}.{suffix}": noise.randbytes(4000).replace(b"\0", b"\n")
        for n, suffix in enumerate(SUFFIXES)
    }
    files["ok.py"] = b"def f(): ...\n"
    model = design(described(archive(files), "noise.zip"))
    assert "f" in [f["name"] for f in model["functions"]]


@pytest.mark.parametrize("sample", ["java-order-sjis", "ts-redux", "c-markupsafe"])
def test_the_same_input_gives_the_same_bytes_under_any_hash_seed(sample):
    digests = set()
    for seed in ("1", "4711"):
        done = subprocess.run(
            [sys.executable, "-m", "jobs.parsing", "code2des", str(CODE / f"{sample}.zip")],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        )
        digests.add(hashlib.sha256(done.stdout).hexdigest())
    assert len(digests) == 1
