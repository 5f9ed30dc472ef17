"""Thirteen bug reports of other tools, replayed: each names the report and its symptom."""

import re
import subprocess
import sys

import pytest

from jobs.parsing.code2des import grammar
from jobs.parsing.code2des.grammar import Grammar
from jobs.parsing.code2des.languages import MODULES
from tests.jobs.parsing.code_samples import archive, design, edges


def names(model):
    return [f["name"] for f in model["functions"]]


def test_1_grammars_are_here_without_any_network(tmp_path):
    """xberg-io/tree-sitter-language-pack#95: grammars fetched at the first parse."""
    (tmp_path / "a.rs").write_text("fn here() {}\n")
    code = (
        "import socket, sys\ndef no(*a, **k): raise OSError('no route')\n"
        "socket.socket.connect = no\nsocket.getaddrinfo = no\n"
        "from jobs.parsing.__main__ import main\nsys.exit(main(sys.argv[1:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "code2des", str(tmp_path / "a.rs")],
        capture_output=True,
        text=True,
        check=True,
        env={"HOME": str(tmp_path), "PATH": ""},
    )
    assert '"name": "here"' in done.stdout


def test_2_a_file_that_overruns_the_parser_does_not_end_the_run(described, monkeypatch):
    """yamadashy/repomix#1668: one C++ file aborts everything."""
    monkeypatch.setattr(grammar, "PARSE_SECONDS", 0.0)
    big = "int x = (" + "(" * 200_000 + ";\n"
    big = "\n".join(big[start : start + 100] for start in range(0, len(big), 100))
    model = design(described(archive({"bad.cpp": big, "good.cpp": "int f() { return 1; }\n"}), "z"))
    assert names(model) == ["f"]
    assert [(w["code"], w["path"]) for w in model["warnings"]] == [("parse_timeout", "bad.cpp")]


def test_3_a_kanji_across_a_block_border_is_no_binary(described):
    """coderamp-labs/gitingest#578: a character across byte 1,024."""
    source = "//" + "a" * 1021 + "漢字\nclass K {}\n"
    for size in (1019, 1020, 1021, 1022, 8187, 8188, 8189):
        source = "//" + "a" * size + "漢字\nclass K {}\n"
        model = design(described(source.encode(), "K.java"))
        assert [t["name"] for t in model["types"]] == ["K"]


def test_4_a_trail_byte_0x5c_eats_no_quote_and_no_line_end(described):
    """thpatch/thtk#92, doxygen/doxygen#2969: CP932 text leaves strings open."""
    source = (
        "/** 注文の一覧です。日本語の説明を十分に書く */\nclass A {\n"
        '  String s = "能";\n  // 一覧表\n  void m() {}\n  void n() {}\n}\n'
    )
    model = design(described(source.encode("cp932"), "A.java"))
    assert names(model) == ["m", "n"]
    assert model["functions"][0]["summary"] == "一覧表"
    assert model["warnings"] == []


@pytest.mark.parametrize(
    ("codec", "mark"), [("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")]
)
def test_5_a_utf_16_file_is_not_all_errors(described, codec, mark):
    """tree-sitter/tree-sitter-c-sharp#252: UTF-16 gives no definition."""
    source = "namespace N { class K { void 能() { } } }\r\n"
    model = design(described(mark + source.encode(codec), "K.cs"))
    assert (names(model), model["warnings"]) == (["能"], [])


def test_6_a_megabyte_of_data_is_given_up_in_time(described, monkeypatch):
    """tree-sitter/tree-sitter-java#187, cq27-dev/rag-rat#210: busy for minutes."""
    monkeypatch.setattr(grammar, "PARSE_SECONDS", 0.05)
    data = "1,2,3,4\n" * 110_000
    files = {"Data.java": data, "Good.java": "class Good { void g() {} }\n"}
    model = design(described(archive(files), "a.zip"))
    assert names(model) == ["g"]
    assert [w["code"] for w in model["warnings"]] == ["parse_timeout"]
    huge = archive({"Data.java": data * 2, "Good.java": files["Good.java"]})
    assert [w["code"] for w in design(described(huge, "a.zip"))["warnings"]] == ["too_large"]


def test_7_records_are_types_in_java_and_csharp(described):
    """universal-ctags/ctags#4435, #4503: record as method or property."""
    files = {
        "A.java": "class A { private record Point(int x, int y) { int sum() { return x; } } }",
        "B.cs": "class B { public record P(int X); public record struct Q(int Y) { } }",
    }
    model = design(described(archive(files), "r.zip"))
    records = [t["qualified"] for t in model["types"] if t["kind"] == "record"]
    assert records == ["A.Point", "B.P", "B.Q"]
    assert names(model) == ["sum"]


def test_8_angular_decorators_hide_no_method(described):
    """universal-ctags/ctags#3827: decorators hide the methods of a class."""
    source = (
        "export class C {\n  @Input() id: string;\n  @Output() out = new E<string>();\n"
        "  @ViewChild('a', {static: false}) a: E;\n"
        + "".join(f"  @HostListener('x{n}', ['$event'])\n  m{n}(e) {{ }}\n" for n in range(7))
        + "}\n"
    )
    assert names(design(described(source.encode(), "c.ts"))) == [f"m{n}" for n in range(7)]


def test_9_flat_and_relative_imports_give_edges(described):
    """pylint-dev/pylint#9559, #7686: no edge, no inheritance."""
    files = {
        "p/__init__.py": "",
        "p/a.py": "from . import b\n",
        "p/b.py": "",
        "Foo.py": "class Foo: ...\n",
        "use.py": "from Foo import Foo\nclass Bar(Foo): ...\n",
    }
    model = design(described(archive(files), "p.zip"))
    assert ("module:p/a.py", "module:p/b.py", "exact") in edges(model, "imports")
    assert ("Bar", "Foo", "exact") in edges(model, "inherits")


def test_10_diagrams_survive_many_edges_and_odd_labels(described):
    """mermaid-js/mermaid#5042, AsyncFuncAI/deepwiki-open#437: too many edges, backticks."""
    files = {
        f"m{n}.py": "".join(f"import m{(n * k) % 40}\n" for k in range(2, 20)) for n in range(40)
    }
    files["`@x-core`/end.ts"] = "export class end { `a` = 1 }\n"
    model = design(described(archive(files), "many.zip"))
    for diagram in model["diagrams"]:
        assert diagram["mermaid"].count("-->") <= 80
        assert "`" not in diagram["mermaid"]
        assert not re.search(r"^\s*end\[", diagram["mermaid"], re.M)


def test_11_a_comment_on_the_first_overload_serves_all(described):
    """TypeStrong/typedoc#2718: only the first overload has its text."""
    source = "/** 足す */\nfunction f(a: 1): 1;\nfunction f(a: 2): 2;\nfunction f(a: any) {}\n"
    model = design(described(source.encode(), "f.ts"))
    assert [f["summary"] for f in model["functions"]] == ["足す"] * 3


def test_12_a_query_out_of_step_with_its_grammar_is_asked_without_that_pattern():
    """Aider-AI/aider#5138: one unknown node name stops the whole map."""
    found = Grammar("tree_sitter_go", "(no_such_node) @type.class\n\n(function_declaration) @f")
    tree = found.parse(b"package p\nfunc f() {}\n")
    assert len(found.captures(tree.root_node)["f"]) == 1
    assert len(found.missing) == 1


@pytest.mark.parametrize("language", sorted(MODULES))
def test_12_every_query_fits_the_pinned_grammar(language, described):
    sources = {
        "python": "x.py",
        "java": "X.java",
        "javascript": "x.jsx",
        "typescript": "x.tsx",
        "go": "x.go",
        "c": "x.c",
        "cpp": "x.cpp",
        "csharp": "x.cs",
        "ruby": "x.rb",
        "php": "x.php",
        "rust": "x.rs",
        "kotlin": "x.kt",
        "sql": "x.sql",
        "cobol": "x.cbl",
        "html": "x.html",
    }
    model = design(described(b" \n", sources[language]))
    assert [w for w in model["warnings"] if w["code"] == "query_mismatch"] == []


def test_13_decorated_functions_and_computed_calls_are_seen(described):
    """tirth8205/code-review-graph#19, scottrogowski/code2flow#36."""
    files = {
        "a.py": "@decorate(1)\n@other\ndef f(): ...\n",
        "b.py": "from a import f\ndef g():\n    trace(f)(x)\n    f()\n",
    }
    model = design(described(archive(files), "d.zip"))
    assert names(model) == ["f", "g"]
    assert ("g()", "f()", "exact") in edges(model, "calls")
