"""C and C++: the sample meets ctags; declarators, macros, includes, headers."""

from collections import Counter

import pytest

from tests.jobs.parsing.code_samples import archive, design, edges, expected, tail


def test_the_sample_has_what_ast_and_ctags_find(described, corpus):
    model = design(described(corpus("code/c-markupsafe.zip")))
    facts = expected("c-markupsafe")
    c = [f for f in model["functions"] if f["id"].startswith("c:")]
    kinds = Counter(f["kind"] for f in c)
    assert kinds["function"] == facts["C"]["kinds"]["function"]
    assert kinds["macro"] == facts["C"]["kinds"]["macro"]
    stub = "src/markupsafe/_speedups.pyi"
    python = [f for f in model["functions"] if f["id"].startswith("python:")]
    assert sum(stub not in f["id"] for f in python) == facts["Python"]["functions"]
    classes = [t for t in model["types"] if t["id"].startswith("python:")]
    assert len(classes) == facts["Python"]["classes"]
    calls = edges(model, "calls")
    assert any(a.startswith("escape_unicode(") and b.startswith("escape_unicode_kind1(")
               for a, b, _ in calls)  # fmt: skip


def test_names_are_dug_out_of_declarators(described):
    source = (
        "/* 合計 */\nstatic const char *名前(int a[], char **v, ...) { return 0; }\n"
        "int (*pick(int n))(void) { return 0; }\nint proto(int);\nvoid none(void) {}\n"
        "typedef struct { int x; struct p *next; } node_t;\nenum color { RED = 1, BLUE };\n"
    )
    model = design(described(source.encode(), "a.c"))
    assert [f["name"] for f in model["functions"]] == ["名前", "pick", "none"]
    first = model["functions"][0]
    assert [(p["name"], p["type"]) for p in first["params"]] == [
        ("a", "int"),
        ("v", "char **"),
        ("...", None),
    ]
    assert (first["summary"], first["returns"]) == ("合計", "char*")
    assert [(t["kind"], t["name"]) for t in model["types"]] == [
        ("struct", "node_t"),
        ("enum", "color"),
    ]
    assert [f["default"] for f in model["types"][1]["fields"]] == ["1", None]


def test_a_function_torn_by_a_macro_is_read_on_the_second_try(described):
    source = (
        "#ifdef A\nint f(int x) {\n#else\nint f(int x, int y) {\n#endif\n  return 1;\n}\n"
        "#define TWICE(x) ((x) * 2)\nint g(void) { return f(1); }\n"
    )
    model = design(described(source.encode(), "torn.c"))
    names = [(f["name"], f["kind"]) for f in model["functions"]]
    assert ("g", "function") in names
    assert ("TWICE", "macro") in names


def test_methods_of_cpp_belong_to_their_class_inside_and_outside(described):
    files = {
        "a.hpp": "#pragma once\nnamespace n {\n/// 受注\n"
        "template<class T> class A : public B<T> {\n"
        " public:\n  A() {}\n  ~A() {}\n  int get() const { return m_; }\n  int put(int v);\n"
        "  bool operator==(const A& o) const { return true; }\n"
        "  operator T*() const { return 0; }\n private:\n  int m_;\n};\n}\n",
        "a.cpp": '#include "a.hpp"\nint n::A::put(int v) { return get(); }\n'
        "int main(int argc, char** argv) { n::A a; try { throw Err(1); } catch (...) {} }\n",
    }
    model = design(described(archive(files), "a.zip"))
    found = {tail(f["id"]).split("(")[0]: f["kind"] for f in model["functions"]}
    assert found == {
        "n.A.A": "constructor",
        "n.A.~A": "method",
        "n.A.get": "method",
        "n.A.operator==": "method",
        "n.A.operator T": "method",
        "n.A.put": "method",
        "main": "function",
    }
    assert model["types"][0]["summary"] == "受注"
    assert [f["name"] for f in model["types"][0]["fields"]] == ["m_"]
    assert model["entry_points"][0]["kind"] == "main"
    main = next(f for f in model["functions"] if f["name"] == "main")
    assert (main["throws"], main["metrics"]["cyclomatic"]) == (["Err"], 2)
    imports = [r for r in model["relations"] if r["kind"] == "includes"]
    assert [(r["from"], r["to"]) for r in imports] == [("module:a.cpp", "module:a.hpp")]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_with_a_mark_is_read(described, encoding):
    mark = b"\xff\xfe" if encoding == "utf-16-le" else b"\xfe\xff"
    data = mark + "class K { int 能() { return 1; } };".encode(encoding)
    model = design(described(data, "k.cpp"))
    assert [f["name"] for f in model["functions"]] == ["能"]
