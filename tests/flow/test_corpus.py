"""Every corpus file: through the API and through the form."""

import re

import httpx
import pytest

from tests.flow.papers import corpus_files

FILES = corpus_files()

#: What a file ends as, where it is not its text; the reason is the real one.
REFUSED = {
    "r6-user-password.pdf": "file_encrypted",
    "testWORD_truncated.docx": "file_corrupt",
    "pass_protected.xlsx": "file_encrypted",
    "T02-01_001_document-catalog-No-document-catalog.pdf": "file_corrupt",
}
#: A readable page with nothing on it: completed, and the page says so.
BLANK = {"invalid-xref-loop.pdf"}
#: A passage that must be readable in the text of the pages.
PASSAGES = {
    "test_mskanji.csv": "髙橋",
    "noembed-sjis.pdf": "あいうえお",
    "faq.md": "Vue",
    "shift_jis.html": "こんにちは",
    "Symbol.csv": "記号",
    "vertical_writing.pdf": "日本語",
    "61470.docx": "東京(とうきょう)",
    "testWORD_missing_text.docx": "BigCompany",
    "word_sample.docx": "Swimming in the lake",
    "powerpoint_sample.pptx": "Some notes on the second slide.",
    "2411-Performance_Up.pptx": "Apache Performance Tuning",
    "ja.json": "沖縄県",
    "japanese_iso_2022.eml": "すみません。",
    "simple.zip": "How to Get New Ideas",
    "50299.xlsx": "実行前の行の高さ",
    "date.xlsx": "2021-01-01",
    "any_sheets.xls": "This workbook contains 4 sheets",
}


def check(api, done):
    name = done["file_name"]
    if name in REFUSED:
        assert (done["status"], done["error"]["code"]) == ("failed", REFUSED[name])
        return
    assert done["status"] == "completed", done["error"]
    pages, query = [], {}
    while not pages or query["cursor"] is not None:
        found = api.get(f"/api/v1/imports/{done['import_id']}/pages", params=query).json()
        pages += found["pages"]
        query = {"cursor": found["next_cursor"]}
    assert len(pages) == done["page_count"]
    text = "\n".join(page["text"] for page in pages)
    if name in BLANK:
        assert (text, len(pages)) == ("", 1)
        assert pages[0]["warnings"][0].startswith("no_text_layer")
        return
    assert text.strip()
    assert PASSAGES.get(name, "") in text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_corpus_file_sent_through_the_api_ends_readable_or_with_its_reason(
    upload, ended, api, path
):
    accepted = upload(path.read_bytes(), path.name)
    check(api, ended(accepted["import_id"], seconds=90))


@pytest.fixture
def browser(stack):
    """Signed in on the page, as a browser without JavaScript would be."""
    with httpx.Client(base_url=stack.url, timeout=60, follow_redirects=True) as client:
        page = client.get("/sign-in")
        client.post(
            "/sign-in",
            data={
                "csrf_token": field(page.text, "csrf_token"),
                "username": stack.provisioned.username,
                "password": stack.provisioned.password,
            },
        )
        yield client


def field(html: str, name: str) -> str:
    found = re.search(rf'name="{name}"[^>]*value="([^"]*)"', html)
    assert found, f"no field {name}"
    return found.group(1)


def test_all_corpus_files_sent_through_the_form_end_readable_or_with_their_reason(
    browser, api, ended
):
    page = browser.get("/")
    fields = [
        ("csrf_token", (None, field(page.text, "csrf_token"))),
        ("idempotency_token", (None, field(page.text, "idempotency_token"))),
        ("type", (None, "page_import")),
    ]
    files = [("files", (path.name, path.read_bytes())) for path in FILES]
    shown = browser.post("/", files=fields + files)
    assert shown.status_code == 200, shown.text
    batch_id = re.search(r"/batches/([0-9a-f-]{36})", str(shown.url)).group(1)
    items = api.get(f"/api/v1/batches/{batch_id}/items?limit=100").json()["items"]
    assert [item["file_name"] for item in items] == [path.name for path in FILES]
    for item in items:
        check(api, ended(item["import_id"], seconds=120))
