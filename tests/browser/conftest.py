"""A real Chromium on the whole product. Each test is a person of its own with an open session."""

import hashlib
import hmac
import os
import re
import secrets
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg2
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from local.stack import Stack

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
expect.set_options(timeout=20_000)


def chromium() -> str:
    """Return the path of an installed Chromium."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        raise RuntimeError(
            "The browser tests need Chromium: sudo apt-get install chromium fonts-ipafont-gothic"
        )
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for the session."""
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=sandbox)
        yield running
        running.close()


def run_sql(stack: Stack, statement: str, *params: Any) -> list[Any]:
    """Run one statement in the product's database."""
    connection = psycopg2.connect(stack.database_url)
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute(statement, params)
            return cursor.fetchall() if cursor.description else []
    finally:
        connection.close()


def open_session(stack: Stack, subject: str, name: str = "hanako") -> str:
    """Sign a person in behind the sign-in page's back; return the cookie's value."""
    token = secrets.token_urlsafe(32)
    run_sql(
        stack,
        """INSERT INTO session (token_hash, subject, username, csrf_seed, idle_until, expires_at,
                                created_by, updated_by)
           VALUES (%s, %s, %s, %s, now() + interval '1 hour', now() + interval '1 hour', %s, %s)""",
        hashlib.sha256(token.encode()).hexdigest(),
        subject,
        name,
        secrets.token_hex(32),
        subject,
        subject,
    )
    return token


@dataclass
class Person:
    """One signed-in person; `open` gives a page in a browser context of its own."""

    browser: Browser
    stack: Stack
    subject: str = field(default_factory=lambda: str(uuid.uuid4()))
    is_operator: bool = False
    contexts: list[BrowserContext] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def sign_in(self, context: BrowserContext) -> None:
        """Give the context a fresh session."""
        value = open_session(self.stack, self.subject)
        cookies = {"torikomi_session": value}
        if self.is_operator:
            secret = self.stack.env("web")["SESSION_SECRET"].encode()
            made = hmac.new(secret, f"operator:{value}".encode(), hashlib.sha256)
            cookies["torikomi_operator"] = made.hexdigest()
        context.add_cookies(
            [
                {"name": name, "value": value, "url": self.stack.url}
                for name, value in cookies.items()
            ]
        )

    def open(self, path: str = "/", *, language: str = "en", **options: Any) -> Page:
        """Open a page as this person."""
        locale = {"en": "en-GB", "ja": "ja-JP"}[language]
        context = self.browser.new_context(
            base_url=self.stack.url, locale=locale, reduced_motion="reduce", **options
        )
        self.contexts.append(context)
        self.sign_in(context)
        return self.tab(context, path)

    def tab(self, context: BrowserContext, path: str = "/") -> Page:
        """Open one more tab."""
        page = context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(f"script error: {error}"))
        page.on("console", lambda message: self._console(message.text))
        page.on("dialog", self._dialog)
        page.goto(path)
        return page

    def _console(self, text: str) -> None:
        if "Content Security Policy" in text or "Refused to" in text:
            self.complaints.append(text)

    def _dialog(self, dialog: Any) -> None:
        if dialog.type != "beforeunload":
            self.complaints.append(f"dialog: {dialog.message}")
        dialog.accept()

    def imports(self) -> list[tuple[str, str]]:
        """Return (file name, status) of everything this person has taken in."""
        return run_sql(
            self.stack,
            """SELECT file_name, status FROM page_import WHERE created_by = %s
               UNION ALL SELECT file_name, status FROM code2des WHERE created_by = %s ORDER BY 1""",
            self.subject,
            self.subject,
        )


@pytest.fixture
def person(browser: Browser, stack: Stack) -> Iterator[Person]:
    """A person nobody has seen before; afterwards no script has failed and the CSP was kept."""
    made = Person(browser, stack)
    yield made
    for context in made.contexts:
        context.close()
    assert made.complaints == []


@pytest.fixture
def no_worker(stack: Stack) -> Iterator[Callable[[], None]]:
    """Keep the worker stopped; the yielded function lets it work again."""
    stack.pause("worker")
    running = False

    def go_on() -> None:
        nonlocal running
        running = True
        stack.restart("worker")

    yield go_on
    if not running:
        stack.restart("worker")


def pick(page: Page, *files: tuple[str, bytes]) -> None:
    """Choose files as a person does in the file dialogue."""
    page.set_input_files(
        "#files",
        [
            {"name": name, "mimeType": "application/octet-stream", "buffer": content}
            for name, content in files
        ],
    )


def row(page: Page, name: str) -> Any:
    """Return the row of one file."""
    return page.locator("li.file", has_text=re.compile(re.escape(name)))


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> None:
    """Wait for something that no page shows."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.05)
