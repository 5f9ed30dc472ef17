"""A batch as a zip: complete, safe to unpack, honest about what is missing."""

from __future__ import annotations

import io
import json
import zipfile

from flask.testing import FlaskClient

from models import cancellations
from models.states import ImportType
from tests.builders import change, register, report, result
from tests.web.conftest import Person


def test_a_batch_comes_as_a_zip_with_a_manifest(client: FlaskClient, person: Person) -> None:
    batch_id, (good, long, bad, gone, waiting) = register(5, subject=person.sub)
    change("UPDATE page_import SET file_name = %s WHERE id = %s", ("設計: 1/2?.pdf", good))
    change("UPDATE page_import SET file_name = %s WHERE id = %s", ("長" * 84 + ".md", long))
    report(good, "completed", result=result(pages=120))
    report(long, "completed")
    report(bad, "failed")
    cancellations.cancel_import(person.sub, ImportType.PAGE_IMPORT, gone)
    answer = client.get(f"/api/v1/batches/{batch_id}/export", headers=person.headers)
    assert answer.mimetype == "application/zip"
    assert f"torikomi-{batch_id}.zip" in answer.headers["Content-Disposition"]
    with zipfile.ZipFile(io.BytesIO(answer.data)) as archive:
        assert archive.testzip() is None
        manifest = json.loads(archive.read("manifest.json"))
        items = manifest["items"]
        assert manifest["batch_id"] == batch_id
        assert [item["import_id"] for item in items] == [good, long, bad, gone, waiting]
        assert [item["status"] for item in items] == [
            "completed",
            "completed",
            "failed",
            "cancelled",
            "queued",
        ]
        assert items[2]["error"]["code"] == "file_corrupt"
        named = [name for item in items for name in item["files"]]
        assert set(archive.namelist()) == {*named, "manifest.json"}
        assert items[1]["files"][0] == f"000002 {long}.md"
        markdown, whole = items[0]["files"]
        assert archive.read(markdown).decode().split("\n\n")[119].strip() == "頁120"
        assert len(json.loads(archive.read(whole))["pages"]) == 120


def test_no_entry_leaves_its_directory(client: FlaskClient, person: Person) -> None:
    batch_id, (child_id,) = register(subject=person.sub)
    change("UPDATE page_import SET file_name = %s WHERE id = %s", ("..\\..\\x/../y", child_id))
    report(child_id, "completed")
    data = client.get(f"/api/v1/batches/{batch_id}/export", headers=person.headers).data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            assert "/" not in name
            assert "\\" not in name


def test_an_expired_result_is_named_without_its_files(client: FlaskClient, person: Person) -> None:
    batch_id, (child_id,) = register(subject=person.sub)
    report(child_id, "completed")
    change("UPDATE page_import SET result_expired_at = now()")
    data = client.get(f"/api/v1/batches/{batch_id}/export", headers=person.headers).data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["manifest.json"]
