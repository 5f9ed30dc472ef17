"""The source beside its design document: lines, links that lead to them, nobody else's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient
from lxml import etree

from models import sources, transitions
from models.errors import NotFound
from models.states import ImportType
from models.transitions import ReportedResult
from tests.builders import register
from tests.web.test_designs import described
from tests.web.test_pages import SUBJECT, sign_in, signed_in

__all__ = ["described", "signed_in"]

HOSTILE = "a/<script>alert(1)</script>.py"


@pytest.fixture
def complete(described: dict[str, Any]) -> Callable[..., str]:
    """Return a function that completes a design of the given texts."""

    def completed(**changes: Any) -> str:
        _, (child_id,) = register(subject=SUBJECT, type=ImportType.CODE2DES)
        result = ReportedResult(
            sha256="0" * 64,
            detected_type="zip",
            page_count=None,
            document=described["document"],
            design=described["design"],
            markdown=described["markdown"],
            **changes,
        )
        transitions.apply_report(
            type=ImportType.CODE2DES, child_id=child_id, event="completed", run=1, result=result
        )
        return child_id

    return completed


def page(client: FlaskClient, path: str) -> Any:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return etree.HTML(answer.get_data(as_text=True))


def test_a_place_in_the_document_leads_to_its_line(
    signed_in: FlaskClient, complete: Callable[..., str], described: dict[str, Any]
) -> None:
    text = "".join(f"line {number}\n" for number in range(1, 10))
    child_id = complete(sources=[{"path": "juchu/db.py", "text": text}])
    links = page(signed_in, f"/code2des/{child_id}?doc=ja").xpath("//code/parent::a/@href")
    assert f"/code2des/{child_id}/files?path=juchu/db.py&line=8#L8" in links
    assert not any("cmd.py" in link for link in links), "its text is not kept"
    shown = page(signed_in, f"/code2des/{child_id}/files?path=juchu/db.py&line=8")
    (row,) = shown.xpath("//tr[@id='L8']")
    assert row.get("class") == "marked"
    assert row.xpath("td/code/text()") == ["line 8"]
    assert len(shown.xpath("//tbody/tr")) == 9


def test_an_exported_design_leads_to_the_lines_by_whole_addresses(
    signed_in: FlaskClient, complete: Callable[..., str]
) -> None:
    child_id = complete(sources=[{"path": "juchu/db.py", "text": "x\n"}])
    html = signed_in.get(f"/code2des/{child_id}/result?as=html").get_data(as_text=True)
    assert f"http://localhost/code2des/{child_id}/files?path=juchu/db.py" in html


def test_a_long_file_is_shown_around_the_line_asked_for(
    signed_in: FlaskClient, complete: Callable[..., str]
) -> None:
    text = "".join(f"{number}\n" for number in range(1, 2501))
    child_id = complete(sources=[{"path": "a.py", "text": text}])
    address = f"/code2des/{child_id}/files?path=a.py"
    last = page(signed_in, f"{address}&line=2400")
    assert last.xpath("//tbody/tr/@id")[0] == "L2001"
    assert len(last.xpath("//tbody/tr")) == 500
    (before,) = set(last.xpath("//a[@rel='prev']/@href"))
    assert "line=1001" in before
    for odd in ("&line=99999999", "&line=-1", "&line=x", "&line=0", "&line=٣", ""):
        assert page(signed_in, address + odd).xpath("//tbody/tr")


def test_the_source_is_its_owners_and_its_text_only_text(
    client: FlaskClient, complete: Callable[..., str]
) -> None:
    child_id = complete(sources=[{"path": HOSTILE, "text": "<script>alert(2)</script>\n"}])
    address = f"/code2des/{child_id}/files"
    sign_in(client, "somebody-else")
    assert client.get(address, query_string={"path": HOSTILE}).status_code == 404
    sign_in(client)
    answer = client.get(address, query_string={"path": HOSTILE})
    assert answer.status_code == 200
    assert "<script>alert" not in answer.get_data(as_text=True)
    assert "&lt;script&gt;alert(2)" in answer.get_data(as_text=True)
    for other in ("", "../secret", "x" * 3000):
        assert client.get(address, query_string={"path": other}).status_code == 404


def test_the_texts_go_with_the_design(complete: Callable[..., str]) -> None:
    from models import retention
    from models.database import connection, execute

    child_id = complete(sources=[{"path": "a.py", "text": "x\n"}])
    assert sources.list_paths(SUBJECT, child_id) == ["a.py"]
    with connection():
        for change in ("created_at", "completed_at"):
            execute(f"UPDATE code2des SET {change} = {change} - interval '400 days'")
    assert retention.expire_results(ImportType.CODE2DES, keep_days=365, limit=10) == [child_id]
    assert sources.list_paths(SUBJECT, child_id) == []
    with pytest.raises(NotFound):
        sources.get_source(SUBJECT, child_id, "a.py")
