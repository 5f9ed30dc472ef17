"""Batches and results: find, filter, read, copy, take away."""

import json
import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Person, pick, run_sql, wait_until
from tests.browser.seeds import add_design, add_import, add_pages

DESIGN = "# app\n\nTop\n\n## 1. Overview\n\nneedle one\n\n## 2. Parts\n\nneedle two\n"


def test_batches_are_found_by_state_and_by_a_files_name(person: Person) -> None:
    add_import(person.stack, person.subject, name="請求書_2026.pdf", status="completed")
    batch_id, _ = add_import(person.stack, person.subject, name="100%_done.txt", status="failed")
    add_import(person.stack, person.subject, name="second.txt", batch_id=batch_id, position=1)
    page = person.open("/batches")
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_label("File name").fill("書_20")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody")).to_contain_text("請求書_2026.pdf")
    page.get_by_label("File name").fill("SECOND")
    page.keyboard.press("Enter")
    expect(page.locator("tbody")).to_contain_text("100%_done.txt")
    expect(page.locator("tbody")).to_contain_text("and 1 other file")
    page.get_by_role("link", name="Completed", exact=True).click()
    expect(page.get_by_text("No batch fits.")).to_be_visible()
    page.get_by_role("link", name="Show all batches").click()
    page.get_by_role("link", name="Running", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(1)


def test_batches_come_page_by_page_and_keep_the_filter(person: Person) -> None:
    for number in range(27):
        add_import(person.stack, person.subject, name=f"f{number:02}.pdf", status="completed")
    page = person.open("/batches?state=completed&q=f")
    expect(page.locator("tbody tr")).to_have_count(25)
    page.get_by_role("link", name="Next page").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page).to_have_url(re.compile("state=completed"))
    page.get_by_role("link", name="First page").click()
    expect(page.locator("tbody tr")).to_have_count(25)


def test_a_batch_shows_its_rows_by_state_and_retries_what_failed(person: Person) -> None:
    plain = person.open(java_script_enabled=False)
    pick(plain, ("locked.pdf", b"%PDF-1.7 nothing"), ("good.txt", b"good"))
    plain.get_by_role("button", name="Upload").click()
    expect(plain.locator(".badge", has_text="Partly failed")).to_be_visible()
    page = person.tab(person.open().context, plain.url)
    expect(page.locator("li.file")).to_have_count(2)
    expect(page.locator("li.file .file-why")).not_to_be_empty()
    page.get_by_role("link", name="Failed 1").click()
    expect(page.locator("li.file")).to_have_count(1)
    page.get_by_role("button", name="Try what failed again").click()
    runs = "SELECT run FROM page_import WHERE created_by = %s ORDER BY run"
    wait_until(lambda: run_sql(person.stack, runs, person.subject) == [(1,), (2,)])


def test_a_batch_is_cancelled_and_its_rows_follow(person: Person) -> None:
    batch_id, _ = add_import(person.stack, person.subject, name="one.pdf")
    add_import(person.stack, person.subject, name="two.pdf", batch_id=batch_id, position=1)
    page = person.open(f"/batches/{batch_id}")
    expect(page.locator("li.file .badge", has_text="Waiting")).to_have_count(2)
    page.get_by_role("button", name="Cancel what still runs").click()
    expect(page.locator("li.file .badge", has_text="Cancelled")).to_have_count(2)
    expect(page.get_by_role("button", name="Cancel what still runs")).to_have_count(0)


def test_a_document_is_read_in_three_views_found_in_and_taken_away(person: Person) -> None:
    pages = [
        {"text": f"text {n}", "markdown": f"## Title {n}\n\n*text* {n}", "tables": []}
        for n in range(1, 23)
    ]
    pages[16] |= {"text": "the needle in 十七", "tables": [[["cell one", "cell two"]]]}
    child_id = add_pages(person.stack, person.subject, *pages, name="長い文書.pdf")
    page = person.open(f"/imports/{child_id}")
    expect(page.get_by_role("heading", name="Title 3", exact=True)).to_be_visible()
    page.get_by_role("searchbox").fill("NEEDLE")
    page.get_by_role("searchbox").press("Enter")
    expect(page.locator(".hits mark")).to_have_text("needle")
    page.locator(".hits").get_by_role("link", name="Page 17").click()
    expect(page).to_have_url(re.compile("#page-17$"))
    page.get_by_role("link", name="Text", exact=True).first.click()
    expect(page.locator(".text", has_text="the needle in 十七")).to_be_visible()
    marked = "[...(CSS.highlights.get('found') ?? [])].map(String)"
    wait_until(lambda: page.evaluate(marked) == ["needle"])
    page.get_by_role("link", name="Tables", exact=True).click()
    expect(page.get_by_role("cell", name="cell two")).to_be_visible()
    with page.expect_download() as taken:
        page.get_by_role("link", name="JSON").click()
    assert taken.value.suggested_filename == "長い文書.json"
    body = json.loads(Path(taken.value.path()).read_text("utf-8"))
    assert [each["number"] for each in body["pages"]] == list(range(1, 23))
    with page.expect_download() as taken:
        page.locator("aside").get_by_role("link", name="Markdown").click()
    assert (
        Path(taken.value.path()).read_text("utf-8").startswith("## Title 1\n\n*text* 1\n\n## Tit")
    )


def test_very_many_hits_are_marked_up_to_a_bound(person: Person) -> None:
    text = "あ" * 200_000
    child_id = add_pages(person.stack, person.subject, {"text": text, "markdown": text})
    page = person.open(f"/imports/{child_id}?q=あ")
    marked = "[...(CSS.highlights.get('found') ?? [])].length"
    wait_until(lambda: page.evaluate(marked) == 10_000)


def test_a_footnote_is_followed_to_its_text_and_back(person: Person) -> None:
    pages = [
        {
            "text": "x",
            "markdown": f"# 契約{n}\n\n本文[^1]です。~~旧条項~~は削る。\n\n[^1]: 脚注{n}の文です。",
        }
        for n in (1, 2)
    ]
    child_id = add_pages(person.stack, person.subject, *pages)
    page = person.open(f"/imports/{child_id}")
    page.locator("sup a").nth(1).click()
    expect(page.locator(".footnote:target")).to_have_text("[1] 脚注2の文です。")
    page.locator(".footnote:target a").click()
    expect(page.locator("sup:target")).to_have_count(1)
    expect(page).to_have_url(re.compile("#page-2-mark-1$"))


def test_a_pages_text_is_copied(person: Person) -> None:
    child_id = add_pages(person.stack, person.subject, {"text": "写す\nline", "markdown": "写す"})
    page = person.open(f"/imports/{child_id}", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy text of page 1").click()
    expect(page.locator("[data-status]")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "写す\nline"


def test_a_design_has_contents_two_languages_and_a_search(person: Person) -> None:
    ja = DESIGN.replace("Overview", "概要")
    child_id = add_design(person.stack, person.subject, {"name": "app"}, ja, DESIGN)
    page = person.open(f"/code2des/{child_id}")
    page.locator(".contents").get_by_role("link", name="2. Parts").click()
    expect(page).to_have_url(re.compile("#section-3$"))
    page.get_by_role("searchbox").fill("needle")
    expect(page.locator(".find output")).to_have_text("1 of 2")
    page.get_by_role("searchbox").press("Enter")
    expect(page.locator(".find output")).to_have_text("2 of 2")
    page.locator(".tools").get_by_role("link", name="日本語").click()
    expect(page.locator(".contents")).to_contain_text("1. 概要")
    with page.expect_download() as taken:
        page.locator("aside").get_by_role("link", name="Markdown").click()
    assert Path(taken.value.path()).read_text("utf-8") == ja
