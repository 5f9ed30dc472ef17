"""The design document in two languages: sections, escaping, diagrams within budget."""

import io
import re
import zipfile

from markdown_it import MarkdownIt

from jobs.parsing.code2des.mermaid import escape
from tests.jobs.parsing.code_samples import archive, markdown

HOSTILE = 'a|b`c<script>"; end [x](y) {z} #1 ~<~ 表'


def many_modules(count: int) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as out:
        for number in range(count):
            imports = "".join(f"import m{(number * 7 + k) % count}\n" for k in range(1, 6))
            out.writestr(f"m{number}.py", imports + f"class C{number}:\n    def f(self): ...\n")
    return stream.getvalue()


def test_both_documents_have_the_fourteen_sections_in_order(described, corpus):
    found = markdown(described(corpus("code/py-itsdangerous.zip")))
    japanese = re.findall(r"^## (.*)$", found["ja"], re.M)
    assert japanese == [
        "1. 概要",
        "2. システム構成",
        "3. モジュール一覧",
        "4. モジュール構成図",
        "5. エントリポイント・機能一覧",
        "6. API一覧",
        "7. クラス一覧・クラス図",
        "8. 関数仕様",
        "9. 処理フロー・呼び出し関係",
        "10. データモデル・テーブル定義・ER図",
        "11. CRUD表",
        "12. 外部依存",
        "13. 品質指標",
        "14. 解析結果と制限",
        "付録 索引",
    ]
    assert len(re.findall(r"^## ", found["en"], re.M)) == 15
    assert found["en"].startswith("# itsdangerous: design document")


def test_what_source_cannot_tell_is_said_so(described, corpus):
    found = markdown(described(corpus("code/py-itsdangerous.zip")))
    assert "| 目的・業務要件 | ソースからは判断できません |" in found["ja"]
    assert "| Purpose and requirements | not derivable from source |" in found["en"]


def test_functions_stand_in_a_table_with_logical_and_physical_names(described, corpus):
    japanese = markdown(described(corpus("code/py-itsdangerous.zip")))["ja"]
    assert "| 論理名 | 物理名 | 引数 | 戻り値 | 例外 | 複雑度 | 行 |" in japanese
    assert (
        "| Base64 encode a string of bytes or text. | `base64_encode` | `string: str \\| bytes` "
        "| `bytes` | – | 1 | 20–25 |"
    ) in japanese
    assert "test_encoding" not in japanese.split("## 14.")[0].split("## 5.")[1]


def test_every_table_row_has_as_many_cells_as_its_head(described):
    source = f'def f(a="{HOSTILE}"):\n    """{HOSTILE}"""\n'.replace('="a', "='a").replace(
        '表"):', "表'):"
    )
    text = markdown(described(source.encode(), "a.py"))["ja"]
    width = 0
    for line in text.split("\n"):
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert cells in (width, 0) or width == 0, line
        width = cells
    shown = MarkdownIt("commonmark").enable("table").render(text)
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_labels_are_escaped_by_the_one_rule():
    assert escape("表 A_b.c,d:e/f(g)-1") == "表 A_b.c,d:e/f(g)-1"
    assert escape('a"b`') == "a#34;b#96;"
    assert set(re.sub(r"#\d+;", "", escape(HOSTILE))) <= set("abcdefghijklmnopqrstuvwxyz1() 表")


def test_diagrams_stay_within_their_budget(described):
    design = described(many_modules(300), "many.zip")[1]["design"]
    for diagram in design["diagrams"]:
        text = diagram["mermaid"]
        assert len(text) < 50_000
        assert text.count("-->") <= 80
        assert diagram["nodes"] <= 50
        edges = re.findall(r"^\s+(n\d+) -->.*?(n\d+)$", text, re.M)
        assert len(edges) == len(set(edges))
    modules = next(d for d in design["diagrams"] if d["id"] == "modules")
    assert modules["omitted"] == 250


def test_omissions_are_told_in_the_document(described):
    text = markdown(described(many_modules(120), "many.zip"))["ja"]
    assert "図に収まらない 70 件は省略しています" in text


def test_members_of_class_diagrams_hold_no_second_colon(described):
    source = "class A {\n  Map<String, B> b; // 表\n  int f(int a) { return 1; }\n}\nclass B {}\n"
    design = described(source.encode(), "A.java")[1]["design"]
    diagram = next(d for d in design["diagrams"] if d["id"] == "classes")["mermaid"]
    members = [line for line in diagram.split("\n") if re.match(r"\s+n\d+ : ", line)]
    assert members == ["  n1 : b#58; Map#60;String, B#62;", "  n1 : f() int"]
    assert "  n1 --> n2 : b" in diagram


def test_test_code_of_every_language_is_left_out(described):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as out:
        for name in ("OrderTest.java", "a.test.ts", "b.spec.js", "c_test.go", "d_spec.rb", "e.cs"):
            out.writestr(name, "package main\n" if name.endswith(".go") else "class X {}\n")
        out.writestr("Contest.java", "class Contest { private void hidden() {} }\n")
    design = described(stream.getvalue(), "t.zip")[1]["design"]
    roles = {m["path"]: m["role"] for m in design["modules"]}
    assert [path for path, role in roles.items() if role == "code"] == ["Contest.java", "e.cs"]
    assert [f["public"] for f in design["functions"]] == [False]


def test_a_large_project_has_a_matrix_of_packages(described):
    tree = {f"{p}/__init__.py": "" for p in ("web", "service", "data")}
    for number in range(20):
        tree[f"web/w{number}.py"] = f"from service import s{number}\n"
        tree[f"service/s{number}.py"] = f"from data import d{number}\n"
        tree[f"data/d{number}.py"] = "from web import w0\n" if number == 3 else ""
    japanese = markdown(described(archive(tree), "large.zip"))["ja"]
    section = japanese.split("### 依存関係マトリクス（DSM）")[1].split("##")[0]
    rows = [line.split(" | ")[1:] for line in section.split("\n") if line.startswith("| ")][2:]
    assert [[cell.strip("` |") for cell in row] for row in rows] == [
        ["data", "■", "–", "1"],
        ["service", "20", "■", "–"],
        ["web", "–", "20", "■"],
    ]
    small = markdown(described(archive(dict(list(tree.items())[:30])), "small.zip"))["ja"]
    assert "DSM" not in small
