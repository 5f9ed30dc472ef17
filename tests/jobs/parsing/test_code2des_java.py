"""Java: the sample in Shift_JIS meets what javac and a person found in it; traps of Java."""

from collections import Counter

import pytest

from tests.jobs.parsing.code_samples import archive, design, edges, expected, routes, tail


@pytest.fixture
def order(described, corpus):
    """The model of the order sample."""
    return design(described(corpus("code/java-order-sjis.zip")))


def test_the_sample_has_every_definition_that_javac_finds(order):
    kinds = expected("java-order-sjis")["kinds"]
    types = Counter(t["kind"] for t in order["types"])
    functions = Counter(f["kind"] for f in order["functions"])
    assert {k: types[k] for k in ("class", "interface", "enum", "record")} == {
        k: kinds[k] for k in ("class", "interface", "enum", "record")
    }
    assert sum(types.values()) == 9
    assert functions == {"method": kinds["method"], "constructor": kinds["constructor"]}
    imports = sum(1 for line in order["files"] if line["language"] == "java")
    assert (imports, order["totals"]["imports"]) == (6, kinds["import"])


def test_the_sample_has_what_must_be_found(order):
    names = {tail(f["id"]) for f in order["functions"]}
    assert {"OrderService.find(int)", "OrderService.find(int,int)", "OrderLine.get数量()"} <= names
    assert any(name.startswith("OrderService.max(") for name in names)
    assert "OrderService.register.Validator$.check(String)" in names
    status = next(t for t in order["types"] if t["name"] == "Status")
    assert [f["name"] for f in status["fields"] if f["type"] is None] == ["OPEN", "CLOSED"]
    find = next(f for f in order["functions"] if tail(f["id"]) == "OrderService.find(int,int)")
    assert find["metrics"]["cyclomatic"] == 5


def test_the_sample_has_its_endpoints_with_the_prefix_of_the_class(order):
    found = {(e["method"], e["path"], tail(e["handler"]).split("(")[0]) for e in order["endpoints"]}
    assert found == {tuple(row) for row in expected("java-order-sjis")["endpoints"]}
    assert len(order["endpoints"]) == 7
    names = [entry["name"] for entry in order["entry_points"]]
    assert names == expected("java-order-sjis")["entry_points"]


def test_the_sample_has_its_packages_cycle_and_layer_violations(order):
    def short(name):
        return name.removeprefix("jp.example.order.")

    found = {(short(e["from"]), short(e["to"])) for e in order["package_edges"]}
    facts = expected("java-order-sjis")
    assert found == {tuple(edge) for edge in facts["package_edges"]}
    assert [list(map(short, c)) for c in order["package_cycles"]] == facts["package_cycles"]
    external = {p["name"] for p in order["external"]}
    assert external == set(facts["external_packages"])
    assert {
        (v["from"].split("/")[-1], v["to"].split("/")[-1], v["kind"])
        for v in order["layer_violations"]
    } == {
        ("OrderRepository.java", "OrderService.java", "upward"),
        ("OrderController.java", "OrderRepository.java", "skip"),
    }


def test_the_sample_maps_its_entities_to_their_tables(order):
    types = {t["id"]: t["name"] for t in order["types"]}
    found = {types[t["type"]]: t["name"] for t in order["tables"] if t["type"]}
    assert found == expected("java-order-sjis")["entities"]


def test_comments_that_end_in_a_backslash_byte_are_logical_names(order):
    assert {f["encoding"] for f in order["files"] if f["language"] == "java"} == {"cp932"}
    assert {f["newline"] for f in order["files"] if f["language"] == "java"} == {"crlf"}
    names = {f["name"]: f["summary"] for f in order["functions"]}
    assert names["list"] == "一覧表"
    service = next(t for t in order["types"] if t["name"] == "OrderController")
    assert [f["doc"] for f in service["fields"]][0] == "予約と申込の共通ソース表"


def test_calls_go_to_the_right_overload_and_through_fields(order):
    calls = edges(order, "calls")
    assert ("OrderService.find(int)", "OrderService.find(int,int)", "exact") in calls
    assert ("OrderController.list(int)", "OrderService.find(int)", "likely") in calls
    assert ("OrderService.remove(long)", "OrderRepository.delete(Order)", "likely") in calls
    assert not any(a.startswith("OrderService.max") for a, _, _ in calls)
    crud = {(tail(r["function"]).split("(")[0], r["ops"]) for r in order["crud"]}
    assert ("OrderService.remove", "RD") in crud


@pytest.mark.parametrize(
    "source",
    [
        "record Point(int x, int y) {}",
        "class A { private static record Point(int x, int y) {} }",
        "record Point(int x, int y) implements Comparable<Point> { Point { } int sum() "
        "{ return x; } public int compareTo(Point o) { return 0; } }",
    ],
)
def test_a_record_is_a_type_with_its_components(described, source):
    model = design(described(source.encode(), "A.java"))
    point = next(t for t in model["types"] if t["name"] == "Point")
    assert (point["kind"], [f["name"] for f in point["fields"]]) == ("record", ["x", "y"])
    assert all(f["name"] != "Point" or f["kind"] == "constructor" for f in model["functions"])


def test_an_annotation_in_a_comment_is_no_endpoint(described):
    source = (
        "import org.springframework.web.bind.annotation.*;\n"
        '/** See @RequestMapping("/trap"). */\n@RestController\nclass A {\n'
        '  // @GetMapping("/trap")\n  @GetMapping("/a/{b}") String a() { return "x"; } }\n'
    )
    assert routes(design(described(source.encode(), "A.java"))) == [("GET", "/a/{b}")]


def test_newest_java_parses_without_errors(described):
    source = """
    package p;
    sealed interface S permits A, B {}
    record A(int v) implements S {}
    record B(String s) implements S {}
    class M {
      String t = \"\"\"
        本文 "x" \\
        \"\"\";
      int f(Object o) {
        return switch (o) { case A(int v) when v > 0 -> v; case B b -> 1; default -> 0; };
      }
    }
    """
    model = design(described(source.encode(), "M.java"))
    assert model["warnings"] == []
    assert ("A", "S", "exact") in edges(model, "implements")


def test_the_same_name_in_two_packages_is_not_mixed_up(described):
    files = {
        "a/X.java": "package a; public class X { public void go() {} }",
        "b/X.java": "package b; public class X { public void go() {} }",
        "c/U.java": "package c; import b.X; class U { X x; void u() { x.go(); } }",
    }
    model = design(described(archive(files), "x.zip"))
    calls = [r for r in model["relations"] if r["kind"] == "calls"]
    assert [(c["to"].split("#")[0], c["confidence"]) for c in calls] == [
        ("java:b/X.java", "likely")
    ]
