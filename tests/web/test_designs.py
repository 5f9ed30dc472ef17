"""A design document as a workbook and as one HTML file: all rows, no formula, no request out."""

from __future__ import annotations

import re
import zipfile
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask
from flask.testing import FlaskClient
from lxml import etree
from python_calamine import CalamineWorkbook
from werkzeug.datastructures import Headers
from werkzeug.test import EnvironBuilder, run_wsgi_app

from jobs.parsing import parse
from jobs.parsing.code2des.phrases import PHRASES
from models import transitions
from models.states import ImportType
from models.transitions import ReportedResult
from tests.builders import change, register
from tests.web.test_pages import SUBJECT, signed_in
from web.designs.document import stream_document
from web.designs.sheets import SHEETS
from web.designs.terms import TERMS
from web.designs.workbook import write_workbook

__all__ = ["signed_in"]

MADE = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
FORMULA = "=HYPERLINK('http://evil.example')"
SOURCE = f'''"""受注を扱う。"""
class Order(Base):
    """受注。"""
    __tablename__ = "{FORMULA}"
    id = Column(Integer, primary_key=True)
    note = "<script>alert(1)</script>"

def take(order: Order, pieces: int = 1) -> int:
    """受注を引き当てる。"""
    return pieces
'''

FORM = """<title>受注入力</title><form method="post" action="/orders" name="order">
<label>数量 <input name="pieces" type="number" required></label></form><a href="/">戻る</a>"""


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the result lines of a small project, by kind."""
    path = tmp_path_factory.mktemp("source") / "juchu.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("juchu/db.py", SOURCE)
        archive.writestr("juchu/+cmd.py", "import juchu.db\n\ndef main():\n    juchu.db.take(1)\n")
        archive.writestr("templates/order.html", FORM)
        archive.writestr("schema.sql", "CREATE TABLE t_order (id int PRIMARY KEY, name text);")
    lines = parse(
        "code2des", path, file_name="juchu.zip", options={}, progress=lambda done, total: None
    )
    return {kind: value for line in lines for kind, value in line.items()}


def sheets(path: Path) -> dict[str, list[list[Any]]]:
    book = CalamineWorkbook.from_path(path)
    return {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}


@pytest.mark.parametrize(("language", "place"), [("ja", 0), ("en", 1)])
def test_a_workbook_has_every_row_of_the_model(
    described: dict[str, Any], tmp_path: Path, language: str, place: int
) -> None:
    design = described["design"]
    write_workbook(design, tmp_path / "a.xlsx", language=language, made=MADE)
    found = sheets(tmp_path / "a.xlsx")
    for key, names in {
        "files": ("ファイル一覧", "Files"),
        "functions": ("関数一覧", "Functions"),
        "types": ("クラス一覧", "Types"),
        "tables": ("テーブル一覧", "Tables"),
        "relations": ("関係一覧", "Relations"),
        "screens": ("画面一覧", "Screens"),
    }.items():
        assert len(found[names[place]]) == len(design[key]) + 1, key
    functions = [row[1] for row in found[("関数一覧", "Functions")[place]]]
    assert {"take", "main"} <= set(functions)
    (field,) = found[("画面項目", "Screen fields")[place]][1:]
    assert field[1:6] == ["order POST /orders", "数量", "pieces", "number", "○"]
    assert [row[2] for row in found[("画面遷移", "Navigation")[place]][1:]] == ["/", "/orders"]
    kinds = {row[2] for row in found[("クラス一覧", "Types")[place]][1:]}
    assert kinds == {("クラス", "class")[place]}


def test_nothing_in_a_workbook_is_a_formula(described: dict[str, Any], tmp_path: Path) -> None:
    write_workbook(described["design"], tmp_path / "a.xlsx", language="ja", made=MADE)
    with zipfile.ZipFile(tmp_path / "a.xlsx") as book:
        pages = [book.read(name).decode() for name in book.namelist() if "worksheets/" in name]
    assert any("evil.example" in page for page in pages)
    assert not any("<f>" in page for page in pages)


def test_the_same_design_gives_the_same_workbook(described: dict[str, Any], tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_workbook(described["design"], tmp_path / name, language="ja", made=MADE)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_rows_of_a_workbook_link_to_their_source_line(
    described: dict[str, Any], tmp_path: Path
) -> None:
    write_workbook(
        described["design"],
        tmp_path / "a.xlsx",
        language="ja",
        made=MADE,
        link=lambda path, line: f"https://torikomi.example/files?path={path}#L{line}",
    )
    with zipfile.ZipFile(tmp_path / "a.xlsx") as book:
        names = [name for name in book.namelist() if "worksheets/" in name]
        text = b"".join(book.read(name) for name in names)
    assert b"https://torikomi.example/files?path=juchu/db.py" in text
    assert b'location="L8"' in text


def test_a_cell_takes_no_more_text_than_excel_does(
    described: dict[str, Any], tmp_path: Path
) -> None:
    design = described["design"]
    long = {**design, "warnings": [{"code": "x", "path": "p", "line": 1, "detail": "長" * 40_000}]}
    write_workbook(long, tmp_path / "a.xlsx", language="ja", made=MADE)
    assert len(sheets(tmp_path / "a.xlsx")["警告一覧"][1][3]) == 32_767


def test_a_workbook_says_the_words_of_the_document() -> None:
    said = {ja for key, (ja, _) in PHRASES.items() if "_" in key}
    ours = {
        "参照", "継承", "実装", "使用", "解析済み", "一部解析", "対象外", "本体", "テスト",
        "主キー", "一意", "外部キー",
    }  # fmt: skip
    assert set(TERMS.values()) <= said | ours
    assert len({sheet.ja for sheet in SHEETS}) == len(SHEETS)
    assert all(len(sheet.en) <= 31 and len(sheet.ja) <= 31 for sheet in SHEETS)


def test_one_html_file_shows_everything_and_asks_for_nothing(
    app: Flask, described: dict[str, Any]
) -> None:
    with app.test_request_context("/"):
        text = "".join(stream_document(described["markdown"]["ja"], language="ja", title="<b>受注"))
    tree = etree.HTML(text)
    assert "<title>&lt;b&gt;受注</title>" in text
    assert tree.xpath("//svg | //*[local-name()='svg']")
    assert not tree.xpath("//script | //img | //link | //iframe | //@onload | //@onclick")
    assert not re.findall(r"(?:src|href)=[\"'](?!#)", text)
    anchors = {each.removeprefix("#") for each in tree.xpath("//nav/a/@href")}
    assert len(anchors) == 15
    assert anchors <= set(tree.xpath("//section/@id"))
    assert "受注を引き当てる" in text
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids))


def served(app: Flask, client: FlaskClient, path: str) -> tuple[str, Headers, bytes]:
    """Ask as a server does: the body is read when the application has already returned."""
    cookie = client.get_cookie("torikomi_session")
    assert cookie
    asked = EnvironBuilder(path=path, headers=[("Cookie", f"{cookie.key}={cookie.value}")])
    body, status, headers = run_wsgi_app(app, asked.get_environ())
    return status, headers, b"".join(body)


def test_the_page_offers_each_way_to_take_a_design_away(
    app: Flask, signed_in: FlaskClient, described: dict[str, Any]
) -> None:
    batch_id, (child_id,) = register(subject=SUBJECT, type=ImportType.CODE2DES)
    change("UPDATE code2des SET file_name = '受注.v2.tar.gz' WHERE id = %s", (child_id,))
    done = ReportedResult(
        sha256="0" * 64,
        detected_type="zip",
        page_count=None,
        document=described["document"],
        design=described["design"],
        markdown=described["markdown"],
        sources=[{"path": "juchu/db.py", "text": "def take():\n    pass\n"}],
    )
    transitions.apply_report(
        type=ImportType.CODE2DES, child_id=child_id, event="completed", run=1, result=done
    )
    page = signed_in.get(f"/code2des/{child_id}?doc=ja").get_data(as_text=True)
    for kind, start in {"html": b"<!doctype html>", "xlsx": b"PK", "markdown": b"#"}.items():
        assert f"as={kind}" in page
        path = f"/code2des/{child_id}/result?as={kind}&doc=ja"
        status, headers, data = served(app, signed_in, path)
        assert status == "200 OK"
        assert data.startswith(start), kind
        assert headers["Content-Disposition"].startswith("attachment")
        ending = "md" if kind == "markdown" else kind
        assert headers["Content-Disposition"].endswith(f"''{quote('受注.v2')}.{ending}")
    status, _, data = served(app, signed_in, f"/batches/{batch_id}/export")
    with zipfile.ZipFile(BytesIO(data)) as archive:
        assert len(archive.namelist()) == 4
