"""Everybody can use every screen: axe finds nothing, a narrow screen needs no sideways scroll."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Person, run_sql
from tests.browser.seeds import add_design, add_import, add_pages

#: axe-core 4.14.1, as npm gives it (MPL 2.0); read here, served by nobody.
AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text("utf-8")
RUN_AXE = """axe.run({ resultTypes: ["violations"] }).then((done) => done.violations.map((each) =>
    [each.id, each.nodes.map((node) => [node.html.slice(0, 200), node.failureSummary])]))"""
MARKDOWN = (
    "# 一\n\n## 二\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```mermaid\nflowchart TD\n  a --> b\n```\n"
)


def every_state(person: Person) -> dict[str, str]:
    """Give the person something on every screen; return the path of each."""
    person.is_operator = True
    stack, subject = person.stack, person.subject
    batch_id, waiting = add_import(stack, subject)
    more = {"batch_id": batch_id}
    reading = {"status": "processing", "progress_done": 2, "progress_total": 7}
    add_import(stack, subject, position=1, **reading, **more)
    failed = {"status": "failed", "error_code": "file_corrupt", "error_message": "no xref table"}
    add_import(stack, subject, position=2, **failed, **more)
    add_import(stack, subject, position=3, cancelled=True, **more)
    _, broken = add_import(stack, subject, **failed)
    add_import(stack, subject, **{**failed, "error_code": "dead_lettered"})
    pages = [{"text": "本文", "markdown": MARKDOWN, "tables": [[["a", "b"]]]}] * 12
    whole = add_pages(stack, subject, *pages)
    design = add_design(stack, subject, {"name": "app"}, MARKDOWN, MARKDOWN)
    run_sql(
        stack,
        """UPDATE page SET image = '{"media_type": "image/webp", "width": 800, "height": 1131,
               "size_bytes": 1, "sha256": "00"}' WHERE page_import_id = %s AND number < 3""",
        whole,
    )
    run_sql(
        stack,
        """INSERT INTO code2des_source
               (code2des_id, number, path, content, created_by, updated_by)
           VALUES (%s, 1, 'app.py', %s, 'test', 'test')""",
        design,
        "def start() -> None:\n    print('" + "long " * 60 + "')\n" * 40,
    )
    return {
        "upload": "/",
        "batches": "/batches",
        "no_batch": "/batches?q=nothing-like-it",
        "batch": f"/batches/{batch_id}",
        "waiting": f"/imports/{waiting}",
        "failed": f"/imports/{broken}",
        "rendered": f"/imports/{whole}",
        "text": f"/imports/{whole}?view=text&q=本文",
        "tables": f"/imports/{whole}?view=tables&page=11",
        "design": f"/code2des/{design}",
        "source": f"/code2des/{design}/files?path=app.py&line=2",
        "operator": "/operator",
        "api": "/docs",
        "codes": "/docs/errors",
        "missing": "/nowhere",
    }


def violations(page: Page) -> list[Any]:
    """Run axe on what is shown, in both themes."""
    page.evaluate(AXE)
    found = []
    for theme in ("dark", "light"):
        page.emulate_media(color_scheme=theme)
        found += [[page.url, theme, *each] for each in page.evaluate(RUN_AXE)]
    return found


@pytest.mark.parametrize("language", ["ja", "en"])
def test_axe_finds_nothing_on_any_page_in_either_theme(person: Person, language: str) -> None:
    paths = every_state(person)
    page = person.open("/", language=language)
    found = []
    for path in paths.values():
        page.goto(path)
        found += violations(page)
    page.goto("/")
    page.set_input_files("#files", {"name": "a.mp4", "mimeType": "video/mp4", "buffer": b"x"})
    expect(page.locator("li.file .badge.failed").first).to_be_visible()
    found += violations(page)
    page.context.clear_cookies()
    page.goto("/sign-in")
    found += violations(page)
    assert found == []


@pytest.mark.parametrize("language", ["ja", "en"])
def test_no_screen_scrolls_sideways_on_a_phone(person: Person, language: str) -> None:
    paths = every_state(person)
    page = person.open(
        "/", language=language, viewport={"width": 390, "height": 844}, has_touch=True
    )
    for path in paths.values():
        page.goto(path)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 390, path


def test_a_row_can_be_worked_by_keyboard_and_keeps_the_focus(person: Person) -> None:
    add_import(person.stack, person.subject, name="waits.pdf")
    page = person.open()
    button = page.get_by_role("button", name="Cancel: waits.pdf")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator("li.file .badge")).to_have_text("Cancelled")
    expect(page.get_by_role("link", name="waits.pdf")).to_be_focused()
    expect(page.locator("[data-status]")).to_contain_text("waits.pdf: Cancelled")


def test_the_printed_result_is_the_document_alone(person: Person) -> None:
    child_id = add_pages(person.stack, person.subject, {"text": "本文", "markdown": "本文"})
    page = person.open(f"/imports/{child_id}")
    page.emulate_media(media="print")
    expect(page.get_by_text("本文").first).to_be_visible()
    for gone in (".top", "aside", ".tools", "footer"):
        expect(page.locator(gone)).to_be_hidden()
