"""The upload screen: files go in one by one and their rows tell the truth to the end."""

import re
from collections.abc import Callable

from playwright.sync_api import CDPSession, Page, expect

from local.stack import Stack
from tests.browser.conftest import Person, pick, row, run_sql, wait_until
from tests.flow.papers import OWN

PROTECTED = OWN / "pdf" / "r6-user-password.pdf"


def slow_down(page: Page, bytes_per_second: int) -> CDPSession:
    """Send no faster than this until the returned session is detached."""
    session = page.context.new_cdp_session(page)
    rates = {"downloadThroughput": -1, "uploadThroughput": bytes_per_second}
    session.send("Network.emulateNetworkConditions", {"offline": False, "latency": 0, **rates})
    return session


def heavy_pdf(size_bytes: int) -> bytes:
    """Return a PDF of one page that carries a stream of this many bytes."""
    bodies = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Resources<<>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (size_bytes, b"\0" * size_bytes),
    ]
    made, places = b"%PDF-1.7\n", []
    for number, body in enumerate(bodies, 1):
        places.append(len(made))
        made += b"%d 0 obj%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(made)
    return made + b"xref\n0 5\n0000000000 65535 f \n" + table + end


def test_one_file_becomes_a_result_without_leaving_the_page(person: Person) -> None:
    page = person.open()
    expect(page.get_by_text("Nothing here yet")).to_be_visible()
    pick(page, ("memo.md", b"# One\n\nText"))
    expect(row(page, "memo.md").locator(".badge")).to_have_text("Completed")
    expect(page.get_by_text("Nothing here yet")).to_have_count(0)
    expect(page.locator("[data-status]")).to_contain_text("memo.md: Completed")
    row(page, "memo.md").get_by_role("link").click()
    expect(page.get_by_role("heading", name="One")).to_be_visible()
    assert person.imports() == [("memo.md", "completed")]


def test_thirty_files_of_two_kinds_each_go_their_own_way(person: Person) -> None:
    page = person.open()
    papers = [(f"paper-{n:02}.txt", f"page {n}".encode()) for n in range(25)]
    sources = [(f"source_{n}.py", f"def f{n}(): return {n}\n".encode()) for n in range(5)]
    pick(page, *papers, *sources)
    expect(page.locator("li.file")).to_have_count(30)
    expect(page.locator("li.file .badge.completed")).to_have_count(30, timeout=25_000)
    expect(page.locator("li.file", has_text="Code2Des")).to_have_count(5)
    assert [status for _, status in person.imports()] == ["completed"] * 30


def test_names_alone_choose_the_type(person: Person) -> None:
    page = person.open()
    pick(page, ("tool.py", b"x = 1\n"))
    expect(page.get_by_role("radio", name=re.compile("Code2Des"))).to_be_checked()
    expect(row(page, "tool.py")).to_contain_text("Code2Des")


def test_what_cannot_go_in_is_said_before_a_byte_is_sent(person: Person, stack: Stack) -> None:
    page = person.open()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    pick(page, ("empty.txt", b""), ("movie.mp4", b"x"))
    expect(row(page, "empty.txt")).to_contain_text("The file is empty.")
    expect(row(page, "movie.mp4")).to_contain_text("cannot be read yet (.mp4)")
    page.evaluate(
        """() => {
            const big = new File(["x"], "big.pdf");
            Object.defineProperty(big, "size", { value: 80 * 1024 * 1024 });
            const data = new DataTransfer();
            const event = new DragEvent("drop", { dataTransfer: data, cancelable: true });
            const files = { items: [], files: [big], types: ["Files"] };
            Object.defineProperty(event, "dataTransfer", { value: files });
            window.dispatchEvent(event);
        }"""
    )
    expect(row(page, "big.pdf")).to_contain_text("Too large: 80.0 MB. The limit is 64.0 MB")
    assert "POST" not in sent
    row(page, "movie.mp4").get_by_role("button", name="Remove").click()
    expect(row(page, "movie.mp4")).to_have_count(0)


def test_ten_megabytes_show_how_far_they_are(person: Person) -> None:
    page = person.open()
    slow_down(page, 5 * 1024 * 1024)
    pick(page, ("large.pdf", heavy_pdf(10 * 1024 * 1024)))
    expect(row(page, "large.pdf")).to_contain_text(re.compile(r"Sending, [1-9]\d? %"))
    expect(row(page, "large.pdf").locator("progress")).to_be_visible()
    expect(row(page, "large.pdf").locator(".badge")).to_have_text("Completed", timeout=30_000)
    expect(row(page, "large.pdf")).to_contain_text("1 page")


def test_sending_is_cancelled_and_tried_again_as_one_import(person: Person) -> None:
    page = person.open()
    limit = slow_down(page, 100 * 1024)
    pick(page, ("slow.txt", b"slow " * 200_000))
    expect(row(page, "slow.txt")).to_contain_text("Sending")
    row(page, "slow.txt").get_by_role("button", name="Cancel").click()
    expect(row(page, "slow.txt")).to_contain_text("Sending was cancelled")
    assert person.imports() == []
    limit.detach()
    row(page, "slow.txt").get_by_role("button", name="Try again").click()
    expect(row(page, "slow.txt").locator(".badge")).to_have_text("Completed")
    assert person.imports() == [("slow.txt", "completed")]


def test_a_waiting_import_is_cancelled_in_its_row(
    person: Person, no_worker: Callable[[], None]
) -> None:
    page = person.open()
    pick(page, ("wait.txt", b"wait"))
    expect(row(page, "wait.txt")).to_contain_text("In the queue, waiting for a worker")
    row(page, "wait.txt").get_by_role("button", name="Cancel").click()
    expect(row(page, "wait.txt").locator(".badge")).to_have_text("Cancelled")


def test_a_failed_file_says_why_and_is_tried_again(person: Person) -> None:
    page = person.open()
    pick(page, ("broken.pdf", b"%PDF-1.7\nnothing of a PDF"))
    expect(row(page, "broken.pdf").locator(".badge")).to_have_text("Failed")
    expect(row(page, "broken.pdf").locator(".file-why")).not_to_be_empty()
    row(page, "broken.pdf").get_by_role("button", name="Try again").click()
    runs = "SELECT run FROM page_import WHERE created_by = %s AND status = 'failed'"
    wait_until(lambda: run_sql(person.stack, runs, person.subject) == [(2,)])
    expect(row(page, "broken.pdf").locator(".badge")).to_have_text("Failed")


def test_a_reload_and_a_second_tab_show_the_same_truth(
    person: Person, no_worker: Callable[[], None]
) -> None:
    page = person.open()
    pick(page, *((f"kept-{n}.txt", b"kept") for n in range(3)))
    expect(page.get_by_text("In the queue, waiting for a worker")).to_have_count(3)
    page.reload()
    second = person.tab(page.context)
    for tab in (page, second):
        expect(tab.locator("li.file .badge", has_text="Waiting")).to_have_count(3)
    no_worker()
    for tab in (page, second):
        tab.evaluate("window.dispatchEvent(new Event('focus'))")
        expect(tab.locator("li.file .badge.completed")).to_have_count(3)


def test_files_wait_for_a_web_process_that_is_away(person: Person, stack: Stack) -> None:
    page = person.open()
    stack.pause("web")
    try:
        pick(page, ("patient.txt", b"patient"))
        expect(row(page, "patient.txt")).to_contain_text("Trying again in")
    finally:
        stack.restart("web")
    expect(row(page, "patient.txt").locator(".badge")).to_have_text("Completed", timeout=30_000)
    assert person.imports() == [("patient.txt", "completed")]


def test_a_web_process_killed_while_it_receives_makes_one_import(
    person: Person, stack: Stack
) -> None:
    page = person.open()
    limit = slow_down(page, 400 * 1024)
    pick(page, ("cut.txt", b"cut off " * 200_000))
    expect(row(page, "cut.txt")).to_contain_text(re.compile(r"Sending, [1-9]\d? %"))
    stack.kill("web")
    expect(row(page, "cut.txt")).to_contain_text("Trying again in")
    # What the dead process held is free after its two minutes: let them be over.
    over = "UPDATE idempotency_key SET lease_until = now() - interval '1 s' WHERE subject = %s"
    run_sql(stack, over, person.subject)
    limit.detach()
    expect(row(page, "cut.txt").locator(".badge")).to_have_text("Completed", timeout=30_000)
    assert person.imports() == [("cut.txt", "completed")]


def test_a_session_that_ends_before_sending_costs_no_file(person: Person, stack: Stack) -> None:
    page = person.open()
    run_sql(stack, "DELETE FROM session WHERE subject = %s", person.subject)
    pick(page, ("late.txt", b"late"))
    expect(row(page, "late.txt")).to_contain_text("Not sent: you were signed out")
    expect(page.get_by_role("link", name="Sign in in a new tab")).to_be_visible()
    person.sign_in(page.context)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(row(page, "late.txt").locator(".badge")).to_have_text("Completed")
    expect(page.locator("[data-banner]")).to_be_hidden()


def test_a_folder_goes_in_without_its_hidden_files(person: Person, tmp_path_factory) -> None:
    folder = tmp_path_factory.mktemp("drop") / "資料"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("a", "utf-8")
    (folder / "sub" / "b.txt").write_text("b", "utf-8")
    (folder / ".DS_Store").write_text("x", "utf-8")
    page = person.open()
    page.set_input_files("[data-folder] input", folder)
    expect(page.locator("li.file .badge.completed")).to_have_count(2)
    assert [name for name, _ in person.imports()] == ["a.txt", "b.txt"]


def test_files_dropped_anywhere_and_pasted_go_in(person: Person) -> None:
    page = person.open()
    made = """(kind) => {
        const data = new DataTransfer();
        data.items.add(new File(["text of " + kind], kind + ".txt"));
        const name = kind === "paste" ? "clipboardData" : "dataTransfer";
        const Event = kind === "paste" ? ClipboardEvent : DragEvent;
        const event = new Event(kind, { [name]: data, bubbles: true, cancelable: true });
        document.body.dispatchEvent(event);
    }"""
    page.evaluate(made, "dragenter")
    expect(page.get_by_text("Let go to take the files in")).to_be_visible()
    page.evaluate(made, "drop")
    expect(page.get_by_text("Let go to take the files in")).to_be_hidden()
    page.evaluate(made, "paste")
    expect(page.locator("li.file .badge.completed")).to_have_count(2)
    assert [name for name, _ in person.imports()] == ["drop.txt", "paste.txt"]


def test_files_chosen_before_the_script_has_come_are_sent(person: Person) -> None:
    page = person.open("/batches")
    page.route("**/upload.js", lambda route: (page.wait_for_timeout(300), route.continue_()))
    page.goto("/", wait_until="commit")
    page.wait_for_selector("#files", state="attached")
    pick(page, ("early.txt", b"early"))
    expect(row(page, "early.txt").locator(".badge")).to_have_text("Completed")


def test_everything_works_without_javascript(person: Person) -> None:
    page = person.open(java_script_enabled=False)
    pick(page, ("plain.txt", b"plain"), ("b.txt", b"b"))
    page.get_by_role("button", name="Upload").click()
    expect(page).to_have_url(re.compile("/batches/"))
    expect(page.locator("li.file .badge.completed")).to_have_count(2)
    page.get_by_role("link", name="plain.txt").first.click()
    expect(page.get_by_role("heading", name="Page 1")).to_be_visible()


def test_a_person_signs_in_and_uploads_with_the_keyboard_in_japanese(
    person: Person, stack: Stack
) -> None:
    page = person.open("/", language="ja")
    page.context.clear_cookies()
    page.goto("/")
    page.get_by_label("ユーザー名").fill(stack.provisioned.username)
    page.get_by_label("パスワード").fill(stack.provisioned.password)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="ファイルの取り込み")).to_be_visible()
    expect(page.locator("form.scripted")).to_be_visible()
    page.locator("input[name=type]:checked").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_text("パスワード・ページの指定")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#files")).to_be_focused()
    pick(page, ("議事録.txt", "議事録".encode()))
    expect(row(page, "議事録.txt").first.locator(".badge")).to_have_text("完了")
    expect(page.locator("[data-status]")).to_contain_text("議事録.txt: 完了")


def test_a_protected_document_opens_with_the_password_given_beside_it(person: Person) -> None:
    page = person.open()
    page.get_by_text("Password or pages (optional)").click()
    page.get_by_label("Password of the files").fill("asdfzxcv")
    pick(page, ("sealed.pdf", PROTECTED.read_bytes()))
    expect(row(page, "sealed.pdf").locator(".badge")).to_have_text("Completed")
    kept = page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}])")
    assert "asdfzxcv" not in kept
