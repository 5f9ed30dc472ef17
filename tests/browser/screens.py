"""Take the screenshots of docs/screens from the running product: python -m tests.browser.screens

Every screen is taken at both widths, in both languages and in both themes; `--all DIRECTORY` keeps
all of them, docs/screens gets a choice that shows each width, language and theme once a screen.
"""

import argparse
import os
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from local.stack import Stack
from tests.browser.conftest import Person, chromium, pick, row
from tests.browser.papers import MINUTES, PLAN, SHOP
from tests.browser.seeds import add_import, add_pages
from tests.flow.papers import OWN

ROOT = Path(__file__).parents[2]
CHOSEN = ROOT / "docs" / "screens"
SIZES = {1280: 800, 390: 844}
#: What docs/screens shows of each screen: (width, language, theme); of two screens half of it.
CHOICE = ((1280, "ja", "light"), (1280, "en", "dark"), (390, "ja", "dark"), (390, "en", "light"))
HALVES = {
    "sign-in": (CHOICE[0], CHOICE[3]),
    "operator": (CHOICE[1], CHOICE[2]),
    "picture": (CHOICE[0], CHOICE[2]),
    "source": (CHOICE[1], CHOICE[2]),
}


def seed(person: Person) -> dict[str, str]:
    """Give the person files in every state; return the path of each screen."""
    stack, subject = person.stack, person.subject
    failed = {"status": "failed", "error_code": "file_encrypted"}
    batch_id, _ = add_import(stack, subject, name="契約書_署名済み.pdf", **failed)
    done = {"batch_id": batch_id, "status": "completed"}
    for position, (name, pages) in enumerate(PLAN, 1):
        more = {**done, "page_count": pages} if pages else {"batch_id": batch_id}
        add_import(stack, subject, name=name, position=position, **more)
    add_import(stack, subject, name="Handbook_2026.pdf", status="completed", page_count=212)
    add_import(stack, subject, name="議事録_10月定例.md", cancelled=True)
    pages = [{"text": text, "markdown": text, "tables": tables} for text, tables in MINUTES]
    document = add_pages(stack, subject, *pages, name="事業計画_定例会議.pdf")
    reading = {"status": "processing", "progress_done": 41, "progress_total": 120}
    add_import(stack, subject, name="年次報告書_2025.pdf", **reading)
    page = person.open()
    design = uploaded(page, "order_service.py", SHOP.encode())
    pictured = uploaded(page, "縦書き見本.pdf", (OWN / "pdf" / "vertical_writing.pdf").read_bytes())
    return {
        "upload": "/",
        "batches": "/batches",
        "batch": f"/batches/{batch_id}",
        "result": f"/imports/{document}",
        "picture": pictured,
        "design": design,
        "source": f"{design}/files?path=order_service.py&line=12#L12",
    }


def uploaded(page: Page, name: str, content: bytes) -> str:
    """Take one file in for real; return the path of its result."""
    pick(page, (name, content))
    expect(row(page, name).locator(".badge")).to_have_text("Completed")
    return str(row(page, name).get_by_role("link").get_attribute("href"))


def seed_trouble(person: Person) -> dict[str, str]:
    """Give an operator something to look at; return the path of the screen."""
    person.is_operator = True
    lost = {"status": "failed", "error_code": "dead_lettered", "run": 3}
    for name in ("給与規程_2024.pdf", "scan_0417.tif"):
        add_import(person.stack, person.subject, name=name, **lost)
    return {"operator": "/operator"}


def shoot(page: Page, screens: dict[str, str], name: str, into: Path) -> None:
    """Take one screenshot of each screen."""
    for screen, path in screens.items():
        page.goto(path)
        page.evaluate("document.fonts.ready")
        page.wait_for_function("[...document.images].every((each) => each.complete)")
        if screen == "design" and page.evaluate("innerWidth") < 800:
            page.locator(".drawing:has(.member)").first.evaluate("(each) => each.scrollIntoView()")
        page.screenshot(path=into / f"{screen}-{name}.png", animations="disabled")


def take(browser: Browser, stack: Stack, into: Path) -> Iterator[str]:
    """Take every screenshot; yield the names that docs/screens keeps."""
    person = Person(browser, stack)
    operator = Person(browser, stack)
    screens, watched = seed(person), seed_trouble(operator)
    for width, language, theme in product(SIZES, ("ja", "en"), ("light", "dark")):
        size = {"width": width, "height": SIZES[width]}
        page = person.open("/", language=language, color_scheme=theme, viewport=size)
        name = f"{width}-{language}-{theme}"
        shoot(page, screens, name, into)
        page.context.clear_cookies()
        shoot(page, {"sign-in": "/sign-in"}, name, into)
        page.context.close()
        page = operator.open("/", language=language, color_scheme=theme, viewport=size)
        shoot(page, watched, name, into)
        page.context.close()
        for screen in ("sign-in", *screens, *watched):
            if (width, language, theme) in HALVES.get(screen, CHOICE):
                yield f"{screen}-{name}.png"


def main() -> None:
    """Start the product on its own, take the screenshots, stop it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=Path, help="keep every screenshot in this directory")
    keep = parser.parse_args().all
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="torikomi-screens-") as name:
        place = Path(name)
        place.chmod(0o711)
        into = keep or place
        into.mkdir(parents=True, exist_ok=True)
        CHOSEN.mkdir(parents=True, exist_ok=True)
        stack = Stack(place / "stack", durable=False)
        stack.start()
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium(), args=sandbox)
                for chosen in take(browser, stack, into):
                    (CHOSEN / chosen).write_bytes((into / chosen).read_bytes())
                browser.close()
        finally:
            stack.destroy()


if __name__ == "__main__":
    main()
