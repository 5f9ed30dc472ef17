"""What files say is only ever text: no script of theirs runs, the CSP has nothing to report."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Person, pick
from tests.browser.seeds import add_design, add_import, add_pages

PAYLOADS = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "<svg onload=\"document.title='owned'\">",
    "\"><script>document.title='owned'</script>",
    "' autofocus onfocus=\"document.title='owned'\" x='",
    "</script><script>document.title='owned'</script>",
    "</textarea></title><script>document.title='owned'</script>",
    "<iframe srcdoc=\"<script>parent.document.title='owned'</script>\"></iframe>",
    "<style>@import 'http://127.0.0.1:9/x'</style><link rel=stylesheet href=http://127.0.0.1:9/>",
    "<meta http-equiv=refresh content='0;url=/nowhere'>",
    "<base href=http://127.0.0.1:9/><form action=http://127.0.0.1:9/><button>x</button></form>",
    "<details open ontoggle=\"document.title='owned'\">",
    "<template shadowrootmode=open><script>document.title='owned'</script></template>",
    "{{ 7*7 }}{% raw %}${7*7}#{7*7}",
    "&lt;script&gt;document.title='owned'&lt;/script&gt;",
)
MARKDOWN = (
    "[x](javascript:document.title='owned')",
    "[x](JaVaScRiPt&colon;document.title='owned')",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "![x](http://127.0.0.1:9/pixel.png)",
    "<a href=\"javascript:document.title='owned'\">x</a>",
    "[x]: javascript:document.title='owned'\n\n[x]",
    "```mermaid\nflowchart TD\n  a[\"<img src=x onerror=document.title='owned'>\"]\n```",
    "# <img src=x onerror=\"document.title='owned'\">",
    "<br><script>document.title='owned'</script><br>",
    "| <img src=x onerror=\"document.title='owned'\"> | `<script>` |\n|---|---|\n| <br> | x |",
)


def click_all(page: Page) -> None:
    """Open what folds and press every link that the document itself brought along."""
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for link in page.locator(".prose a").all():
        assert (link.get_attribute("href") or "").startswith(
            ("http:", "https:", "mailto:", "/", "#")
        )


def unharmed(page: Page, address: str) -> None:
    """Nothing ran, nothing was fetched, nobody was led away."""
    page.wait_for_timeout(50)
    assert page.title().endswith("· Torikomi")
    assert page.evaluate("typeof owned") == "undefined"
    assert page.url.startswith(address)
    inside = ("iframe", "img", "svg:not(.diagram)", "style", "script", "base", "meta")
    assert page.locator(", ".join(f"main {each}" for each in inside)).count() == 0
    assert page.locator("[onerror], [onload], [onfocus], [ontoggle]").count() == 0


def watched(person: Person, path: str) -> Page:
    """Open a page that notes every request which leaves the product."""
    page = person.open("/docs/errors")
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(person.stack.url)
            else person.complaints.append(f"left: {request.url}")
        ),
    )
    page.goto(path)
    return page


def test_hostile_pages_are_text(person: Person) -> None:
    every = (*PAYLOADS, *MARKDOWN)
    pages = [
        {"text": each, "markdown": each, "tables": [[[each, "x"]]], "warnings": [each]}
        for each in every
    ]
    child_id = add_pages(
        person.stack, person.subject, *pages, document={"title": PAYLOADS[0], "author": PAYLOADS[3]}
    )
    page = watched(person, "/")
    for view in ("rendered", "text", "tables"):
        for first in range(1, len(every) + 1, 10):
            path = f"/imports/{child_id}?view={view}&page={first}&q=owned"
            page.goto(path)
            click_all(page)
            unharmed(page, person.stack.url + f"/imports/{child_id}")


@pytest.mark.parametrize("language", ["ja", "en"])
def test_a_hostile_design_is_text(person: Person, language: str) -> None:
    text = "\n\n".join((*PAYLOADS, *MARKDOWN))
    design = {"name": PAYLOADS[0], "nested": [{each: each} for each in PAYLOADS]}
    child_id = add_design(person.stack, person.subject, design, text, text)
    page = watched(person, f"/code2des/{child_id}?lang={language}")
    click_all(page)
    unharmed(page, person.stack.url)


def test_hostile_names_and_error_texts_are_text_on_every_list(person: Person) -> None:
    wrong = {"status": "failed", "error_code": "file_corrupt"}
    batch_id, _ = add_import(person.stack, person.subject)
    ids = [f"/batches/{batch_id}"]
    for position, each in enumerate(PAYLOADS, 1):
        hostile = {"name": f"{each}.pdf", "error_message": each, **wrong}
        _, child_id = add_import(
            person.stack, person.subject, batch_id=batch_id, position=position, **hostile
        )
        ids.append(f"/imports/{child_id}")
    add_import(person.stack, person.subject, name=f"{PAYLOADS[0]}.pdf")
    page = watched(person, "/")
    for path in ("/", "/batches", "/batches?q=%3Cscript%3Edocument.title%3D'owned'", *ids):
        page.goto(path)
        unharmed(page, person.stack.url)


def test_a_hostile_name_is_text_while_it_is_sent(person: Person) -> None:
    page = watched(person, "/")
    pick(page, *((f"{each.replace('/', '')}.mp4", b"x") for each in PAYLOADS))
    expect(page.locator("li.file .badge.failed")).to_have_count(len(PAYLOADS))
    unharmed(page, person.stack.url)
    pick(page, ("<img src=x onerror=alert(1)>.txt", b"<script>alert(1)</script>"))
    expect(page.locator("li.file .badge.completed")).to_have_count(1)
    unharmed(page, person.stack.url)


def test_a_part_of_a_page_opened_by_itself_runs_nothing(person: Person) -> None:
    add_import(person.stack, person.subject, name=f"{PAYLOADS[1]}.pdf")
    page = watched(person, "/?part=live")
    assert page.evaluate("document.title") != "owned"
    assert page.locator("img, script").count() == 0
