"""The picture of a page stands beside its text, for its owner alone."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from local.stack import Stack
from tests.browser.conftest import Person, pick, row, wait_until
from tests.browser.test_access import violations

PDF = Path(__file__).parents[1] / "corpus" / "files" / "pdf" / "jsverb.pdf"
_SHOWN = "each => each.complete && each.naturalWidth"


def test_the_picture_of_a_page_stands_beside_its_text(
    person: Person, browser: Browser, stack: Stack
) -> None:
    page = person.open()
    pick(page, (PDF.name, PDF.read_bytes()))
    expect(row(page, PDF.name).locator(".badge")).to_have_text("Completed", timeout=60_000)
    row(page, PDF.name).get_by_role("link").click()
    second = page.get_by_role("img", name="Picture of page 2")
    second.scroll_into_view_if_needed()
    expect(second).to_be_visible()
    wait_until(lambda: second.evaluate(_SHOWN) == 1131)
    text = page.locator("article").nth(1).locator("[data-searched]")
    beside, picture = text.bounding_box(), second.bounding_box()
    assert beside and picture and beside["x"] >= picture["x"] + picture["width"]
    expect(page.locator(".strip .leaf img")).to_have_count(4)

    # the headings are the document's own
    assert [each for each in violations(page) if each[2] != "heading-order"] == []

    path = second.get_attribute("src")
    assert page.request.get(path).headers["content-type"] == "image/webp"
    stranger = Person(browser, stack).open()
    assert stranger.request.get(path).status == 404
    stranger.context.close()
