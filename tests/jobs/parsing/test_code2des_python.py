"""The design model of Python sources: complete, resolved, nothing invented."""

import io
import zipfile

import pytest

from jobs.parsing import ParseError


def archive(files: dict[str, str | bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in files.items():
            out.writestr(name, content)
    return stream.getvalue()


def design(lines):
    return next(line["design"] for line in lines if "design" in line)


def edges(model, kind):
    found = [r for r in model["relations"] if r["kind"] == kind]
    return {(r["from"].split("#")[-1], r["to"].split("#")[-1], r["confidence"]) for r in found}


@pytest.fixture
def shop(described):
    """A small Japanese web application, in CP932 like its makers like it."""
    files = {
        "juchu/__init__.py": "",
        "juchu/app.py": (
            '"""受注管理の起動部。画面を登録する。"""\n'
            "from flask import Flask\nfrom .auth import bp\nfrom . import api\n\n"
            "def create_app():\n    '''アプリケーションを組み立てる。'''\n"
            "    app = Flask(__name__)\n    app.register_blueprint(bp)\n"
            "    app.register_blueprint(api.bp, url_prefix='/api')\n\n"
            "    @app.route('/')\n    def top():\n        return '能'\n    return app\n\n"
            "if __name__ == '__main__':\n    create_app().run()\n"
        ),
        "juchu/auth.py": (
            "from flask import Blueprint\nfrom .db import 探す, Session\n"
            "bp = Blueprint('auth', __name__, url_prefix='/auth')\n"
            "@bp.route('/login', methods=('GET', 'POST'))\n"
            "def login():\n    s = Session()\n    s.open()\n    return 探す('x')\n"
        ),
        "juchu/api.py": (
            "from flask import Blueprint\nfrom juchu.db import 探す\n"
            "bp = Blueprint('api', __name__)\n"
            "@bp.get('/users/<int:user_id>')\ndef show(user_id: int) -> dict:\n"
            "    if user_id < 0 and True:\n        raise ValueError('負')\n"
            "    return {'u': 探す(str(user_id))}\n"
        ),
        "juchu/db.py": (
            "from enum import Enum\nfrom sqlalchemy import Column, Integer, ForeignKey\n"
            "class 状態(Enum):\n    # 受付済み\n    受付 = 1\n"
            "class Order(Base):\n    __tablename__ = 't_order'\n"
            "    id = Column(Integer, primary_key=True)\n"
            "    user_id = Column(Integer, ForeignKey('t_user.id'))\n"
            "class Session:\n    def open(self):\n        pass\n"
            "# 利用者を名前で検索する。無ければ None\n"
            "def 探す(名前: str):\n    cur.execute('SELECT * FROM t_user WHERE n = ?')\n"
            "    cur.execute('DELETE FROM t_log')\n"
        ),
    }
    return described(archive({k: v.encode("cp932") for k, v in files.items()}), "juchu.zip")


def test_the_real_project_has_every_type_function_and_import(described, corpus):
    model = design(described(corpus("code/py-itsdangerous.zip")))
    totals = model["totals"]
    assert (totals["files_parsed"], totals["types"], totals["functions"]) == (14, 29, 116)
    assert totals["imports"] == 130
    assert sum("overload" in f["modifiers"] for f in model["functions"]) == 9
    assert model["project"]["name"] == "itsdangerous"
    assert model["project"]["version"] == "2.2.0"
    assert model["cycles"] == []
    assert model["warnings"] == []


def test_internal_imports_inheritance_and_calls_are_resolved(described, corpus):
    model = design(described(corpus("code/py-itsdangerous.zip")))
    assert ("TimestampSigner", "Signer", "exact") in edges(model, "inherits")
    calls = edges(model, "calls")
    assert any(
        a.startswith("Signer.sign(") and b.startswith("Signer.get_signature(") for a, b, _ in calls
    )
    timed = next(m for m in model["modules"] if m["name"] == "itsdangerous.timed")
    assert (timed["path"], timed["role"]) == ("src/itsdangerous/timed.py", "code")
    assert {p["name"] for p in model["external"] if p["ecosystem"] == "pypi"} == {
        "freezegun",
        "pytest",
        "typing_extensions",
    }


def test_functions_tell_signature_metrics_and_exceptions(shop):
    show = next(f for f in design(shop)["functions"] if f["name"] == "show")
    assert show["signature"] == "show(user_id: int) -> dict"
    assert (show["returns"], show["throws"]) == ("dict", ["ValueError"])
    assert show["metrics"]["cyclomatic"] == 3


def test_routes_carry_the_prefixes_of_their_blueprints(shop):
    found = [(e["method"], e["path"], e["params"]) for e in design(shop)["endpoints"]]
    assert found == [
        ("GET", "/", []),
        ("GET", "/api/users/<int:user_id>", ["user_id"]),
        ("GET", "/auth/login", []),
        ("POST", "/auth/login", []),
    ]


def test_fastapi_routes_carry_the_prefix_of_their_router(described):
    source = (
        "from fastapi import APIRouter, FastAPI\nrouter = APIRouter(prefix='/items')\n"
        "@router.get('/{item_id}')\nasync def read(item_id: int): ...\n"
        "app = FastAPI()\napp.include_router(router)\n@app.post('/x')\ndef make(): ...\n"
    )
    found = design(described(source.encode(), "main.py"))["endpoints"]
    assert [(e["method"], e["path"], e["framework"]) for e in found] == [
        ("GET", "/items/{item_id}", "fastapi"),
        ("POST", "/x", "fastapi"),
    ]


def test_tables_and_their_use_come_from_orm_classes_and_sql(shop):
    model = design(shop)
    tables = {table["name"]: table for table in model["tables"]}
    assert sorted(tables) == ["t_log", "t_order", "t_user"]
    assert [c["name"] for c in tables["t_order"]["columns"]] == ["id", "user_id"]
    assert tables["t_order"]["foreign_keys"] == [{"column": "user_id", "references": "t_user.id"}]
    assert [(row["table"], row["ops"]) for row in model["crud"]] == [
        ("t_log", "D"),
        ("t_user", "R"),
    ]


def test_comments_give_logical_names_and_encodings_are_recorded(shop):
    model = design(shop)
    found = next(f for f in model["functions"] if f["name"] == "探す")
    assert found["summary"] == "利用者を名前で検索する"
    assert {f["encoding"] for f in model["files"] if f["bytes"]} == {"cp932"} | {
        f["encoding"] for f in model["files"] if f["path"].endswith("auth.py")
    }
    assert model["types"][0]["fields"][0]["doc"] == "受付済み"


def test_calls_through_constructed_objects_are_likely_and_imports_exact(shop):
    calls = edges(design(shop), "calls")
    assert ("login()", "Session.open(self)", "likely") in calls
    assert ("login()", "探す(str)", "exact") in calls


def test_flat_folders_and_relative_imports_give_edges(described):
    files = {"Foo.py": "class Foo: pass\n", "b.py": "from Foo import Foo\nclass B(Foo): pass\n"}
    files |= {"p/__init__.py": "", "p/a.py": "from . import c\n", "p/c.py": ""}
    model = design(described(archive(files), "flat.zip"))
    assert ("B", "Foo", "exact") in edges(model, "inherits")
    assert ("module:p/a.py", "module:p/c.py", "exact") in edges(model, "imports")


def test_decorated_functions_and_computed_calls_are_seen(described):
    source = "import t\n@t.trace\n@t.twice(2)\ndef f(): ...\ndef g():\n    t.trace(f)(1)\n    f()\n"
    model = design(described(source.encode(), "a.py"))
    assert [f["name"] for f in model["functions"]] == ["f", "g"]
    assert model["functions"][0]["decorators"] == ["t.trace", "t.twice(2)"]
    assert ("g()", "f()", "exact") in edges(model, "calls")


def test_import_cycles_are_found(described):
    files = {"a.py": "import b\n", "b.py": "import c\n", "c.py": "import a\n", "d.py": "import a\n"}
    model = design(described(archive(files), "cycle.zip"))
    assert model["cycles"] == [["module:a.py", "module:b.py", "module:c.py"]]


def test_one_bad_file_is_a_warning(described):
    files = {"good.py": "def f(): ...\n", "bad.py": "def broken(:\n", "rand.py": b"\0\1\2" * 99}
    model = design(described(archive(files), "mixed.zip"))
    assert {(w["code"], w["path"]) for w in model["warnings"]} == {
        ("syntax_errors", "bad.py"),
        ("binary", "rand.py"),
    }
    assert any(f["name"] == "f" for f in model["functions"])


def test_deep_nesting_does_not_overflow_the_stack(described):
    depth = 90
    nested = "".join(" " * i + "if x:\n" for i in range(depth)) + " " * depth + "pass\n"
    wide = "x = (\n" + "(\n" * 50_000 + ")\n" * 50_000 + ")\n"
    model = design(described(archive({"a.py": nested, "b.py": wide}), "deep.zip"))
    assert model["totals"]["files_parsed"] == 1
    assert [(w["code"], w["path"]) for w in model["warnings"]] == [("too_deep", "b.py")]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"%PDF-1.4 x", "a.pdf"),
        (b"BEGIN { print }", "main.awk"),
        (b"\0\1\2\3" * 100, "a.py"),
        (archive({"README.md": "x", "a.awk": "x"}), "js.zip"),
        (archive({}), "none.zip"),
    ],
)
def test_input_without_source_code_is_code_unsupported(described, content, name):
    with pytest.raises(ParseError) as caught:
        described(content, name)
    assert caught.value.code == "code_unsupported"
